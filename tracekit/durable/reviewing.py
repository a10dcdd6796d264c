"""
Asking a person, and stopping until there is an answer.

The question carries the digest of the arguments it is about, so that nobody approves one call and another is made.
"""

from __future__ import annotations

from typing import Any, NoReturn

import orjson

from tracekit.durable.ids import SCOPE_FUNCTION
from tracekit.durable.next_commands import after_question
from tracekit.durable.places import named_call
from tracekit.durable.requests import Op, commit
from tracekit.durable.session import Session, event, now_ms
from tracekit.errors import Divergence, RequiresReview
from tracekit.model import TaskStatus
from tracekit.snapshot import digest, to_log
from tracekit.store import ownership
from tracekit.store.contract import AppendDecision, InsertReview, Store, UpdateTask, Write
from tracekit.store.rows import DecisionRow, ReviewRow, TaskRow

OPTIONS = {
    "effect.unknown": ("retry", "skip", "done", "edit", "rollback", "abort"),
    "effect.carried": ("retry", "skip", "done", "edit", "rollback", "abort"),
    "undo.unknown": ("retry", "done", "abort"),
    "limit.attempts": ("retry", "skip", "done", "edit", "rollback", "abort"),
    "limit.recoveries": ("retry", "rollback", "abort"),
    "task.exception": ("retry", "skip", "done", "rollback", "abort"),
    "ask": ("done", "rollback", "abort"),
}
"""What a person may decide, by reason; the standard set for the rest."""

STANDARD_OPTIONS = ("retry", "rollback", "abort")

MEANINGS = {
    "retry": "the call is sent again under the same key",
    "edit": "the call is sent with arguments that you give",
    "done": "it counts as done, with the result you give",
    "skip": "the call is left out, and listed as to be done",
    "rollback": "finished effects are undone, in reverse order",
    "abort": "the task ends as cancelled; nothing is undone",
}
"""What each decision does, in a few words."""


def is_open(row: ReviewRow) -> bool:
    """Whether the question still waits for its answer."""
    return ownership.is_open(row, now_ms())


def review_row(
    session: Session,
    *,
    place: str | None,
    reason: str,
    break_point: str,
    why: str,
    recommendation: str,
    args_digest: str = "",
    effect_key: str | None = None,
    details: dict[str, Any] | None = None,
    answers: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
) -> ReviewRow:
    """The question as a row; its id is the same when the same question comes up again while it is open."""
    asked = [row for row in session.reviews.values() if (row.place, row.reason) == (place, reason)]
    still_open = any(is_open(row) for row in asked)
    number = len(asked) if still_open else len(asked) + 1
    name = digest("\x1f".join((session.task.task_id, place or "", reason, str(number))).encode())[:12]
    panel = {
        "goal": session.task.goal,
        "break_point": break_point,
        "reason": why,
        "recommendation": recommendation,
        "options": list(options or OPTIONS.get(reason, STANDARD_OPTIONS)),
        "answers": list(answers),
        "details": to_log(details or {}),
    }
    expires_s = session.options.review_expires_s
    return ReviewRow(
        f"rev-{name}",
        session.task.task_id,
        place,
        effect_key,
        reason,
        orjson.dumps(panel).decode(),
        args_digest,
        expires_ms=now_ms() + round(expires_s * 1000) if expires_s else None,
        created_ms=now_ms(),
    )


def stop_for_review(session: Session, *rows: ReviewRow, writes: tuple[Any, ...] = ()) -> Op[NoReturn]:
    """Put the questions durably, let no new step begin, and raise `RequiresReview` for the first of them."""
    asked = [write for row in rows for write in _asking(session, row)]
    waits = UpdateTask({"status": TaskStatus.REQUIRES_REVIEW})
    yield from commit("review", *writes, *asked, waits, durable=True)
    stop = requires_review(session.store, session.task, rows[0])
    session.stop(stop)
    raise stop


def _asking(session: Session, row: ReviewRow) -> tuple[Write, ...]:
    """The question, why it is asked, and the line of the task's history that says so."""
    why = DecisionRow(
        session.task.task_id, row.place, row.reason, "", session.work_done(), "review", row.reason,
        orjson.dumps({"review_id": row.review_id, "reason": orjson.loads(row.panel)["reason"]}).decode(), now_ms(),
    )  # fmt: skip
    told = event("review", row.place, review_id=row.review_id, reason=row.reason)
    return InsertReview(row), AppendDecision(why), told


def requires_review(store: Store, task: TaskRow, row: ReviewRow) -> RequiresReview:
    """The exception that tells whoever runs the task that it waits, for what, and what to type next."""
    panel = orjson.loads(row.panel)
    return RequiresReview(
        f"review.{row.reason}",
        f"task {row.task_id!r} waits for a person at {panel['break_point']}: {panel['reason']} "
        f"Recommended: {panel['recommendation']}. "
        + after_question(store, row.task_id, row.review_id, is_scope=task.function == SCOPE_FUNCTION),
        task_id=row.task_id,
        review_id=row.review_id,
    )


def diverged(session: Session, place: str, *, recorded: str, asked: str) -> Op[NoReturn]:
    """Stop for review because the code asks for something else than the journal holds at this place."""
    row = review_row(
        session,
        place=place,
        reason="divergence",
        break_point=named_call(place, recorded),
        why=f"the journal holds {recorded} at call {place}, the code now asks for {asked}.",
        recommendation="retry with the code that ran before, or fork the task before this call",
        details={"recorded": recorded, "asked": asked},
    )
    try:
        yield from stop_for_review(session, row)
    except RequiresReview as stop:
        error = Divergence(
            "replay.divergence",
            f"task {session.task.task_id!r}, call {place}: expected {recorded} as in the earlier attempt, got {asked}. "
            "The task waits for review; run it with the code that ran before, or fork it before this call",
        )
        session.stopped = error
        raise error from stop
    raise AssertionError("a review always stops the attempt")
