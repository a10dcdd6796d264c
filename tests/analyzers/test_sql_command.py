"""What `tracekit sql` prints: every row for programs, every value as it is, however odd."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tracekit.cli import main

ROWS = 1_500
BEGAN = "2026-01-01T00:00:00.000000Z"
LONG = "select seq, step_id from steps"
"""Places within a trace are known to the whole reading only."""
SHORT = "select step_id from steps"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    line = {"record": "step", "trace_id": "ab" * 16, "kind": "tool", "status": "ok", "started_at": BEGAN}
    path.write_text("".join(json.dumps({**line, "step_id": f"s{n}"}) + "\n" for n in range(ROWS)))
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    assert main(["sql", *arguments]) == 0
    return capsys.readouterr()


@pytest.mark.parametrize("query", [SHORT, LONG])
def test_forms_for_programs_have_all_rows_and_a_table_says_what_it_left_out(
    log: Path, capsys: pytest.CaptureFixture[str], query: str
) -> None:
    lines, silence = told(capsys, str(log), query, "--format", "jsonl")
    table, talk = told(capsys, str(log), query)

    assert (len(lines.splitlines()), silence) == (ROWS, "")
    assert len(table.splitlines()) == 1_000 + 2
    assert talk == "1000 of 1500 rows shown; --limit shows more\n"


@pytest.mark.parametrize(("form", "around"), [("csv", 1), ("jsonl", 0), ("json", 2)])
def test_a_limit_holds_for_every_form(
    log: Path, capsys: pytest.CaptureFixture[str], form: str, around: int
) -> None:
    out, talk = told(capsys, str(log), SHORT, "--format", form, "--limit", "7")

    assert len(out.splitlines()) == 7 + around
    assert talk == "7 of 1500 rows shown; --limit shows more\n"


@pytest.mark.parametrize("source", ["steps", "(select *, seq as place from steps)"])
def test_values_of_every_kind_are_json(log: Path, capsys: pytest.CaptureFixture[str], source: str) -> None:
    query = (
        "select started_at, 1.50::decimal(9, 2) as price, 170141183460469231731687303715884105727::hugeint as large, "
        "map {1: [timestamp '2026-01-01 00:00:00']} as known, 'nan'::double as none, 1 as twice, 2 as twice, "
        f"interval 2 day as wait from {source} limit 1"
    )
    out, _ = told(capsys, str(log), query, "--format", "json")
    row = json.loads(out)[0]

    assert row == {
        "started_at": BEGAN, "price": 1.5, "large": 170141183460469231731687303715884105727, "known": {"1": [BEGAN]},
        "none": None, "twice": 1, "twice_1": 2, "wait": "2 days, 0:00:00",
    }  # fmt: skip


def test_csv_has_times_with_their_zone_and_lists_as_json(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = (
        "select started_at, ['a', null] as list, {'k': 'v'} as object, '=1+1' as formula from steps limit 1"
    )
    out, _ = told(capsys, str(log), query, "--format", "csv")

    assert list(csv.reader(io.StringIO(out))) == [
        ["started_at", "list", "object", "formula"],
        [BEGAN, '["a",null]', '{"k":"v"}', "'=1+1"],
    ]


def test_a_limit_below_one_is_a_mistake_in_the_command(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["sql", str(log), SHORT, "--limit", "0"])

    assert "above 0" in capsys.readouterr().err
