"""
Trying one tool: book, dispatch, read the outcome, settle, wait, try again while that is allowed.

The hard border stands here and in the ledger: an effect of unknown outcome without key and probe is never dispatched
again unless a person's decision is named in the very commit that books the dispatch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracekit.durable.carried import settled_by
from tracekit.durable.decide import Action, Facts
from tracekit.durable.errors_stored import error_to_json, safe_text
from tracekit.durable.ledger import Call, book, give_up_others, move, step_row
from tracekit.durable.limit_checks import ask_about_limit
from tracekit.durable.requests import Answer, Commit, Dispatch, Op, Raised, Sleep, commit, dispatch
from tracekit.durable.retry import backoff_s, fits
from tracekit.durable.reviewing import stop_for_review
from tracekit.durable.session import event
from tracekit.durable.settle import Settled, decision, facts_of_unknown, question_about_unknown, settle
from tracekit.durable.trail import begin, effect_fields, end_lost
from tracekit.errors import Divergence, LeaseLost, NotExecuted, RequiresReview
from tracekit.model import EffectStatus, StepKind, StepStatus
from tracekit.outcome import Failure, classify, no_answer
from tracekit.policy import Retry
from tracekit.store.contract import PutStep, UseReview, Write
from tracekit.store.rows import EffectRow, ReviewRow

STOPS = (RequiresReview, Divergence, LeaseLost)
"""Raised by durable calls inside of a tool: they end the attempt and say nothing about the tool."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the tries of one tool ended."""

    is_ok: bool
    value: Any = None
    error: BaseException | None = None
    failure_class: str = ""
    is_exhausted: bool = False
    """Whether it failed by using up its tries."""
    settled: bool = False
    """Whether the outcome came from a probe or the ledger and not from an answer."""
    step_id: str = ""
    step: Any = None
    writes: tuple[Write, ...] = ()
    """Go into the commit that ends the step."""
    effect_changes: Mapping[str, Any] = field(default_factory=dict)

    def end_step(self, status: StepStatus, *, tries: int, effect: EffectRow | None, **known: Any) -> None:
        """End the open step of the log."""
        if self.step is not None:
            fields = effect_fields(effect) if effect is not None else None
            self.step.finish(status, tries=tries, effect=fields, checkpoint="step_complete", **known)


def attempt(call: Call, *, approval: ReviewRow | None, round_no: int) -> Op[Ended]:
    """Try *call* until it is answered, refused for good, or must be laid before a person."""
    tries = _Tries(call, approval, round_no)
    while True:
        known = yield from _what_the_ledger_says(call, tries)
        if isinstance(known, ReviewRow):
            yield from stop_for_review(call.session, known)
        elif known is not None:
            return known
        if tries.are_used_up:
            if tries.failure is not None:
                return tries.ended()
            yield from ask_about_limit(
                call.session, call.place, "limit.attempts", _tries_text(call), call=call
            )
        answer = yield from _dispatch(call, tries)
        if isinstance(answer, Answer):
            return Ended(True, answer.value, step_id=tries.step_id, step=tries.step)
        wait_s = yield from _after_failure(call, tries, answer)
        if wait_s is None:
            return tries.ended()
        if wait_s > 0:
            tries.waited_s += wait_s
            yield Sleep(wait_s)


def attempt_settled(call: Call) -> Op[Ended | ReviewRow | None]:
    """
    The end of a lost call where ledger or probe know it, without any dispatch.

    None when it may be dispatched; the question to a person where nothing else can tell.
    """
    return (yield from _what_the_ledger_says(call, _Tries(call, None, 1)))


