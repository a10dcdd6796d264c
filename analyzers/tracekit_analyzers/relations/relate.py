"""Makes the relations of relations/README.md over a bucket of traces, over one trace, or over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import orjson

from tracekit_analyzers.model import Diagnosis, TraceVerdict
from tracekit_analyzers.relations import contexts as ctx
from tracekit_analyzers.relations import frugal, statement

PER_BUCKET = ("messages", "call_pairs", "calls", "leaves", "origins")
IN_PIECES = frozenset(("messages", "leaves"))
"""Relations that are made range by range of `seq` where they do not fit into memory at once."""
KEPT = ("messages", "call_pairs", "context_changes")
"""Relations that stay for all buckets; leaves and origins are many times larger and are made again when asked for."""

_CONTEXT_CHANGES = {
    "trace_id": "VARCHAR",
    "step_id": "VARCHAR",
    "seq": "BIGINT",
    "previous_step": "VARCHAR",
    "kept": "BIGINT",
    "added": "VARCHAR[]",
    "dropped": "VARCHAR[]",
}
_INHERITED = {"trace_id": "VARCHAR", "hash": "VARCHAR", "seq": "BIGINT"}
_DIAGNOSES = {
    "trace_id": "VARCHAR",
    "place": "BIGINT",
    "is_primary": "BOOLEAN",
    "code": "VARCHAR",
    "family": "VARCHAR",
    "confidence": "DOUBLE",
    "recovered": "BOOLEAN",
    "retry": "VARCHAR",
    "rule": "VARCHAR",
    "message": "VARCHAR",
    "failed_step": "VARCHAR",
    "failed_seq": "BIGINT",
    "cause_step": "VARCHAR",
    "cause_seq": "BIGINT",
}


class Relations:
    """The relations of one connection."""

    def __init__(self, con: duckdb.DuckDBPyConnection, folder: Path, buckets: int) -> None:
        self._con, self._folder, self._buckets = con, folder, buckets

    def make(self, bucket: int) -> None:
        """Make all relations over the traces of *bucket*."""
        chosen = "" if self._buckets == 1 else f" where bucket = {int(bucket)}"
        for name in ("steps", "traces"):
            self._con.execute(f"create or replace view {name} as select * from log.{name}{chosen}")
        self._relate_contexts()
        for name in (*PER_BUCKET, "cleanliness"):
            if name in IN_PIECES:
                frugal.in_pieces(self._con, statement(name), _as_more(name), last_seq=self._last_seq())
            else:
                frugal.run(self._con, statement(name))

    def make_for_looking(self) -> None:
        """Make what is shown of steps, over all traces: neither where values came from nor what is judged by."""
        for name in ("steps", "traces"):
            self._con.execute(f"create or replace view {name} as select * from log.{name}")
        self._relate_contexts()
        for name in ("messages", "call_pairs"):
            frugal.run(self._con, statement(name))

    def keep(self, *, first: bool) -> None:
        """Put what was made for this bucket beside that of the buckets before it."""
        if self._buckets == 1:
            return
        for name in KEPT:
            how = f"create or replace table log.{name} as" if first else f"insert into log.{name}"
            frugal.run(self._con, f"{how} select * from {name}")

    def show_all(self) -> None:
        """After the last bucket: the relations show all traces again; leaves and origins are computed when read."""
        if self._buckets == 1:
            return
        for name in ("steps", "traces", *KEPT):
            kind = "view" if name in ("steps", "traces") else "table"
            self._con.execute(f"drop {kind} if exists {name}")
            self._con.execute(f"create view {name} as select * from log.{name}")
        for name in ("leaves", "origins"):
            self._con.execute(f"drop table if exists {name}")
            self._con.execute(_as(name, "view"))

    def _last_seq(self) -> int:
        row = self._con.execute("select coalesce(max(seq), 0) from steps").fetchone()
        # A message that was never sent to a model is known after the step before it.
        return int(row[0]) + 1 if row else 1

    def _relate_contexts(self) -> None:
        rows = frugal.run(self._con, statement("context_steps"))
        relating = ctx.Relating([ctx.context_step(row) for row in rows], self._contexts_named)
        taken_over = (
            {"trace_id": trace, "hash": name, "seq": seq} for trace, name, seq in relating.inherited()
        )
        self._fill("context_changes", _CONTEXT_CHANGES, map(_change, relating.changes()))
        self._fill("inherited", _INHERITED, taken_over)

    def _contexts_named(self, digests: list[str]) -> list[ctx.Base]:
        return self._con.execute(statement("contexts_by_digest"), {"digests": digests}).fetchall()

    def _fill(self, table: str, columns: dict[str, str], rows: Iterable[dict[str, Any]]) -> None:
        fill(self._con, self._folder, table, columns, rows)


def _change(row: ctx.ContextChange) -> dict[str, Any]:
    return {
        "trace_id": row.trace_id,
        "step_id": row.step_id,
        "seq": row.seq,
        "previous_step": row.previous_step,
        "kept": row.kept,
        "added": row.added,
        "dropped": row.dropped,
    }


def _as(name: str, kind: str) -> str:
    """The statement that makes relation *name*, with another *kind* of thing made."""
    return statement(name).replace(
        f"create or replace table {name} as", f"create or replace {kind} {name} as", 1
    )


def _as_more(name: str) -> str:
    """The statement that adds to relation *name* instead of making it."""
    return statement(name).replace(f"create or replace table {name} as", f"insert into {name}", 1)


def lineage_of(cursor: duckdb.DuckDBPyConnection, trace_id: str) -> None:
    """Make `leaves` and `origins` of one trace as temporary tables of *cursor*, in front of those over all traces."""
    row = cursor.execute("select current_database()").fetchone()
    database = str(row[0]) if row else "memory"
    quoted = trace_id.replace("'", "''")
    for name, schema in (("steps", "log"), ("messages", "main"), ("call_pairs", "main")):
        cursor.execute(
            f'create or replace temp view {name} as select * from "{database}".{schema}.{name} '
            f"where trace_id = '{quoted}'"
        )
    for name in ("leaves", "origins"):
        cursor.execute(_as(name, "temp table"))


def fill(
    con: duckdb.DuckDBPyConnection,
    folder: Path,
    table: str,
    columns: dict[str, str],
    rows: Iterable[dict[str, Any]],
) -> None:
    """Make *table* of *rows* by way of a file: a statement per row would take a millisecond each."""
    path = folder / f"{table}.rows"
    longest = 0
    with path.open("wb", buffering=1 << 20) as stream:
        for row in rows:
            longest = max(longest, stream.write(orjson.dumps(row) + b"\n"))
    con.execute(
        f"create or replace table {table} as select * "
        f"from read_json($path, format = 'newline_delimited', columns = {columns}, maximum_object_size = $longest)",
        # The engine keeps buffers of twice that size.
        {"path": str(path), "longest": max(1 << 20, longest + 1024)},
    )
    path.unlink()


def store_verdicts(con: duckdb.DuckDBPyConnection, folder: Path, verdicts: Iterable[TraceVerdict]) -> None:
    """Make the relation `diagnoses` of *verdicts*."""
    fill(con, folder, "diagnoses", _DIAGNOSES, _diagnosis_rows(verdicts))


def _diagnosis_rows(verdicts: Iterable[TraceVerdict]) -> Iterator[dict[str, Any]]:
    for verdict in verdicts:
        for place, diagnosis in enumerate(verdict.diagnoses):
            yield {"place": place, "is_primary": place == verdict.primary, **_diagnosis(diagnosis)}


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "trace_id": diagnosis.trace_id,
        "code": diagnosis.code,
        "family": diagnosis.family,
        "confidence": diagnosis.confidence,
        "recovered": diagnosis.recovered,
        "retry": str(diagnosis.retry),
        "rule": diagnosis.rule,
        "message": diagnosis.message,
        "failed_step": diagnosis.failed_step,
        "failed_seq": diagnosis.failed_seq,
        "cause_step": diagnosis.cause_step,
        "cause_seq": diagnosis.cause_seq,
    }
