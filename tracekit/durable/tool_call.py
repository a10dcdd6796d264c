"""
The life of one tool call: journal, decision of a person, ledger, dispatch, outcome, retry, fallback.

Written once, as generators that do no I/O; `shell_sync` and `shell_async` carry out what they ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from tracekit.arguments import BadArguments
from tracekit.durable.attempts import Ended, attempt
from tracekit.durable.bodies import stored
from tracekit.durable.carried import ask_about_carried, carried_for, is_answer, settled_by, take_over
from tracekit.durable.errors_stored import error_to_json
from tracekit.durable.journal import finished_result, is_finished, mark_escaped
from tracekit.durable.ledger import Call, make_call, move, step_row
from tracekit.durable.limit_checks import check_limits
from tracekit.durable.places import named_call
from tracekit.durable.requests import Op, commit
from tracekit.durable.reviewing import diverged, review_row, stop_for_review
from tracekit.durable.session import Session, event, now_ms
from tracekit.durable.settle import asked_about, decision
from tracekit.durable.trail import effect_fields, end_lost
from tracekit.errors import NotStorable, TracekitError
from tracekit.model import EffectStatus, StepStatus
from tracekit.policy import Policy
from tracekit.store.contract import PutBlob, PutStep, UseReview
from tracekit.store.rows import EffectRow, ReviewRow, StepRow
from tracekit.tools import Tool, accepted, as_tool

EDITED_CALL_NO = 100
"""Call numbers of edited arguments start at the multiples of this, those of fallbacks count from there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool call as the agent or the model wants it."""

    tool: Tool[Any, Any]
    named: dict[str, Any]
    raw: str | None = None
    call_id: str | None = None
    lenient: bool = False


def tool_call(session: Session, place: str, asked: Asked) -> Op[Any]:
    """
    The tool's result: from the journal where it is finished, else by dispatching it.

    None when the step was skipped. Raises the tool's own exception, `RequiresReview`, `Divergence`, `NotStorable`.
    """
    session.check()
    call = make_call(
        session, place, asked.tool, asked.named, raw=asked.raw, call_id=asked.call_id, lenient=asked.lenient
    )
    call = yield from _with_edits(call)
    row = session.steps.get(place)
    if row is not None:
        yield from _compare(call, row)
        if is_finished(row):
            return finished_result(session, row)
    review = session.decided(place)
    if review is not None and review.decision != "edit" and review.args_digest not in ("", call.args_digest):
        yield from diverged(
            session,
            place,
            recorded=f"{asked.tool.name} with arguments {review.args_digest}, which a person decided about",
            asked=f"{asked.tool.name} with arguments {call.args_digest}",
        )
    if review is not None and review.decision in ("done", "skip"):
        return (yield from _as_decided(call, review))
    carried = carried_for(call) if review is None else None
    if carried is not None and is_answer(call, carried):
        return (yield from _as_carried(call, carried))
    if carried is not None:
        yield from ask_about_carried(call, carried)
    yield from check_limits(session, place)
    return (yield from _run(call, approval=review))


def _with_edits(call: Call) -> Op[Call]:
    """*call* with the arguments that a person put in place of the agent's, latest last."""
    edits = [
        row
        for row in call.session.reviews.values()
        if row.place == call.place
        and row.decision == "edit"
        and row.status in ("decided", "used")
        and row.payload
    ]
    for number, review in enumerate(sorted(edits, key=lambda row: row.decided_ms or 0), 1):
        if review.args_digest != call.args_digest:
            yield from diverged(
                call.session,
                call.place,
                recorded=f"{call.tool.name} with arguments {review.args_digest}, which a person edited",
                asked=f"{call.tool.name} with arguments {call.args_digest}",
            )
        try:
            values = call.tool.arguments.fitted(call.session.body(review.payload or ""))
        except BadArguments as error:
            if review.status == "decided":
                yield from _ask_again(call, review, error)
            continue
        edited = make_call(call.session, call.place, call.tool, values, call_no=number * EDITED_CALL_NO + 1)
        call = replace(edited, raw=call.raw, call_id=call.call_id)
    return call


