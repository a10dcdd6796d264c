"""
Effects that a fork found already done: those that its parent made after the step where the journal was cut.

They stand in the fork's ledger under the place `carried`. The same call again gets the recorded result; a call of the
same tool that differs, or whose first outcome nobody knows, is laid before a person. So nothing that is booked is
dispatched a second time without a decision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tracekit.durable.ledger import Call
from tracekit.durable.places import named_call
from tracekit.durable.requests import Op
from tracekit.durable.reviewing import review_row, stop_for_review
from tracekit.durable.session import Session
from tracekit.model import EffectStatus
from tracekit.store.contract import UpdateEffect, Write
from tracekit.store.rows import EffectRow, ReviewRow

PLACE = "carried"
REASON = "effect.carried"

MAY_HAVE_HAPPENED = frozenset({EffectStatus.SUCCESS, EffectStatus.PENDING, EffectStatus.EXECUTED_UNKNOWN})
"""Ledger states after which the world may be another one."""

UNFINISHED = (
    '{"type":"fork.unfinished","message":"its process was lost before the journal was copied; fork again"}'
)
"""Stands as the error of a fork until its journal is there: one without is never run."""

_WAITING = frozenset({EffectStatus.SKIPPED, EffectStatus.EXECUTED_UNKNOWN})


def carried_row(effect: EffectRow, task_id: str) -> EffectRow:
    """*effect* of the parent as the fork's ledger holds it: `skipped` there, or unknown where it is unknown."""
    known = effect.status is EffectStatus.SUCCESS
    status = EffectStatus.SKIPPED if known else EffectStatus.EXECUTED_UNKNOWN
    return replace(effect, task_id=task_id, place=PLACE, status=status, approval_id=None)


def carried_for(call: Call) -> EffectRow | None:
    """The carried effect that *call* would repeat: one of the same arguments first, else any of the same tool."""
    if not call.is_effect or call.effect is not None:
        return None
    waiting = [row for row in call.session.effects_at(PLACE) if row.tool == call.tool.name]
    same = [row for row in waiting if row.args_hash == call.args_digest]
    return next(iter((*same, *waiting)), None)


def is_answer(call: Call, effect: EffectRow) -> bool:
    """Whether the recorded result of *effect* answers *call*: the same arguments, and it is known to be done."""
    return effect.args_hash == call.args_digest and effect.status is EffectStatus.SKIPPED


def take_over(effect_key: str, place: str, **changes: Any) -> UpdateEffect:
    """The write that gives a carried effect to the call at *place*; it answers no other one."""
    return UpdateEffect(effect_key, _WAITING, {"place": place, "status": EffectStatus.SKIPPED, **changes})


def settled_by(session: Session, review: ReviewRow, place: str) -> tuple[Write, ...]:
    """What a decision about a carried effect closes in the ledger; nothing for other decisions."""
    row = session.effects.get(review.effect_key or "")
    if review.reason != REASON or row is None or row.place != PLACE:
        return ()
    return (take_over(row.key, place, approval_id=review.review_id),)


def ask_about_carried(call: Call, effect: EffectRow) -> Op[Any]:
    """Ask a person whether *call* may be made although the parent made *effect*; raises `RequiresReview`."""
    parent = call.session.task.parent_task
    known = effect.status is EffectStatus.SKIPPED
    happened = "made it with other arguments" if known else "sent it and nobody knows whether it happened"
    row = review_row(
        call.session,
        place=call.place,
        reason=REASON,
        break_point=named_call(call.place, call.tool.name),
        why=f"{parent!r}, from which this task was forked, {happened}; it was not undone.",
        recommendation="`retry` to make this call too, `skip` or `done` to leave it with what happened",
        args_digest=call.args_digest,
        effect_key=effect.key,
        details={
            "tool": call.tool.name,
            "arguments": call.named,
            "arguments_before": call.session.body(effect.args),
            "risk": call.tool.policy.effect.value,
        },
    )
    return (yield from stop_for_review(call.session, row))