class _Tries:
    """What the loop of `attempt` counts."""

    def __init__(self, call: Call, approval: ReviewRow | None, round_no: int) -> None:
        limits = call.session.limits
        self.call = call
        self.policy = call.tool.policy.retry or Retry(attempts=limits.max_attempts)
        self.most = max(limits.max_attempts, self.policy.attempts) * round_no
        self.approval = approval if approval is not None and approval.decision in ("retry", "edit") else None
        self.is_first_tool = round_no == 1
        """Whether no other tool was tried with these arguments before, as it was where this one is a fallback."""
        self.here = 0
        """Dispatches of this process."""
        self.waited_s = 0.0
        self.step: Any = None
        self.step_id = ""
        self.failure: Failure | None = None
        self.error: BaseException | None = None

    @property
    def total(self) -> int:
        """Dispatches over all attempts of the task; counted in the store before each."""
        row = self.call.session.steps.get(self.call.place)
        return row.tries if row is not None else 0

    @property
    def are_used_up(self) -> bool:
        """Whether no further dispatch is allowed; a person's decision allows one more."""
        if self.approval is not None:
            return False
        return self.here >= self.policy.attempts or self.total >= self.most

    def take_as_not_done(self) -> None:
        """A probe has shown that the call was not executed: say that, where its tries end here."""
        if self.error is None:
            return
        proved = NotExecuted(
            f"{self.call.tool.name} got no answer, and its probe found that it did not happen"
        )
        proved.__cause__ = self.error
        self.error, self.failure = proved, classify(proved, is_effect=True)

    def ended(self) -> Ended:
        """The failure that the tries ended with."""
        failure = self.failure
        return Ended(
            False,
            error=self.error,
            failure_class=failure.failure_class if failure else "",
            is_exhausted=bool(failure and failure.is_transient),
            step_id=self.step_id,
            step=self.step,
        )


def _tries_text(call: Call) -> str:
    row = call.session.steps.get(call.place)
    return f"{call.tool.name} was dispatched {row.tries if row else 0} times and never ended"


def _what_the_ledger_says(call: Call, tries: _Tries) -> Op[Ended | ReviewRow | None]:
    """The end of the call where the ledger or a probe knows it, or a question; None when it may be dispatched."""
    effect = call.effect
    if effect is None or tries.approval is not None:
        return None
    if effect.status is EffectStatus.SUCCESS:
        value = call.session.body(effect.result) if effect.result else None
        return Ended(True, value, settled=True, step=tries.step, step_id=tries.step_id)
    if effect.status is not EffectStatus.EXECUTED_UNKNOWN:
        return None
    verdict = call.session.table.decide(facts_of_unknown(call, limit_reached=tries.are_used_up))
    settled = yield from settle(call, verdict)
    why = decision(call, "timeout.no_answer", settled.verdict, verdict.rule_id, looks=settled.looks)
    if settled.verdict == "found":
        changes = {"probe_count": effect.probe_count + settled.looks, "probe_verdict": "found"}
        return Ended(
            True,
            settled.value,
            settled=True,
            step=tries.step,
            step_id=tries.step_id,
            writes=(why,),
            effect_changes=changes,
        )
    if settled.verdict == "undecided":
        if tries.step is not None:
            tries.step.finish(
                StepStatus.UNKNOWN, error=tries.error, effect=effect_fields(effect), tries=tries.total
            )
        return question_about_unknown(call, settled)
    lost = call.session.steps.get(call.place)
    yield from _allow_again(call, settled, why)
    if settled.verdict == "not_found":
        tries.take_as_not_done()
    if tries.step is None and lost is not None:
        status = StepStatus.ERROR if settled.verdict == "not_found" else StepStatus.UNKNOWN
        end_lost(call.session, lost, status, effect=effect_fields(effect))
    return None


def _allow_again(call: Call, settled: Settled, why: Write) -> Op[None]:
    """Record why an effect of unknown outcome may be dispatched once more."""
    if settled.verdict == "not_found":
        moved = move(call, EffectStatus.FAILED, probe_count=settled.looks, probe_verdict="not_found")
        yield from commit("settled", *moved, why, durable=True)
    else:
        yield from commit("settled", why, durable=True)


def _dispatch(call: Call, tries: _Tries) -> Op[Answer | Raised]:
    """Book, then dispatch; a cancelled effect is recorded as unknown before the cancellation goes on."""
    approval, tries.approval = tries.approval, None
    if tries.step is None:
        tries.step = _begin_step(call, tries.total + 1)
        tries.step_id = tries.step.ref.step_id
    row = step_row(
        call, tries.step_id, StepStatus.RUNNING, tries=tries.total + 1, error=None, finished_ms=None
    )
    writes: list[Write] = [
        call.args,
        PutStep(row),
        event("before_tool", call.place, tool=call.tool.name, tries=row.tries),
    ]
    if call.is_effect:
        writes += book(call, approval_id=approval.review_id if approval else None)
    if approval is not None:
        writes += [UseReview(approval.review_id), *settled_by(call.session, approval, call.place)]
        if approval.decision == "edit":
            writes += give_up_others(call, approval.review_id)
    point = f"{'before' if row.tries == 1 else 'retry'}_{call.kind}"
    yield Commit(point, tuple(writes), durable=call.is_effect)
    tries.here += 1
    try:
        answer = yield from dispatch(_request(call, tries))
    except GeneratorExit:
        raise
    except BaseException as error:
        yield from _record_cancelled(call, tries, error)
        raise
    if isinstance(answer, Raised) and isinstance(answer.error, STOPS):
        yield from _record_cancelled(call, tries, answer.error)
        raise answer.error
    return answer


