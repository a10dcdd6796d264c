"""
OpenAI's Agents SDK: its runs, agents, turns, tools, hand-offs and guardrails as steps; its model calls through `openai`.

    from tracekit.integrations import openai_agents
    openai_agents.instrument()

The SDK sends its traces to OpenAI unless told otherwise: `agents.set_tracing_disabled` also ends ours, so use
`agents.set_trace_processors([])` before `instrument()` where nothing may leave the machine.
"""

from __future__ import annotations

from collections import OrderedDict
from contextvars import Token
from typing import Any, NamedTuple

from tracekit import tools
from tracekit.integrations import openai
from tracekit.integrations._patching import client
from tracekit.model import StepKind, StepStatus
from tracekit.recording import semconv
from tracekit.recording.failure import ToldError
from tracekit.recording.foreign_messages import json_value
from tracekit.recording.open_step import Active, OpenStep
from tracekit.recording.recorder import recorder

_MOST_OPEN = 10_000
"""Spans that never end are forgotten beyond this."""
_MODEL_CALLS = ("generation", "response")
"""Recorded where they are sent, with the provider's own bytes."""


class _Open(NamedTuple):
    """A span of the SDK that has begun."""

    step: OpenStep
    block: Active | None
    """Makes the step current; none for a whole run, which may end in another task than it began in."""
    carrying: tools.Carrying | None
    token: Token[tools.Carrying | None] | None


class Processor:
    """A `TracingProcessor` of the SDK; does nothing while `is_on` is False, since the SDK lets none go."""

    def __init__(self) -> None:
        self.is_on = False
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def on_trace_start(self, trace: Any) -> None:
        if self.is_on:
            attributes = {semconv.CONVERSATION: trace.group_id} if getattr(trace, "group_id", None) else None
            step = recorder().begin(StepKind.AGENT, trace.name, attributes=attributes)
            self._keep(trace.trace_id, _Open(step, None, None, None))

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
        self._keep(span.span_id, _Open(step, block, call, token))

    def _keep(self, name_of_span: str, found: _Open) -> None:
        self._open[name_of_span] = found
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)

    def _end(self, name_of_span: str, span: Any) -> None:
        found = self._open.pop(name_of_span, None)
        if found is None:
            return
        step, block, call, token = found
        if token is not None:
            _reset(token)
        if block is not None:
            block.__exit__(None, None, None)
        if call is not None and call.is_taken:
            step.demote()  # the function is a `@tracekit.tool`: its own step is the call
        failed = span is not None and span.error
        step.finish(StepStatus.ERROR if failed else StepStatus.OK, **_told(span))

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


_processor = Processor()
_is_added = False


def instrument() -> None:
    """Record every run from here on, and the model calls of OpenAI's SDK that it makes."""
    global _is_added
    add = client("agents", "openai-agents").add_trace_processor
    openai.instrument()
    _processor.is_on = True
    if not _is_added:
        _is_added = True
        add(_processor)


def uninstrument() -> None:
    """Record no more runs; `openai.uninstrument()` ends the recording of model calls."""
    _processor.is_on = False
