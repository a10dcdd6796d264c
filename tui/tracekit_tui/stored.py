"""Tasks of a store as rows of the list of traces: what is shown where a store is opened without its logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache

import duckdb

from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store.contract import Store
from tracekit.store.liveness import survey
from tracekit.store.rows import TaskRow
from tracekit_analyzers.asking import filtering
from tracekit_analyzers.model import Source
from tracekit_analyzers.views import Page, TraceRow

NEEDS_A_LOOK = ("failed", "requires_review", "killed", "rolling_back")
"""States that are shown when only errors are wanted."""
KNOWN_FIELDS = frozenset(
    ("age", "code", "cost", "duration", "id", "name", "status", "steps", "task", "tokens")
)
"""Fields of a filter that a store can answer; `code` is the rule of the question that waits."""

_COLUMNS = {
    "trace_id": "varchar", "task_id": "varchar", "name": "varchar", "status": "varchar", "code": "varchar", "steps": "bigint",
    "cost": "double", "tokens": "bigint", "duration_ms": "double", "started_at": "timestamp",
}  # fmt: skip
_TABLES = (
    f"create schema log; create table log.trace_rows (n bigint, {', '.join(map(' '.join, _COLUMNS.items()))}); "
    "create table diagnoses (trace_id varchar, code varchar)"
)


def task_rows(store: Store) -> list[TraceRow]:
    """All tasks, the one changed last first; one whose process has ended in the middle of it is `killed`."""
    alive = survey(store).alive
    questions = {row.task_id: row.reason for row in store.reviews(limit=100_000)}
    tasks = sorted(_tasks(store), key=lambda task: (-task.updated_ms, task.task_id))
    return [_row(task, questions.get(task.task_id), task.owner in alive) for task in tasks]


def _tasks(store: Store) -> Iterator[TaskRow]:
    after = ""
    while page := store.tasks(after=after):
        yield from page
        after = page[-1].task_id


def _row(task: TaskRow, question: str | None, held: bool) -> TraceRow:
    left = task.status is TaskStatus.RUNNING and not held
    return TraceRow(
        trace_id=task.trace_id,
        task_id=task.task_id,
        name=task.goal or task.function,
        status="killed" if left else str(task.status),
        steps=_begun(task),
        finished_steps=_begun(task),
        failed_step=None,
        failed_seq=None,
        failed_name=None,
        code=question,
        confidence=None,
        cost=task.cost_used or None,
        tokens=task.tokens_used or None,
        started_at=datetime.fromtimestamp(task.created_ms / 1000, UTC),
        duration_ms=float(task.updated_ms - task.created_ms),
        source=Source("store", 0, None, None),
    )


def _begun(task: TaskRow) -> int:
    """How many steps the task has begun: places count up, those inside a step have a dot."""
    first = (task.current_step or "").partition(".")[0]
    return int(first) if first.isdigit() else 0


def pages_of(
    tasks: Callable[[], Sequence[TraceRow]], *, filter: str, sort: str, errors_only: bool
) -> Callable[[int, int], Page[TraceRow]]:
    """
    A function that gives pages of those *tasks* that match, as they stand at its first call.

    Args:
        filter: In the language of the list of traces (`Analysis.traces`), as far as a store knows the fields.
        sort: Column of `TraceRow`, `-` in front for descending; rows without a value come last.

    Raises:
        TracekitError: `filter.syntax` for what can't be read; `filter.needs_log` for what only logs can answer.
    """

    @cache
    def found() -> tuple[list[TraceRow], int]:
        rows = tasks()
        wanted = [row for row in rows if not errors_only or row.status in NEEDS_A_LOOK]
        return _in_order(_matching(wanted, filter) if filter.strip() else wanted, sort), len(rows)

    def fetch(offset: int, limit: int) -> Page[TraceRow]:
        rows, unfiltered = found()
        return Page(tuple(rows[offset : offset + limit]), offset, len(rows), unfiltered)

    return fetch


def _in_order(rows: list[TraceRow], sort: str) -> list[TraceRow]:
    column = sort.removeprefix("-")
    known = [row for row in rows if getattr(row, column) is not None]
    # Sorting is stable: of equal ones the one that changed last comes first.
    known.sort(key=lambda row: getattr(row, column), reverse=sort.startswith("-"))
    return known + [row for row in rows if getattr(row, column) is None]


def _matching(rows: list[TraceRow], text: str) -> list[TraceRow]:
    """Those of *rows* that match, by the same conditions that narrow the traces of a log."""
    beyond = filtering.fields(text) - KNOWN_FIELDS
    if beyond:
        raise TracekitError(
            "filter.needs_log",
            f"{', '.join(sorted(beyond))}: only a log tells this; open it beside the store "
            f"(tracekit tui LOGS --store URL). A store alone knows {', '.join(sorted(KNOWN_FIELDS))}",
        )
    where = filtering.condition(text)
    with duckdb.connect() as con:
        con.execute(_TABLES)
        con.execute(
            "insert into log.trace_rows select "
            + ", ".join(["unnest(?::bigint[])", *(f"unnest(?::{kind}[])" for kind in _COLUMNS.values())]),
            [list(range(len(rows))), *([_plain(getattr(row, name)) for row in rows] for name in _COLUMNS)],
        )
        con.execute("insert into diagnoses select trace_id, code from log.trace_rows where code is not null")
        found = con.execute(
            f"select n from log.trace_rows t where {where.sql} order by n", where.parameters
        ).fetchall()
    return [rows[n] for (n,) in found]


def _plain(value: object) -> object:
    """Times as the analysis keeps them: UTC, without saying so."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