def _begin_step(call: Call, tries: int) -> Any:
    policy = call.tool.policy
    effect = {
        "risk": policy.effect.value,
        "key": call.key,
        "status": "pending",
        "idempotent": policy.idempotent,
    }
    return begin(
        call.session,
        StepKind.TOOL,
        call.tool.name,
        tool_name=call.tool.name,
        call_id=call.call_id,
        input=call.named,
        raw=call.raw,
        effect=effect if call.is_effect else None,
        tries=tries,
        checkpoint="before_tool",
        attributes={"tracekit.place": call.place}
        | policy.declared
        | ({"tracekit.parsed": "lenient"} if call.lenient else {}),
    )


def _request(call: Call, tries: _Tries) -> Dispatch:
    key = call.key if call.is_effect else None
    session, place = call.session, call.place
    named = call.named if tries.here == 1 and tries.is_first_tool else call.booked()

    def late(answer: Answer | Raised) -> None:
        ok = isinstance(answer, Answer)
        text = "" if isinstance(answer, Answer) else safe_text(answer.error)
        try:
            session.commit(Commit("note", (event("late_answer", place, ok=ok, error=text),), durable=False))
        except Exception:
            # The task has moved on to another owner or ended; a late answer changes nothing any more.
            return

    return Dispatch(
        call.tool.invocation(named, key),
        is_async=call.tool.is_async,
        timeout_s=call.tool.policy.timeout_s,
        key=key,
        step=tries.step,
        scope=f"{call.place}:{call.call_no}",
        late=late,
    )


def _record_cancelled(call: Call, tries: _Tries, error: BaseException) -> Op[None]:
    """No answer was seen and none will be: an effect is unknown from here on."""
    if call.is_effect and not call.session.broken:
        text = error_to_json(error)
        yield from commit(
            "after_effect", *move(call, EffectStatus.EXECUTED_UNKNOWN, error=text), durable=True
        )
    status = StepStatus.UNKNOWN if call.is_effect else StepStatus.ERROR
    fields = effect_fields(call.effect) if call.effect is not None else None
    tries.step.finish(status, error=error, effect=fields, tries=tries.total)


def _after_failure(call: Call, tries: _Tries, raised: Raised) -> Op[float | None]:
    """Seconds to wait before the next look at the call, or None when its tries are over."""
    failure = no_answer() if raised.timed_out else classify(raised.error, is_effect=call.is_effect)
    tries.failure, tries.error = failure, raised.error
    unknown = call.is_effect and failure.is_unknown
    if call.is_effect:
        status = EffectStatus.EXECUTED_UNKNOWN if unknown else EffectStatus.FAILED
        moved = move(call, status, error=error_to_json(raised.error))
        yield from commit(
            "after_effect", *moved, event("failed", call.place, why=failure.failure_class), durable=True
        )
    if unknown and facts_of_unknown(call).settle != "key":
        return 0.0  # the ledger is asked next: probe or person
    facts = Facts(
        failure.failure_class,
        call.kind,
        call.tool.policy.risk,
        call.session.work_done(),
        limit_reached=tries.are_used_up,
        critical=call.tool.policy.critical,
    )
    verdict = call.session.table.decide(facts)
    if not failure.is_transient or tries.are_used_up or verdict.action is not Action.RETRY:
        return 0.0 if unknown else None
    wait_s = backoff_s(tries.here, tries.policy, retry_after_s=failure.retry_after_s)
    if not fits(tries.waited_s, wait_s, tries.policy):
        tries.here = tries.policy.attempts
        return 0.0 if unknown else None
    call.session.later(
        decision(call, failure.failure_class, "retry", verdict.rule_id, wait_s=round(wait_s, 3))
    )
    return wait_s
