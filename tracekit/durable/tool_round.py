"""
One round of tool calls that a model asked for: each settled for itself, answered in the order of the calls.

What the model can put right (bad arguments, a refusal) is told to it; what only waiting or a person can put right is
raised, after all calls of the round are settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tracekit.arguments import BadArguments
from tracekit.durable.attempts import STOPS
from tracekit.durable.decide import Action, Facts
from tracekit.durable.errors_stored import error_to_json, safe_text
from tracekit.durable.journal import is_finished
from tracekit.durable.limit_checks import ask_about_limit
from tracekit.durable.reply import tool_message
from tracekit.durable.requests import Op, commit
from tracekit.durable.reviewing import diverged
from tracekit.durable.session import Session, event, now_ms
from tracekit.durable.tool_call import Asked, tool_call
from tracekit.durable.trail import begin
from tracekit.errors import NotStorable, TracekitError
from tracekit.model import StepKind, StepStatus, ToolCall
from tracekit.snapshot import digest, readable, to_log
from tracekit.store.contract import PutStep, UseReview
from tracekit.store.rows import StepRow
from tracekit.tools import Tool, registered


@dataclass(frozen=True, slots=True)
class Settled:
    """How one call of the round ended: a message for the model, or an exception for the agent."""

    call: ToolCall
    place: str
    content: str = ""
    is_error: bool = False
    error: BaseException | None = None


def to_calls(asked: Sequence[Any]) -> list[ToolCall]:
    """Tool calls as our own values; OpenAI-style dicts are understood too."""
    calls = []
    for number, each in enumerate(asked, 1):
        if isinstance(each, ToolCall):
            calls.append(each)
            continue
        body = each if isinstance(each, Mapping) else each.model_dump(mode="json")
        function = body.get("function") or body
        raw = function.get("arguments") or function.get("input") or "{}"
        text = raw if isinstance(raw, str) else orjson.dumps(raw).decode()
        calls.append(ToolCall(str(body.get("id") or f"call_{number}"), str(function.get("name")), text))
    return calls


def settled_call(
    session: Session, place: str, call: ToolCall, tools: Mapping[str, Tool[Any, Any]]
) -> Op[Settled]:
    """Parse, run and read one call; raises only what ends the attempt."""
    tool = (
        tools.get(call.name) or session.tools.get(call.name) or registered(call.name, session.task.function)
    )
    try:
        if tool is None:
            known = ", ".join(sorted({*tools, *session.tools})) or "none"
            text = f"there is no tool {call.name!r}; the tools are: {known}. Nothing was executed."
            raise BadArguments("tool.unknown", text, failure_class="output.unknown_tool")
        parsed = tool.parse(call.arguments_raw, lenient=session.options.lenient)
    except BadArguments as error:
        return (yield from _refused(session, place, call, error))
    asked = Asked(tool, dict(parsed.values), call.arguments_raw, call.call_id, parsed.lenient)
    try:
        value = yield from tool_call(session, place, asked)
    except (*STOPS, NotStorable):
        raise
    except Exception as error:
        return _failed(session, place, call, tool, error)
    session.reinfers[call.name] = 0
    row = session.steps.get(place)
    skipped = row is not None and row.status is StepStatus.SKIPPED
    return Settled(call, place, "This step was skipped." if skipped else as_content(value))


def as_content(value: Any) -> str:
    """A tool's result as the text that a model reads: JSON, in which `Decimal("99.50")` is `"99.50"`."""
    return value if isinstance(value, str) else orjson.dumps(readable(to_log(value))).decode()


def _failed(session: Session, place: str, call: ToolCall, tool: Tool[Any, Any], error: Exception) -> Settled:
    """A message for the model where it can put the failure right, else the exception itself."""
    row = session.steps.get(place)
    failure_class = (row.failure_class if row is not None else None) or "tool.error"
    kind = "read" if tool.policy.risk == "none" else "effect"
    verdict = session.table.decide(Facts(failure_class, kind, tool.policy.risk, session.work_done()))
    if verdict.action is Action.REPROMPT:
        return Settled(call, place, f"Error: {safe_text(error)}", is_error=True)
    return Settled(call, place, error=error)


