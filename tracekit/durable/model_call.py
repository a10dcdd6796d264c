"""
The life of one model call: journal, limits, dispatch, reply, retry; the model is never asked twice for one answer.

What is compared on replay is the context that the agent built, without the notice that a resumed task adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracekit.durable.bodies import blob
from tracekit.durable.context import overflow_context, resume_notice
from tracekit.durable.decide import Action, Facts
from tracekit.durable.errors_stored import error_to_json
from tracekit.durable.journal import finished_result, is_finished, mark_escaped
from tracekit.durable.limit_checks import check_limits, check_tries
from tracekit.durable.manifest import manifest_writes
from tracekit.durable.message_names import NamedMessage
from tracekit.durable.reply import Reply, as_written, to_reply
from tracekit.durable.requests import Answer, Dispatch, Op, Sleep, commit, dispatch
from tracekit.durable.retry import backoff_s, fits
from tracekit.durable.reviewing import diverged
from tracekit.durable.session import Session, event, now_ms
from tracekit.durable.trail import begin
from tracekit.model import StepKind, StepStatus
from tracekit.outcome import classify, no_answer
from tracekit.policy import Retry
from tracekit.recording.contexts import HashedMessages
from tracekit.snapshot import canonical, context_digest, digest
from tracekit.store.contract import AddUsage, AppendDecision, PutStep
from tracekit.store.rows import DecisionRow, StepRow

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """A model call as the agent wants it."""

    name: str
    call: Callable[[list[Message]], Any]
    """Runs the client with these messages."""
    is_async: bool
    messages: tuple[Message, ...]
    parameters: Mapping[str, Any]
    """Everything but the messages, plain: names of the tools, settings."""
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Digests:
    arguments: str
    context: str
    names: tuple[NamedMessage, ...]
    """Of the messages that the agent built; naming them is what a long conversation costs."""


def model_call(session: Session, place: str, asked: ModelAsked) -> Op[Reply]:
    """
    The model's reply: from the journal where it was given, else by asking.

    Raises the client's own exception once retrying is over, `RequiresReview`, `Divergence`.
    """
    session.check()
    names = session.names.name_all(asked.messages)
    context = context_digest(each.message_hash for each in names)
    digests = _Digests(digest(canonical(dict(asked.parameters))), context, names)
    row = session.steps.get(place)
    if row is not None and is_finished(row):
        yield from _compare(session, row, asked, digests)
        return _known(session, finished_result(session, row))
    yield from check_limits(session, place)
    yield from check_tries(session, place, f"model call {asked.name}")
    return (yield from _ask(session, place, asked, digests))


def _known(session: Session, reply: Reply) -> Reply:
    session.reply_style = "anthropic" if isinstance(reply.message.get("content"), list) else "openai"
    return reply


def _compare(session: Session, row: StepRow, asked: ModelAsked, digests: _Digests) -> Op[None]:
    if (row.kind, row.name) != (StepKind.MODEL, asked.name):
        recorded, wanted = f"{row.kind.value} {row.name}", f"model {asked.name}"
    elif row.context_digest != digests.context:
        recorded, wanted = f"context {row.context_digest}", f"context {digests.context}"
    elif row.args_digest != digests.arguments:
        recorded, wanted = (
            f"{row.name} with tools and settings {row.args_digest}",
            f"{asked.name} with others: {digests.arguments}",
        )
    else:
        return
    yield from diverged(session, row.place, recorded=recorded, asked=wanted)


def _ask(session: Session, place: str, asked: ModelAsked, digests: _Digests) -> Op[Reply]:
    messages, complete = list(asked.messages), True
    if not session.noticed:
        session.noticed = True
        messages.append(resume_notice(session))
    if session.options.max_context_tokens is not None:
        messages, complete = yield from overflow_context(session, place, messages, only_if_over=True)
    policy = Retry(attempts=session.limits.max_attempts)
    step, waited_s, rebuilt = None, 0.0, False
    named: Sequence[NamedMessage] = digests.names
    raised: BaseException = TimeoutError()
    for failures in range(1, policy.attempts + 1):
        if step is None:
            named = _named(session, asked, digests, messages)
            sent = HashedMessages.of(messages, tuple(each.message_hash for each in named))
            step = _begin_step(session, place, asked, sent, complete)
        yield from _commit_before(session, place, asked, digests, step, named)
        request = Dispatch(
            _bound(asked, messages), asked.is_async, asked.timeout_s, step=step, scope=f"{place}:model"
        )
        try:
            answer = yield from dispatch(request)
        except GeneratorExit:
            raise
        except BaseException as error:
            step.finish(StepStatus.ERROR, error=error)
            raise
        if isinstance(answer, Answer):
            return (yield from _answered(session, place, answer.value, step))
        raised = answer.error
        failure = no_answer() if answer.timed_out else classify(answer.error, is_effect=False)
        facts = Facts(failure.failure_class, "model", work_done=session.work_done())
        verdict = session.table.decide(facts)
        if verdict.action is Action.REBUILD and not rebuilt:
            rebuilt = True
            messages, complete = yield from overflow_context(session, place, messages)
            _decided(session, place, failure.failure_class, "rebuild", verdict.rule_id)
            step.finish(StepStatus.ERROR, error=answer.error, tries=failures)
            step = None
            continue
        wait_s = backoff_s(failures, policy, retry_after_s=failure.retry_after_s)
        again = failure.is_transient and verdict.action is Action.RETRY and fits(waited_s, wait_s, policy)
        if not again or failures == policy.attempts:
            break
        _decided(session, place, failure.failure_class, "retry", verdict.rule_id)
        waited_s += wait_s
        yield Sleep(wait_s)
    return (yield from _failed(session, place, raised, failure.failure_class, step))


def _bound(asked: ModelAsked, messages: list[Message]) -> Callable[[], Any]:
    return lambda: asked.call([dict(each) for each in messages])


def _begin_step(
    session: Session, place: str, asked: ModelAsked, messages: Sequence[Mapping[str, Any]], complete: bool
) -> Any:
    row = session.steps.get(place)
    return begin(
        session,
        StepKind.MODEL,
        asked.name,
        input=dict(asked.parameters),
        messages=messages,
        context_complete=complete,
        tries=(row.tries if row else 0) + 1,
        checkpoint="before_model",
        attributes={"tracekit.place": place},
    )


def _commit_before(
    session: Session,
    place: str,
    asked: ModelAsked,
    digests: _Digests,
    step: Any,
    named: Sequence[NamedMessage],
) -> Op[None]:
    before = session.steps.get(place)
    manifest, blobs = manifest_writes(session, named)
    row = StepRow(
        session.task.task_id,
        place,
        step.ref.step_id,
        before.ord if before else session.next_ord(),
        StepKind.MODEL,
        asked.name,
        StepStatus.RUNNING,
        args_digest=digests.arguments,
        context_digest=digests.context,
        input=manifest,
        tries=(before.tries if before else 0) + 1,
        started_ms=session.taken_up_ms(before),
    )
    point = "before_model" if row.tries == 1 else "retry_model"
    seen = event("before_model", place, context=digests.context, tries=row.tries)
    yield from commit(point, *blobs, PutStep(row), seen, durable=False)


def _named(
    session: Session, asked: ModelAsked, digests: _Digests, messages: Sequence[Message]
) -> list[NamedMessage]:
    """Names of what is really sent: mostly the agent's messages, then what was added."""
    same = 0
    for mine, sent in zip(asked.messages, messages, strict=False):
        if mine is not sent:
            break
        same += 1
    return [*digests.names[:same], *(session.names.name(each) for each in messages[same:])]


