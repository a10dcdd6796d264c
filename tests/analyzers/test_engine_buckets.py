"""Large logs are folded in buckets of whole traces: with the same rows, and without reading all lines for each bucket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reading import fold

TRACES, STEPS, AT_ONCE = 60, 6, 4
SAID = "select * exclude (bucket) from log.steps order by trace_id, seq"


def _line(trace: int, place: int, **fields: Any) -> str:
    record = {
        "record": "step",
        "trace_id": f"{trace:032x}",
        "step_id": f"{trace:08x}{place:08x}",
        "kind": "tool",
        "name": "pay",
    }
    return json.dumps(record | fields) + "\n"  # fmt: skip


def _begun_and_ended(trace: int, place: int) -> list[str]:
    """What is told of a step: its start, for some a word between, and its end."""
    failed = place == STEPS - 1 and trace % 3 == 0
    end = {
        "status": "error" if failed else "ok",
        "error_type": "Declined" if failed else None,
        "output_snapshot": {"error": "declined"} if failed else {"n": place},
        "started_at": f"2026-01-01T00:{trace:02}:{place:02}Z",
        "finished_at": f"2026-01-01T00:{trace:02}:{place + 1:02}Z",
    }
    between = [_line(trace, place, agent="clerk")] if place == 2 else []
    return [_line(trace, place, status="running", input_snapshot={"n": place}), *between, _line(trace, place, **end)]  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Runs of which four go on at once; every twentieth ends its last step in another, later file."""
    folder = tmp_path / "logs"
    folder.mkdir()
    here: list[str] = []
    later: list[str] = []
    for first in range(0, TRACES, AT_ONCE):
        for place in range(STEPS):
            told = [_begun_and_ended(trace, place) for trace in range(first, first + AT_ONCE)]
            for lines in told:
                here.append(lines[0])
            for trace, lines in enumerate(told, first):
                (later if trace % 20 == 0 and place == STEPS - 1 else here).extend(lines[1:])
    (folder / "a.jsonl").write_text("".join(here))
    (folder / "b.jsonl").write_text("".join(later))
    return folder


def test_buckets_give_the_rows_and_verdicts_of_one_piece_in_the_order_of_the_log(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine([logs]) as whole, Engine([logs]) as parts:
        whole.load()
        monkeypatch.setattr("tracekit_analyzers.reading.fold.BUCKET_STEPS", 100)
        parts.load()

        assert (whole.buckets, parts.buckets) == (1, 8)
        assert whole.con.execute("select count(*) from log.steps").fetchone() == (TRACES * STEPS,)
        assert parts.con.execute(SAID).fetchall() == whole.con.execute(SAID).fetchall()
        assert list(parts.verdicts.items()) == list(whole.verdicts.items())
        assert any(verdict.diagnoses for verdict in whole.verdicts.values())
        split = "select trace_id from log.steps group by trace_id having count(distinct bucket) > 1"
        assert parts.con.execute(split).fetchall() == []


def test_the_ranges_of_the_buckets_hold_each_line_about_once(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges: list[tuple[int, int]] = []

    fold_bucket = fold._fold_bucket

    def noting(con: Any, bucket: int, first_line: int, last_line: int) -> None:
        ranges.append((first_line, last_line))
        fold_bucket(con, bucket, first_line, last_line)

    monkeypatch.setattr("tracekit_analyzers.reading.fold.BUCKET_STEPS", 100)
    monkeypatch.setattr("tracekit_analyzers.reading.fold._fold_bucket", noting)
    with Engine([logs], diagnose=False) as engine:
        engine.load()
    lines = TRACES * STEPS * 2 + TRACES
    near, far = ranges[:-1], ranges[-1]

    assert len(ranges) == 8
    assert sum(last - first + 1 for first, last in near) < 1.5 * lines
    assert far[1] - far[0] > lines * 3 / 4, "the runs that end in another file share the last bucket"
