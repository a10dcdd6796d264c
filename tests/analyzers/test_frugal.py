"""One trace that does not fit into the engine's memory gives what it gives with plenty of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.analyzers.one_trace import write_one_trace
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.relations import frugal
from tracekit_analyzers.reports import as_json, result

RELATIONS = ("steps", "messages", "call_pairs", "context_changes", "leaves", "origins", "cleanliness")
TOO_LITTLE_MB = 90
PLENTY_MB = 1200


def everything(log: Path, memory_mb: int) -> dict[str, Any]:
    with Engine([log], memory_mb=memory_mb) as engine:
        engine.load()
        found: dict[str, Any] = {
            name: engine.con.execute(
                f"select count(*), cast(sum(hash(r::varchar)::hugeint) as varchar) from {name} r"
            ).fetchone()
            for name in RELATIONS
        }
        found["verdicts"] = [as_json.trace(verdict) for verdict in result.of(engine).traces]
        return found


def test_a_trace_larger_than_memory_gives_the_same_rows_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_one_trace(tmp_path / "log.jsonl", 1500)
    cut: list[int] = []
    real = frugal._look_at

    def look_at(con: duckdb.DuckDBPyConnection, first: int, last: int) -> None:
        cut.append(last)
        real(con, first, last)

    monkeypatch.setattr(frugal, "_look_at", look_at)

    plenty = everything(log, PLENTY_MB)
    assert not cut
    tight = everything(log, TOO_LITTLE_MB)

    assert cut
    assert tight == plenty
    assert plenty["verdicts"][0]["diagnoses"]


def test_what_fits_in_no_piece_is_told_and_settings_come_back() -> None:
    con = duckdb.connect(config={"memory_limit": "20MB", "threads": 2, "temp_directory": ""})
    wide = "select repeat('x', 100000000) || i as x from range(3) t(i)"

    with pytest.raises(duckdb.OutOfMemoryException):
        frugal.run(con, f"create table wide as {wide}")
    with pytest.raises(duckdb.OutOfMemoryException):
        frugal.in_pieces(
            con, f"create or replace table wide as {wide}", f"insert into wide {wide}", last_seq=100
        )

    row = con.execute(
        "select current_setting('threads'), current_setting('preserve_insertion_order'), getvariable('to_seq')"
    ).fetchone()
    assert row == (2, True, None)
