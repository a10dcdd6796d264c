"""One open step: its span, its start line, its end line. Holds ids, never what went in or came out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import orjson
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span

from tracekit import clock
from tracekit.model import StepKind, StepStatus, ToolCall, Usage
from tracekit.recording import wire
from tracekit.recording.failure import error_fields
from tracekit.recording.log import StepLog, context_object
from tracekit.recording.spans import StepRef, attach, detach

CURRENT_STEP = otel_context.create_key("tracekit-step")
NOT_GIVEN: Final[Any] = ...
"""Stands for an input or output that was not told; None is a value."""


class StepStart(NamedTuple):
    """What is known of a step when it starts; see docs/log-format.md for the fields."""

    kind: StepKind
    name: str
    task_id: str | None = None
    attempt: int = 1
    tool_name: str | None = None
    call_id: str | None = None
    input: Any = NOT_GIVEN
    raw: str | None = None
    messages: Sequence[Mapping[str, Any]] | None = None
    context_complete: bool = True
    depends_on: tuple[str, ...] = ()
    effect: Mapping[str, Any] | None = None
    tries: int = 1
    reinfers: int = 0
    checkpoint: str | None = None
    agent: str | None = None
    model: str | None = None
    attributes: Mapping[str, Any] | None = None


class StepEnd(NamedTuple):
    """What is known of a step when it ends; None leaves what the start said."""

    status: StepStatus
    output: Any = NOT_GIVEN
    raw: str | None = None
    error: BaseException | None = None
    usage: Usage | Mapping[str, Any] | None = None
    model: str | None = None
    finish_reason: str | None = None
    asked: Sequence[ToolCall | Mapping[str, Any]] | None = None
    effect: Mapping[str, Any] | None = None
    checkpoint: str | None = None
    tries: int | None = None
    reinfers: int | None = None
    attributes: Mapping[str, Any] | None = None


_MAY_CHANGE = ("tries", "reinfers", "model", "effect", "checkpoint")


class OpenStep:
    """A step that has started; `finish` ends it once, further calls do nothing."""

    __slots__ = (
        "__weakref__",
        "_attributes",
        "_changing",
        "_finished",
        "_fixed",
        "_log",
        "_pid",
        "_seq",
        "_started_s",
        "kind",
        "left_elsewhere",
        "name",
        "parent",
        "ref",
        "span",
    )

    def __init__(
        self, log: StepLog, span: Span, ref: StepRef, parent: StepRef | None, start: StepStart
    ) -> None:
        self._log = log
        self._pid = log.who.pid
        self._finished = False
        self.span = span
        self.ref = ref
        self.parent = parent
        """The step above, in this process or another; None for a root."""
        self.kind = start.kind
        self.name = start.name
        self.left_elsewhere = False
        """Its block ended in another task or thread than it began in: it must not be taken for current."""
        self._seq = 0
        self._started_s = 0.0
        self._fixed: dict[str, Any] = {}
        self._changing: dict[str, Any] = {}
        self._attributes: orjson.Fragment | None = None

    def start(self, start: StepStart, started_ns: int) -> None:
        """Write the `running` line and tell the span what has its place there."""
        log = self._log
        self._seq = seq = log.step_started(self.ref.trace_id)
        self._started_s = clock.current().monotonic_s()
        self._fixed = _fixed_fields(self, start, seq, clock.rfc3339(started_ns), log)
        self._changing = {
            "tries": start.tries,
            "reinfers": start.reinfers,
            "model": start.model,
            "effect": start.effect,
            "checkpoint": start.checkpoint,
            "attributes": dict(start.attributes or {}),
        }
        context = None
        if start.messages is not None:
            context = log.refer_context(self.ref.trace_id, start.messages, complete=start.context_complete)
        if self.span.is_recording():
            wire.on_start(self.span, start, context, log)
        if log.writer is None:
            return
        line = {**self._fixed, "status": "running", **self._changing_fields()}
        if start.input is not NOT_GIVEN and log.options.capture_input:
            line["input_snapshot"] = log.values.fragment(start.input)
        if start.raw is not None and log.options.capture_input:
            line["model_raw_output"] = log.values.text(start.raw)
        if context is not None:
            line["context"] = context_object(context)
        log.write(line)

    def note(self, **attributes: Any) -> None:
        """Add attributes that the end line and the span will show; a finished step stays as it is."""
        if not self._finished and self._changing:
            self._merge(attributes)

    @contextmanager
    def active(self) -> Iterator[OpenStep]:
        """Make the step the parent of what happens in the block, also across `await`."""
        here = otel_context.get_current()
        token = attach(otel_context.set_value(CURRENT_STEP, self, trace.set_span_in_context(self.span, here)))
        try:
            yield self
        finally:
            if not detach(token):
                self.left_elsewhere = True

    def finish(
        self,
        status: StepStatus | str = StepStatus.OK,
        *,
        output: Any = NOT_GIVEN,
        raw: str | None = None,
        error: BaseException | None = None,
        usage: Usage | Mapping[str, Any] | None = None,
        model: str | None = None,
        finish_reason: str | None = None,
        asked: Sequence[ToolCall | Mapping[str, Any]] | None = None,
        effect: Mapping[str, Any] | None = None,
        checkpoint: str | None = None,
        tries: int | None = None,
        reinfers: int | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """End the step once: the end line and the end of the span; never raises."""
        if self._finished or self._pid != os.getpid():
            return  # a forked child leaves the steps of its parent to the parent
        self._finished = True
        try:
            self._finish(
                StepEnd(
                    StepStatus(status),
                    output,
                    raw,
                    error,
                    usage,
                    model,
                    finish_reason,
                    asked,
                    effect,
                    checkpoint,
                    tries,
                    reinfers,
                    attributes,
                )
            )
        except Exception as problem:
            self._log.trouble(problem)

    def _finish(self, end: StepEnd) -> None:
        log = self._log
        ended_ns = clock.now_ns()
        for name in _MAY_CHANGE:
            if (given := getattr(end, name)) is not None:
                self._changing[name] = given
        if end.attributes:
            self._merge(end.attributes)
        failed = error_fields(end.error, log) if end.error is not None else {}
        if log.writer is not None:
            line = {**self._fixed, "status": end.status.value, **self._changing_fields(), **failed}
            line |= _end_fields(end, log)
            line["finished_at"] = clock.rfc3339(ended_ns)
            line["duration_ms"] = round((clock.current().monotonic_s() - self._started_s) * 1e3, 6)
            log.write(line)
        log.step_finished(self.ref.trace_id)
        if self.span.is_recording():
            wire.on_end(self.span, self._seq, end, self._changing, failed, log)
        self.span.end(ended_ns)

    def _merge(self, attributes: Mapping[str, Any]) -> None:
        self._changing["attributes"] = {**self._changing["attributes"], **attributes}
        self._attributes = None

    def _changing_fields(self) -> dict[str, Any]:
        values = self._log.values
        now = self._changing
        line: dict[str, Any] = {"tries": now["tries"], "reinfers": now["reinfers"]}
        for name in ("model", "checkpoint"):
            if now[name] is not None:
                line[name] = now[name]
        if now["effect"] is not None:
            line["effect"] = values.fragment(now["effect"])
        if now["attributes"]:
            if self._attributes is None:
                self._attributes = values.fragment(now["attributes"])
            line["attributes"] = self._attributes
        return line


def _fixed_fields(
    step: OpenStep, start: StepStart, seq: int, started_at: str, log: StepLog
) -> dict[str, Any]:
    """What start line and end line say alike; fields that are not known are left out."""
    line: dict[str, Any] = {
        "record": "step",
        "trace_id": step.ref.trace_id,
        "step_id": step.ref.step_id,
        "parent_step_id": step.parent.step_id if step.parent else None,
        "seq": seq,
        "attempt": start.attempt,
        "process_id": log.who.process_id,
        "pid": log.who.pid,
        "kind": start.kind.value,
        "name": log.values.label(start.name),
        "started_at": started_at,
    }
    for name in ("task_id", "tool_name", "agent"):
        if (value := getattr(start, name)) is not None:
            line[name] = log.values.label(value)
    if start.call_id is not None:
        line["call_id"] = log.values.text(start.call_id)
    if start.depends_on:
        line["depends_on"] = list(start.depends_on)
    return line


def _end_fields(end: StepEnd, log: StepLog) -> dict[str, Any]:
    """What only the end knows."""
    line: dict[str, Any] = {}
    values, capture = log.values, log.options.capture_output
    if end.output is not NOT_GIVEN and capture:
        line["output_snapshot"] = values.fragment(end.output)
    if end.raw is not None and capture:
        line["model_raw_output"] = values.text(end.raw)
    if end.finish_reason is not None:
        line["finish_reason"] = values.text(end.finish_reason)
    if end.asked is not None:
        line["asked"] = values.fragment([_asked(call, capture=capture) for call in end.asked])
    if (usage := usage_fields(end.usage)) is not None:
        line["usage"] = values.fragment(usage)
    return line


def _asked(call: ToolCall | Mapping[str, Any], *, capture: bool) -> dict[str, Any]:
    if isinstance(call, ToolCall):
        call = {"call_id": call.call_id, "name": call.name, "arguments": call.arguments_raw}
    return {"call_id": call.get("call_id"), "name": call.get("name")} | (
        {"arguments": call.get("arguments")} if capture else {}
    )


def usage_fields(usage: Usage | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """`input_tokens`, `output_tokens`, `cost` as far as they are known; None when nothing is."""
    if usage is None:
        return None
    if isinstance(usage, Usage):
        known = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost": usage.cost}
    else:
        known = dict(usage)
    return {name: value for name, value in known.items() if value is not None}
