"""
OpenAI's Agents SDK: its runs, agents, turns, tools, hand-offs and guardrails as steps; its model calls through `openai`.

    from tracekit.integrations import openai_agents
    openai_agents.instrument()

The SDK sends its traces to OpenAI unless told otherwise: `agents.set_tracing_disabled` also ends ours, so use
`agents.set_trace_processors([])` before `instrument()` where nothing may leave the machine.
"""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextvars import Token
from dataclasses import dataclass
from typing import Any

from tracekit import tools
from tracekit.integrations import openai
from tracekit.integrations._patching import Patches, client
from tracekit.model import StepKind
from tracekit.recording import semconv
from tracekit.recording.ending import finish_with
from tracekit.recording.failure import ToldError
from tracekit.recording.foreign_messages import json_value
from tracekit.recording.open_step import Active, OpenStep
from tracekit.recording.recorder import recorder

_MOST_OPEN = 10_000
"""Spans that never end are forgotten beyond this."""
_MODEL_CALLS = ("generation", "response")
"""Recorded where they are sent, with the provider's own bytes."""


@dataclass(slots=True)
class _Open:
    """A span of the SDK that has begun."""

    step: OpenStep
    handled: BaseException | None
    """What the agent was handling already when the span began: not the span's own."""
    block: Active | None = None
    """Makes the step current; none for a whole run, which may end in another task than it began in."""
    call: tools.Carrying | None = None
    token: Token[tools.Carrying | None] | None = None
    raised: BaseException | None = None
    """What the SDK caught when it told of an error: its own words leave out what was raised."""

    def in_flight(self) -> BaseException | None:
        """The exception that is on its way through the span's block just now."""
        found = sys.exc_info()[1]
        return None if found is self.handled else found


class Processor:
    """A `TracingProcessor` of the SDK; does nothing while `is_on` is False, since the SDK lets none go."""

    def __init__(self) -> None:
        self.is_on = False
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def on_trace_start(self, trace: Any) -> None:
        if self.is_on:
            attributes = {semconv.CONVERSATION: trace.group_id} if getattr(trace, "group_id", None) else None
            step = recorder().begin(StepKind.AGENT, trace.name, attributes=attributes)
            self._keep(trace.trace_id, _Open(step, sys.exc_info()[1]))

    def on_trace_end(self, trace: Any) -> None:
        self._end(trace.trace_id, None)

    def on_span_start(self, span: Any) -> None:
        data = span.span_data
        if not self.is_on or data.type in _MODEL_CALLS:
            return
        match data.type:
            case "agent":
                self._begin(span, StepKind.AGENT, data.name, agent=data.name)
            case "function":
                call = tools.Carrying(None)
                self._begin(span, StepKind.TOOL, data.name, call=call, tool_name=data.name)
            case _:
                self._begin(span, StepKind.STEP, _name(data))

    def on_span_end(self, span: Any) -> None:
        self._end(span.span_id, span)

    def _begin(
        self,
        span: Any,
        kind: StepKind,
        name: str,
        *,
        call: tools.Carrying | None = None,
        **known: Any,
    ) -> None:
        above = self._open.get(span.parent_id or "") or self._open.get(span.trace_id)
        if above is not None:
            known["parent"] = above.step
        step = recorder().begin(kind, name, **known)
        block = step.active()
        block.__enter__()
        token = tools.carrying.set(call) if call else None
        self._keep(span.span_id, _Open(step, sys.exc_info()[1], block, call, token))

    def _keep(self, name_of_span: str, found: _Open) -> None:
        self._open[name_of_span] = found
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)

    def _end(self, name_of_span: str, span: Any) -> None:
        found = self._open.pop(name_of_span, None)
        if found is None:
            return
        if found.token is not None:
            _reset(found.token)
        if found.block is not None:
            found.block.__exit__(None, None, None)
        if found.call is not None and found.call.is_taken:
            found.step.demote()  # the function is a `@tracekit.tool`: its own step is the call
        told = _told(span)
        told_error = told.pop("error", None)
        finish_with(found.step, found.raised or found.in_flight() or told_error, **told)

    def failed(self, span: Any) -> None:
        """The SDK tells that *span* failed: what it caught is kept."""
        found = self._open.get(span.span_id)
        if found is not None:
            found.raised = found.in_flight()

    def carries_out(self, span: Any, call_id: str) -> None:
        """*span* is the call *call_id* of the model; the SDK says so only after the span has begun."""
        found = self._open.get(span.span_id)
        if found is not None and found.call is not None and found.call.call_id is None:
            found.call.call_id = call_id
            found.step.is_call(call_id)

    def shutdown(self) -> None:
        """Nothing is held back."""

    def force_flush(self) -> None:
        """Nothing is held back."""


def _reset(token: Token[tools.Carrying | None]) -> None:
    try:
        tools.carrying.reset(token)
    except ValueError:
        tools.carrying.set(None)  # the span ends in another task than it began in


def _name(data: Any) -> str:
    match data.type:
        case "task":
            return "run"  # it has the name of the whole workflow once more
        case "turn":
            return f"turn {data.turn}"
        case "handoff":
            return f"handoff to {data.to_agent}" if data.to_agent else "handoff"
    return str(getattr(data, "name", None) or data.type)


def _told(span: Any) -> dict[str, Any]:
    """What the span knows at its end only."""
    if span is None:
        return {}
    data = span.span_data
    told: dict[str, Any] = {}
    if span.error:
        detail = span.error.get("data") or {}
        text = f"{span.error['message']}: {detail['error']}" if detail.get("error") else span.error["message"]
        told["error"] = ToldError("agents.error", text)
    match data.type:
        case "function":
            if data.input is not None:
                told |= {"input": json_value(data.input), "raw": data.input}
            told["output"] = data.output
        case "handoff":
            told["attributes"] = {"from_agent": data.from_agent or "", "to_agent": data.to_agent or ""}
        case "guardrail":
            told["attributes"] = {"triggered": data.triggered}
        case "custom":
            told["output"] = data.data
    return told


def _noting_errors(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def set_error(self: Any, error: Any) -> None:
        original(self, error)
        _processor.failed(self)

    return set_error


def _noting_calls(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        span = client("agents", "openai-agents").get_current_span()
        if span is not None:
            _processor.carries_out(span, self.tool_call_id)

    return __init__


_processor = Processor()
_is_added = False
_patches = Patches()


def instrument() -> None:
    """Record every run from here on, and the model calls of OpenAI's SDK that it makes."""
    global _is_added
    add = client("agents", "openai-agents").add_trace_processor
    openai.instrument()
    _processor.is_on = True
    if not _patches:
        _patches.wrap(client("agents.tracing.spans", "openai-agents").SpanImpl, "set_error", _noting_errors)
        _patches.wrap(client("agents.tool_context", "openai-agents").ToolContext, "__init__", _noting_calls)
    if not _is_added:
        _is_added = True
        add(_processor)


def uninstrument() -> None:
    """Record no more runs; `openai.uninstrument()` ends the recording of model calls."""
    _processor.is_on = False
    _patches.undo()
