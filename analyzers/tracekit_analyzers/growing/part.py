"""A small analysis of some traces by the lines that tell them, in a database of its own that lives in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import orjson

from tracekit_analyzers.reading import database, fold, ingest
from tracekit_analyzers.reading.damage import Damage, examine, with_source
from tracekit_analyzers.reading.reread import Numbered

NAME = "part"
"""Of the database; statements of the large one beside it reach it by this name."""


@dataclass(frozen=True, slots=True)
class Told:
    """One record, with the place of its line."""

    file: str
    line: int
    record: bytes
    value: dict[str, Any]

    @property
    def kind(self) -> str | None:
        """`step`, `message`, `process`, `drops` or what else it calls itself; a bare step record says nothing."""
        said = self.value.get("record")
        if said is None and (self.value.get("trace_id") is not None or self.value.get("step_id") is not None):
            return "step"
        return said if isinstance(said, str) else None


def records(file: str, lines: Iterable[Numbered], damage: Damage) -> Iterator[Told]:
    """The records of *lines*; what is bad goes to *damage*."""
    for number, offset, line in lines:
        damage.counted(1)
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        for piece in examine(line):
            if piece.reason is not None:
                at = offset + piece.at
                damage.bad(file=file, line=number, offset=at, reason=piece.reason, data=piece.head_of(line))
            if piece.record is not None:
                yield Told(file, number, piece.record, orjson.loads(piece.record))


@contextmanager
def beside(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty analysis database within the engine of *con*, whose limits it shares."""
    cursor = con.cursor()
    try:
        cursor.execute(f"attach ':memory:' as {NAME}")
        cursor.execute(f"use {NAME}")
        database.prepare(cursor)
        yield cursor
    finally:
        cursor.close()
        with con.cursor() as ending:
            ending.execute(f"detach database if exists {NAME}")


def fill(con: duckdb.DuckDBPyConnection, told: Iterable[Told], damage: Damage, folder: Path) -> None:
    """Make `lines` of records in the order of the log, with the place of each; wrong types go to *damage*."""
    spool = folder / "part.jsonl"
    longest = 0
    with spool.open("wb", buffering=1 << 20) as stream:
        for one in told:
            line = with_source(one.record, {"file": one.file, "line": one.line})
            longest = max(longest, stream.write(line + b"\n"))
    ingest.load(con, [str(spool)], max(1 << 20, longest + 1024))
    spool.unlink()
    fold.settle_lines(con, damage)
