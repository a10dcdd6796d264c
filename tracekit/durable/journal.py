"""What the journal answers: a step whose end was committed is never done again."""

from __future__ import annotations

from typing import Any

from tracekit.durable.errors_stored import error_from_json
from tracekit.durable.points import point
from tracekit.durable.session import Session
from tracekit.model import StepStatus
from tracekit.store.rows import StepRow

FINISHED = (StepStatus.OK, StepStatus.ERROR, StepStatus.SKIPPED)


def is_finished(row: StepRow) -> bool:
    """Whether the row ends the step."""
    return row.status in FINISHED


def finished_result(session: Session, row: StepRow) -> Any:
    """The recorded result, None for a skipped step; raises the recorded error. Nothing is written."""
    point("replayed")
    if row.status is StepStatus.SKIPPED:
        return None
    if row.error is not None:
        error = error_from_json(row.error)
        mark_escaped(session, error, row.place)
        raise error
    return session.body(row.result) if row.result is not None else None


def mark_escaped(session: Session, error: BaseException, place: str) -> None:
    """Remember which step raised *error*, so that an exception that ends the attempt names its step."""
    session.escaped.append((error, place))
    del session.escaped[:-50]


def place_of(session: Session, error: BaseException) -> str | None:
    """Place of the step that raised *error* or one of its causes; None when no step did."""
    link: BaseException | None = error
    for _ in range(20):
        if link is None:
            return None
        for known, place in session.escaped:
            if known is link:
                return place
        link = link.__cause__ or link.__context__
    return None