def _answered(session: Session, place: str, value: Any, step: Any) -> Op[Reply]:
    try:
        reply, exact = as_written(to_reply(value), step.asked_on_the_wire)
        body, raw = blob(reply), blob(reply.raw_text)
    except Exception as error:
        step.finish(StepStatus.ERROR, error=error)
        mark_escaped(session, error, place)
        raise
    if not exact and not isinstance(value, Reply):
        step.note(**{"tracekit.arguments_rewritten": True})
    tokens = (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
    row = replace(
        session.steps[place],
        status=StepStatus.OK,
        result=body.hash,
        raw=raw.hash,
        tokens=tokens,
        cost=reply.usage.cost or 0.0,
        finished_ms=now_ms(),
        error=None,
    )
    used = AddUsage(tokens, reply.usage.cost or 0.0)
    done = event("step_complete", place, status="ok", tokens=tokens)
    yield from commit("after_model", body, raw, PutStep(row), used, done, durable=False)
    asked = [
        {"call_id": each.call_id, "name": each.name, "arguments": each.arguments_raw}
        for each in reply.tool_calls
    ]
    step.finish(
        StepStatus.OK,
        output=reply.message,
        raw=reply.raw_text,
        usage=reply.usage,
        model=reply.model,
        finish_reason=reply.finish_reason,
        asked=asked,
        tries=row.tries,
        checkpoint="step_complete",
    )
    return _known(session, reply)


def _failed(session: Session, place: str, error: BaseException, failure_class: str, step: Any) -> Op[Reply]:
    row = replace(
        session.steps[place],
        status=StepStatus.ERROR,
        error=error_to_json(error),
        failure_class=failure_class,
        finished_ms=now_ms(),
    )
    yield from commit(
        "after_model", PutStep(row), event("step_complete", place, status="error"), durable=False
    )
    step.finish(StepStatus.ERROR, error=error, tries=row.tries, checkpoint="step_complete")
    mark_escaped(session, error, place)
    raise error


def _decided(session: Session, place: str, failure_class: str, action: str, rule_id: str) -> None:
    task_id, share = session.task.task_id, session.work_done()
    row = DecisionRow(task_id, place, failure_class, "none", share, action, rule_id, ts_ms=now_ms())
    session.later(AppendDecision(row))