def _ask_again(call: Call, review: ReviewRow, error: BadArguments) -> Op[None]:
    """Stop for a person: the arguments that *review* gave do not fit, and a model that heard of it might pay anew."""
    row = review_row(
        call.session,
        place=call.place,
        reason=review.reason,
        break_point=named_call(call.place, call.tool.name),
        why=f"{orjson.loads(review.panel)['reason']} {review.decided_by} decided `edit`, but the {error}",
        recommendation="decide `edit` again with all arguments by name, or another answer",
        args_digest=call.args_digest,
        effect_key=review.effect_key,
        details=asked_about(call),
    )
    yield from stop_for_review(call.session, row, writes=(UseReview(review.review_id),))


def _compare(call: Call, row: StepRow) -> Op[None]:
    """Stop for review unless the journal's row is this very call; an unfinished read may be asked differently."""
    same_tool = row.kind.value == "tool" and row.name == call.tool.name
    decides = is_finished(row) or bool(call.session.effects_at(row.place))
    edited = call.call_no > EDITED_CALL_NO and not is_finished(row)
    if (same_tool and (row.args_digest == call.args_digest or edited)) or not decides:
        return
    yield from diverged(
        call.session,
        call.place,
        recorded=f"{row.kind.value} {row.name} with arguments {row.args_digest}",
        asked=f"tool {call.tool.name} with arguments {call.args_digest}",
    )


def _as_decided(call: Call, review: ReviewRow) -> Op[Any]:
    """Put down what a person said about the call: it is done with this result, or it is left out."""
    skipped = review.decision == "skip"
    value = None if skipped or review.payload is None else call.session.body(review.payload)
    status = StepStatus.SKIPPED if skipped else StepStatus.OK
    effect_status = EffectStatus.SKIPPED if skipped else EffectStatus.SUCCESS
    row = step_row(call, _step_id(call), status, result=review.payload, finished_ms=now_ms(), error=None)
    moves = move(call, effect_status, result=review.payload, approval_id=review.review_id)
    yield from finish(
        call,
        row,
        (*moves, *settled_by(call.session, review, call.place), UseReview(review.review_id)),
        point="decision_used",
        durable=True,
        by=review.decided_by,
    )
    return value


def _as_carried(call: Call, effect: EffectRow) -> Op[Any]:
    """Answer the call with what the task before the fork got for the same one."""
    row = step_row(
        call, "", StepStatus.OK, tries=0, result=effect.result, error=effect.error, finished_ms=now_ms()
    )
    why = decision(call, "", "keep", "fork.keep", made_by=call.session.task.parent_task, made_at=effect.key)
    yield from finish(call, row, (take_over(effect.key, call.place), why), point="settled", durable=True)
    return finished_result(call.session, row)


def _step_id(call: Call) -> str:
    row = call.session.steps.get(call.place)
    return row.step_id if row is not None else ""


def _run(call: Call, *, approval: ReviewRow | None) -> Op[Any]:
    """Dispatch the tool, then its declared fallbacks while each is proved not to have done it."""
    candidates = [call, *_fallbacks(call)]
    for number, candidate in enumerate(candidates):
        ended = yield from attempt(candidate, approval=approval if number == 0 else None, round_no=number + 1)
        if ended.is_ok:
            return (yield from _finish_ok(candidate, ended))
        if not _falls_back(ended):
            break
        if number + 1 < len(candidates):
            later = decision(
                call, ended.failure_class, "fallback", "tool.fallback", to=candidates[number + 1].tool.name
            )
            yield from commit("note", later, durable=False)
    if not call.tool.policy.critical and ended.is_exhausted:
        return (yield from _skip(candidate, ended))
    return (yield from _finish_error(candidate, ended))


def _falls_back(ended: Ended) -> bool:
    """A refusal for cause is an answer: asking another tool for the same would go around it."""
    return ended.failure_class != "tool.rejected" and not ended.failure_class.startswith("parameter.")


