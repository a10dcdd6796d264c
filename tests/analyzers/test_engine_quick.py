"""The short way of a query gives what the long way gives, or leaves it to the long way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.errors import TracekitError
from tracekit_analyzers import quick
from tracekit_analyzers.session import Session


def write(path: Path, count: int = 30) -> Path:
    lines = []
    for n in range(count):
        head = {
            "record": "step",
            "trace_id": f"t{n // 5}",
            "step_id": f"s{n}",
            "tool_name": f"tool{n % 3}",
            "kind": "tool",
        }
        start = f"2026-01-01T00:00:{n:02d}Z"
        lines.append(
            {
                **head,
                "status": "running",
                "input_snapshot": {"n": n},
                "started_at": start,
                "attributes": {"a": n, "b": 1},
            }
        )
        ended = {"finished_at": f"2026-01-01T00:01:{n:02d}Z", "duration_ms": 60_000 + n, "output_snapshot": n}
        if n % 7:
            lines.append(
                {
                    **head,
                    "status": "error" if n % 2 else "ok",
                    "error_type": "E" if n % 2 else None,
                    **ended,
                    "attributes": {"b": 2},
                }
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    "query",
    [
        "select tool_name, status, count(*) as n, avg(duration_ms) as m from steps group by all order by 1, 2",
        "select step_id, input ->> '$.n', output_text, status, error_type, started_at from steps order by step_id",
        "select count(distinct trace_id) from steps where kind = 'tool' and finished_at is null",
        "select step_id, attributes ->> '$.a', attributes ->> '$.b' from steps order by step_id",
    ],
)
def test_both_ways_give_the_same_rows(query: str, tmp_path: Path) -> None:
    path = str(write(tmp_path / "log.jsonl"))
    session = Session([path], diagnose=False)

    table = quick.answer([path], query, reader=None, limit=100)

    assert table is not None
    assert table.rows == session.sql(query, limit=100).rows
    session.close()


@pytest.mark.parametrize(
    "query",
    [
        "select * from steps",
        "select max(seq) from steps",
        "select count(*) from leaves",
        "select 1",
        "select line from steps",
    ],
)
def test_what_needs_more_than_the_files_is_left_to_the_long_way(query: str, tmp_path: Path) -> None:
    assert quick.answer([str(write(tmp_path / "log.jsonl"))], query, reader=None, limit=9) is None


@pytest.mark.parametrize(
    "damage", ['{"record":"step","trace_id":"to', '{"trace_id":"t","step_id":"s","duration_ms":NaN}', "[1]"]
)
def test_a_damaged_file_is_left_to_the_long_way(damage: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl")
    path.write_text(path.read_text() + damage + "\n")

    query = "select kind, sum(duration_ms), any_value(trace_id) from steps group by kind"
    assert quick.answer([str(path)], query, reader=None, limit=9) is None


def test_the_short_way_reads_nothing_but_the_named_files(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl")
    (tmp_path / "other.csv").write_text("secret\n1\n")

    query = f"select count(*) from steps where kind in (select secret from read_csv('{tmp_path}/other.csv'))"
    assert quick.answer([str(path)], query, reader=None, limit=9) is None
    with pytest.raises(TracekitError, match="only reads"):
        quick.answer([str(path)], "copy (select count(*) from steps) to 'x.csv'", reader=None, limit=9)
