"""Limits that survive crashes: looked at before the work, laid before a person when used up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tracekit.durable.places import named_call
from tracekit.durable.requests import Op, commit
from tracekit.durable.reviewing import STANDARD_OPTIONS, review_row, stop_for_review
from tracekit.durable.session import Session, event
from tracekit.store.contract import PutStep, UpdateTask, UseReview

if TYPE_CHECKING:
    from tracekit.durable.ledger import Call


def check_limits(session: Session, place: str) -> Op[None]:
    """Raise `RequiresReview` before a new step when tokens, cost or time are used up."""
    limits = session.limits
    spent: tuple[tuple[str, float, float | None, str], ...] = (
        ("tokens", session.task.tokens_used, limits.tokens, "tokens"),
        ("cost", session.task.cost_used, limits.cost, "cost"),
        ("wall_s", session.spent_ms / 1000, limits.wall_s, "seconds"),
    )
    for name, used, most, unit in spent:
        if most is None or used < most:
            continue
        if (yield from _granted(session, place, name)):
            continue
        text = f"{used:g} of {most:g} {unit} are used"
        yield from ask_about_limit(session, place, f"limit.{name}", text)


def _granted(session: Session, place: str, name: str) -> Op[bool]:
    """Double the limit once for a person's `retry`, in one commit with the use of that decision."""
    review = session.decided(place, f"limit.{name}")
    if review is None or review.decision != "retry":
        return False
    session.limits = session.limits.raised(name)
    yield from commit(
        "decision_used",
        UseReview(review.review_id),
        UpdateTask({"limits": session.limits.to_json()}),
        event("limit_raised", place, limit=name, by=review.decided_by),
        durable=True,
    )
    return True


def check_tries(session: Session, place: str, name: str) -> Op[None]:
    """Raise `RequiresReview` when a step was begun as often as it may be; a person's `retry` grants another round."""
    row = session.steps.get(place)
    if row is None or row.tries < session.limits.max_attempts:
        return
    review = session.decided(place, "limit.attempts")
    if review is None:
        text = f"{name} was begun {row.tries} times and never ended"
        yield from ask_about_limit(session, place, "limit.attempts", text)
        return
    fresh = PutStep(replace(row, tries=0))
    yield from commit("decision_used", UseReview(review.review_id), fresh, durable=True)


def ask_about_limit(
    session: Session, place: str, reason: str, text: str, *, call: Call | None = None
) -> Op[Any]:
    """Stop for review with the count; raises `RequiresReview`."""
    row = review_row(
        session,
        place=place,
        reason=reason,
        break_point=named_call(place, call.tool.name) if call is not None else f"call {place}",
        why=f"{text}.",
        recommendation="find out why before allowing more; retry grants one more go",
        args_digest=call.args_digest if call is not None else "",
        effect_key=call.key if call is not None and call.is_effect else None,
        options=() if call is not None else STANDARD_OPTIONS,
        details={"tool": call.tool.name, "arguments": call.booked()} if call is not None else {},
    )
    return (yield from stop_for_review(session, row))
