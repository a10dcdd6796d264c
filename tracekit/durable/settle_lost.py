"""Settling what a lost owner left unknown, before the task function runs again."""

from __future__ import annotations

from tracekit.durable.attempts import attempt_settled
from tracekit.durable.ledger import make_call
from tracekit.durable.requests import Op
from tracekit.durable.reviewing import stop_for_review
from tracekit.durable.session import Session
from tracekit.durable.tool_call import finish_settled
from tracekit.model import EffectStatus
from tracekit.store.rows import ReviewRow
from tracekit.tools import registered


def settle_lost(session: Session) -> Op[None]:
    """
    Ask probes about every effect of unknown outcome and record what they say; raises `RequiresReview` for the rest.

    A person is asked about all that is left at once, not about one after another.
    An effect whose tool is not declared in this process, or that a person has decided about, is left to its place.
    """
    questions: list[ReviewRow] = []
    for effect in sorted(session.effects.values(), key=lambda row: row.intent_ms):
        tool = registered(effect.tool, session.task.function)
        if (
            effect.status is not EffectStatus.EXECUTED_UNKNOWN
            or tool is None
            or effect.place.startswith("undo")
        ):
            continue
        if session.decided(effect.place) is not None:
            continue
        call = make_call(session, effect.place, tool, session.body(effect.args), call_no=effect.call_no)
        if call.key != effect.key:
            continue  # its arguments are encoded otherwise now: the place itself will show the difference
        ended = yield from attempt_settled(call)
        if isinstance(ended, ReviewRow):
            questions.append(ended)
        elif ended is not None:
            yield from finish_settled(call, ended)
    if questions:
        yield from stop_for_review(session, *questions)