def _fallbacks(call: Call) -> list[Call]:
    own = call.tool.policy
    inherited = Policy(own.effect, timeout_s=own.timeout_s, retry=own.retry, critical=own.critical)
    found = []
    for number, function in enumerate(own.fallback, 1):
        tool = as_tool(function, inherited)
        named = accepted(tool, call.named)
        made = make_call(call.session, call.place, tool, named, call_no=call.call_no + number)
        found.append(replace(made, raw=call.raw, call_id=call.call_id, ord=call.ord))
    return found


def finish_settled(call: Call, ended: Ended) -> Op[None]:
    """Record a lost call that turned out to be done."""
    try:
        yield from _finish_ok(call, ended)
    except NotStorable:
        return  # on record with its outcome; the place raises it when the replay comes there


def _finish_ok(call: Call, ended: Ended) -> Op[Any]:
    """Outcome first, result second: a result that can't be stored leaves the outcome on record."""
    body, refused = stored(ended.value)
    error = error_to_json(refused) if refused is not None else None
    result = body.hash if body is not None else None
    own = _own_row(call, StepStatus.OK, ended, result=result, error=error)
    moves = move(call, EffectStatus.SUCCESS, result=result, error=error, **ended.effect_changes)
    blobs: tuple[PutBlob, ...] = (body,) if body is not None else ()
    point = "settled" if ended.settled else f"after_{call.kind}"
    yield from finish(call, own, (*blobs, *moves, *ended.writes), point=point, durable=call.is_effect)
    if ended.step is None and own.step_id:
        fields = effect_fields(call.effect) if call.effect is not None else None
        end_lost(call.session, own, StepStatus.OK, output=ended.value, effect=fields)
    ended.end_step(StepStatus.OK, output=ended.value, tries=own.tries, effect=call.effect)
    if refused is not None:
        mark_escaped(call.session, refused, call.place)
        raise refused
    return ended.value


def _finish_error(call: Call, ended: Ended) -> Op[Any]:
    """Record what the tool raised, and raise it."""
    error = ended.error or TracekitError("tool.failed", f"{call.tool.name} failed without an exception")
    own = _own_row(
        call, StepStatus.ERROR, ended, error=error_to_json(error), failure_class=ended.failure_class
    )
    yield from finish(call, own, ended.writes, point=f"after_{call.kind}", durable=call.is_effect)
    ended.end_step(StepStatus.ERROR, error=error, tries=own.tries, effect=call.effect)
    mark_escaped(call.session, error, call.place)
    raise error


def _skip(call: Call, ended: Ended) -> Op[Any]:
    """Leave a step out that is not critical, and put it on the to-do list."""
    text = error_to_json(ended.error) if ended.error is not None else None
    own = _own_row(call, StepStatus.SKIPPED, ended, error=text, failure_class=ended.failure_class)
    todo = event("todo", call.place, tool=call.tool.name, reason=ended.failure_class)
    why = decision(call, ended.failure_class, "skip", "limit.skip")
    yield from finish(call, own, (*ended.writes, todo, why), point="skipped", durable=call.is_effect)
    ended.end_step(StepStatus.SKIPPED, error=ended.error, tries=own.tries, effect=call.effect)
    return None


def _own_row(call: Call, status: StepStatus, ended: Ended, **more: Any) -> StepRow:
    row = step_row(call, ended.step_id or _step_id(call), status, finished_ms=now_ms(), **more)
    # The journal is compared with what the agent asks for, also where a fallback answered.
    first = call.session.steps.get(call.place)
    return replace(row, args_digest=first.args_digest, name=first.name) if first is not None else row


def finish(
    call: Call, row: StepRow, writes: tuple[Any, ...], *, point: str, durable: bool, **body: Any
) -> Op[None]:
    """The one commit that ends a tool step: outcome, row and both checkpoints."""
    yield from commit(
        point,
        *writes,
        PutStep(row),
        event("after_tool", call.place, tool=row.name, status=row.status.value, **body),
        event("step_complete", call.place, status=row.status.value),
        durable=durable,
    )
