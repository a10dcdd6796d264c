"""The log's side of a durable step: one open step for each call that really runs; a replayed call writes no line."""

from __future__ import annotations

from typing import Any

from tracekit.durable.session import Session
from tracekit.model import EffectStatus, StepKind, StepStatus
from tracekit.recording.recorder import recorder
from tracekit.recording.spans import StepRef
from tracekit.store.rows import EffectRow, StepRow


def begin(session: Session, kind: StepKind, name: str, **known: Any) -> Any:
    """An open step of this attempt, below whatever step is active."""
    task = session.task
    return recorder().begin(kind, name, task_id=task.task_id, attempt=task.attempt, **known)


def root_step(session: Session, name: str) -> Any:
    """The step of the attempt: the first one has the id that the task was admitted with, later ones hang below it."""
    task = session.task
    is_first = task.attempt <= 1
    return recorder().begin(
        StepKind.TASK,
        name,
        trace_id=task.trace_id,
        step_id=task.root_step_id if is_first else None,
        parent=None if is_first else StepRef(task.trace_id, task.root_step_id),
        task_id=task.task_id,
        attempt=task.attempt,
        input=session.body(task.arguments),
    )


def effect_fields(row: EffectRow, status: EffectStatus | None = None) -> dict[str, Any]:
    """The `effect` object of a log line."""
    return {
        "risk": row.risk.value,
        "key": row.key,
        "status": (status or row.status).value,
        "idempotent": row.idempotent,
    }


def end_lost(session: Session, row: StepRow, status: StepStatus, **known: Any) -> None:
    """
    Write the end of a step whose process was lost, once it is known how it ended; *known*: `output`, `effect`.

    The log then tells the truth by its own rule: the last line of a step wins. Who began it, and in which attempt,
    stands in the line of the lost process and is not said anew.
    """
    if not row.step_id:
        return
    task = session.task
    recorder().end_lost(
        task.trace_id,
        row.step_id,
        status,
        task_id=task.task_id,
        attributes={"tracekit.place": row.place, "tracekit.settled_by_attempt": task.attempt},
        **known,
    )