def _refused(session: Session, place: str, call: ToolCall, error: BadArguments) -> Op[Settled]:
    """Arguments that do not fit: journaled, counted as a second inference, shown to the model."""
    session.check()
    args_digest = digest(call.arguments_raw.encode("utf-8", "surrogatepass"))
    reinfers = session.reinfers.get(call.name, 0) + 1
    session.reinfers[call.name] = reinfers
    row = session.steps.get(place)
    if row is not None and is_finished(row):
        if (row.name, row.args_digest) != (call.name, args_digest):
            recorded = f"{row.kind.value} {row.name} with arguments {row.args_digest}"
            yield from diverged(
                session, place, recorded=recorded, asked=f"tool {call.name} with {args_digest}"
            )
    else:
        yield from _record_refusal(session, place, call, error, args_digest, reinfers)
    if reinfers > session.limits.max_reinfers:
        yield from _limit(
            session, place, "limit.reinfers", f"{call.name} got bad arguments {reinfers} times in a row"
        )
        session.reinfers[call.name] = 0
    return Settled(call, place, f"Error: {safe_text(error)}", is_error=True)


def _record_refusal(
    session: Session, place: str, call: ToolCall, error: BadArguments, args_digest: str, reinfers: int
) -> Op[None]:
    step = begin(
        session, StepKind.TOOL, call.name, tool_name=call.name, call_id=call.call_id, raw=call.arguments_raw,
        reinfers=reinfers, attributes={"tracekit.place": place, "tracekit.failure_class": error.failure_class},
    )  # fmt: skip
    row = StepRow(
        session.task.task_id, place, step.ref.step_id, session.next_ord(), StepKind.TOOL, call.name, StepStatus.ERROR,
        args_digest=args_digest, tries=0, reinfers=reinfers, failure_class=error.failure_class,
        error=error_to_json(error), started_ms=now_ms(), finished_ms=now_ms(),
    )  # fmt: skip
    yield from commit("after_read", PutStep(row), event("refused", place, tool=call.name), durable=False)
    step.finish(StepStatus.ERROR, error=error, reinfers=reinfers)


def stop_loops(session: Session, settled: Settled) -> Op[None]:
    """Stop for review when calls bring nothing new for too long: the same calls with the same results."""
    signature = (settled.call.name, settled.call.arguments_raw, settled.content)
    session.streak = session.streak + 1 if signature in session.seen else 0
    session.seen.add(signature)
    if session.streak >= session.limits.max_repeats:
        text = f"{session.streak} calls in a row, the last {settled.call.name}, repeated calls with results known before"
        yield from _limit(session, settled.place, "orchestration.loop", text)
        session.streak = 0


def _limit(session: Session, place: str, reason: str, text: str) -> Op[None]:
    """Go on where a person has allowed it at this very place, else stop for review."""
    allowed = [
        r for r in session.reviews.values() if (r.place, r.reason, r.decision) == (place, reason, "retry")
    ]
    if not allowed:
        yield from ask_about_limit(session, place, reason, text)
    for review in allowed:
        if review.status == "decided":
            yield from commit("decision_used", UseReview(review.review_id), durable=True)


def messages_of(session: Session, round_: Sequence[Settled]) -> list[dict[str, Any]]:
    """The messages that answer the round, in the order of the calls; raises what no message can say."""
    for each in round_:
        if each.error is not None:
            raise each.error
    style = session.reply_style
    messages = [tool_message(style, each.call, each.content, is_error=each.is_error) for each in round_]
    if style == "anthropic" and messages:
        return [{"role": "user", "content": [block for message in messages for block in message["content"]]}]
    return messages


def tool_table(tools: Sequence[Any] | None) -> dict[str, Tool[Any, Any]]:
    """Tools by name; raises when one is no tool."""
    table = {}
    for each in tools or ():
        if not isinstance(each, Tool):
            raise TracekitError(
                "tool.not_a_tool",
                f"expected functions made by @tracekit.tool, got {each!r}; decorate it so that its effect is known",
            )
        table[each.name] = each
    return table
