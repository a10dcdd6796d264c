"""
The tables of an analysis, each row by row or as a Polars frame: what `--table` and the Python API give.

`runs`, `diagnoses`, `groups` and `damage` are made of the result; `steps` and `calls` are relations and come from the database,
which may hold more of them than fits into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import orjson

from tracekit.errors import TracekitError
from tracekit_analyzers.model import Diagnosis, Source, TraceVerdict
from tracekit_analyzers.relations import statement
from tracekit_analyzers.reports.as_json import evidence
from tracekit_analyzers.reports.result import Result, is_failed, primary

if TYPE_CHECKING:
    # Loaded where a frame is made: it is a third of the time in which a command without frames starts.
    import polars

Row = tuple[Any, ...]
Schema = dict[str, type]

_TEXT, _WHOLE, _NUMBER, _YES, _TIME = str, int, float, bool, datetime

RUNS: Schema = {
    "trace_id": _TEXT, "task_id": _TEXT, "name": _TEXT, "status": _TEXT, "failed": _YES, "steps": _WHOLE, "started_at": _TIME,
    "duration_ms": _NUMBER, "tokens": _WHOLE, "cost": _NUMBER, "code": _TEXT, "family": _TEXT, "confidence": _NUMBER,
    "tool": _TEXT, "failed_step": _TEXT, "failed_seq": _WHOLE, "cause_step": _TEXT, "cause_seq": _WHOLE, "message": _TEXT,
    "resumable_step": _TEXT, "resumable_seq": _WHOLE, "kept_calls": _WHOLE, "kept_tokens": _WHOLE, "kept_seconds": _NUMBER,
    "risk": _TEXT, "file": _TEXT, "trace_index": _WHOLE,
}  # fmt: skip
DIAGNOSES: Schema = {
    "trace_id": _TEXT, "task_id": _TEXT, "place": _WHOLE, "primary": _YES, "code": _TEXT, "family": _TEXT,
    "confidence": _NUMBER, "recovered": _YES, "retry": _TEXT, "rule": _TEXT, "tool": _TEXT, "failed_step": _TEXT,
    "failed_seq": _WHOLE, "cause_step": _TEXT, "cause_seq": _WHOLE, "message": _TEXT, "evidence": _TEXT, "file": _TEXT,
    "trace_index": _WHOLE, "line": _WHOLE, "index": _WHOLE,
}  # fmt: skip
GROUPS: Schema = {
    "id": _TEXT, "code": _TEXT, "tool": _TEXT, "wording": _TEXT, "failures": _WHOLE, "traces": _WHOLE, "share": _NUMBER,
    "lost_ms": _NUMBER, "first_seen": _TIME, "last_seen": _TIME, "example": _TEXT, "new": _YES,
}  # fmt: skip
DAMAGE: Schema = {
    "file": _TEXT, "line": _WHOLE, "offset": _WHOLE, "reason": _TEXT, "head": _TEXT, "lost": _WHOLE,
}  # fmt: skip

MADE = {"runs": RUNS, "diagnoses": DIAGNOSES, "groups": GROUPS, "damage": DAMAGE}
"""Tables that are made of the result, with their columns."""
STORED = ("steps", "calls")
"""Tables that stand in the database of the analysis; relations/README.md has their columns."""
NAMES = (*MADE, *STORED)
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Rows:
    """A table row by row, times aware and in UTC."""

    columns: tuple[str, ...]
    rows: Iterator[Row]


def rows(name: str, result: Result) -> Rows:
    """Table *name*; raises `TracekitError("table.elsewhere")` for one that this process does not have."""
    if name in MADE:
        return Rows(tuple(MADE[name]), _MAKERS[name](result))
    found = database(name, result).execute(statement(f"table_{name}"))
    return Rows(tuple(column[0] for column in found.description or ()), _fetched(found))


def frame(name: str, result: Result) -> polars.DataFrame:
    """The same as a frame."""
    import polars

    if name in MADE:
        utc = polars.Datetime("us", "UTC")
        schema = {column: utc if kind is _TIME else kind for column, kind in MADE[name].items()}
        return polars.DataFrame(list(_MAKERS[name](result)), schema=schema, orient="row")
    return queried(database(name, result), statement(f"table_{name}"))


def queried(con: duckdb.DuckDBPyConnection, sql: str) -> polars.DataFrame:
    """What *sql* gives, as a frame, handed over in the memory layout that both share: no row is made in Python."""
    import polars

    try:
        return _aware(polars.DataFrame(con.sql(sql)))
    except duckdb.Error as error:
        raise TracekitError("sql.failed", str(error).strip()) from error


def _aware(made: polars.DataFrame) -> polars.DataFrame:
    """*made* with its times, which relations hold without a zone, in UTC."""
    import polars

    naive = [
        name
        for name, kind in made.schema.items()
        if isinstance(kind, polars.Datetime) and kind.time_zone is None
    ]
    return made.with_columns(polars.col(name).dt.replace_time_zone("UTC") for name in naive)


def database(name: str, result: Result) -> duckdb.DuckDBPyConnection:
    """The connection that holds table *name*."""
    if result.report_steps is None:
        raise TracekitError(
            "table.elsewhere",
            f"the table {name} is not here: Spark brings back verdicts only. Take --engine local, or --table diagnoses",
        )
    return result.report_steps.con


def _fetched(found: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    while batch := found.fetchmany(_AT_ONCE):
        yield from batch


def _runs(result: Result) -> Iterator[Row]:
    for trace in result.traces:
        found, point = primary(trace), trace.resumable
        yield (
            trace.trace_id, trace.task_id, trace.name, trace.status, is_failed(trace), trace.steps, trace.started_at,
            trace.duration_ms, trace.tokens, trace.cost,
            *((found.code, found.family, found.confidence, found.tool, *_places(found), found.message) if found else (None,) * 9),
            *((point.step, point.seq, point.kept_calls, point.kept_tokens, point.kept_seconds, point.risk)
              if point else (None,) * 6),
            trace.source.file, trace.source.trace_index,
        )  # fmt: skip


def _places(found: Diagnosis) -> tuple[str | None, int | None, str | None, int | None]:
    return found.failed_step, found.failed_seq, found.cause_step, found.cause_seq


def _diagnoses(result: Result) -> Iterator[Row]:
    for trace in result.traces:
        for place, found in enumerate(trace.diagnoses):
            yield _diagnosis(trace, place, found)


def _diagnosis(trace: TraceVerdict, place: int, found: Diagnosis) -> Row:
    source = found.source or Source(trace.source.file)
    facts = orjson.dumps([evidence(item) for item in found.evidence]).decode()
    return (
        trace.trace_id, trace.task_id, place, place == trace.primary, found.code, found.family, found.confidence,
        found.recovered, str(found.retry), found.rule, found.tool, *_places(found), found.message, facts,
        trace.source.file, trace.source.trace_index, source.line, source.index,
    )  # fmt: skip


def _groups(result: Result) -> Iterator[Row]:
    for group in result.groups():
        yield (
            group.id, group.code, group.tool, group.wording, group.failures, group.traces, group.share, group.lost_ms,
            group.first_seen, group.last_seen, group.example, group.is_new,
        )  # fmt: skip


def _damage(result: Result) -> Iterator[Row]:
    for bad in result.bad:
        yield bad.file, bad.line, bad.offset, bad.reason, bad.head, bad.lost


_MAKERS = {"runs": _runs, "diagnoses": _diagnoses, "groups": _groups, "damage": _damage}
