"""Tasks of a store as rows of the list of traces: what is shown where a store is opened without its logs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store.contract import Store, TaskRow
from tracekit.store.liveness import survey
from tracekit_analyzers.model import Source
from tracekit_analyzers.views import Page, TraceRow

NEEDS_A_LOOK = ("failed", "requires_review", "killed", "rolling_back")
"""States that are shown when only errors are wanted."""


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


def page_of(
    rows: list[TraceRow], *, filter: str, errors_only: bool, offset: int, limit: int
) -> Page[TraceRow]:
    """
    A page of *rows* that match.

    Args:
        filter: Words that are searched in id, goal and state; `status=STATE`; `!` in front turns one around.

    Raises:
        TracekitError: `filter.syntax` for what only logs can answer.
    """
    words = filter.split()
    found = [
        row
        for row in rows
        if (not errors_only or row.status in NEEDS_A_LOOK) and all(_matches(row, word) for word in words)
    ]
    return Page(tuple(found[offset : offset + limit]), offset, len(found), len(rows))


def _matches(row: TraceRow, word: str) -> bool:
    wanted = word.removeprefix("!")
    name, sign, value = wanted.partition("=")
    if any(mark in wanted for mark in "<>") or (sign and name != "status"):
        raise TracekitError(
            "filter.syntax",
            f"a store without its logs is filtered by words and status=STATE, not by {word!r}",
        )
    text = f"{row.task_id} {row.trace_id} {row.name} {row.status} {row.code or ''}".lower()
    hit = row.status == value if sign else wanted.lower() in text
    return hit != word.startswith("!")
