"""One open step: its span, its start line, its end line. Holds ids, never what went in or came out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import orjson
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span

from tracekit import clock
from tracekit.model import StepKind, StepStatus, ToolCall, Usage
from tracekit.recording import semconv, wire
from tracekit.recording.log import StepLog
from tracekit.recording.spans import StepRef, attach, detach
from tracekit.recording.step_lines import NOT_GIVEN, StepEnd, StepStart, end_line, fixed_fields, start_line

_STATUSES = {status.value: status for status in StepStatus}
_NOTHING_SAID = StepEnd(StepStatus.OK)
CURRENT_STEP = otel_context.create_key("tracekit-step")


class Active:
    """The block of `OpenStep.active`."""

    __slots__ = ("_step", "_token")

    def __init__(self, step: OpenStep) -> None:
        self._step = step
        self._token: Any = None

    def __enter__(self) -> OpenStep:
        context = trace.set_span_in_context(self._step.span)
        self._token = attach(otel_context.set_value(CURRENT_STEP, self._step, context))
        return self._step

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if not detach(self._token):
            self._step.left_elsewhere = True


class OpenStep:
    """A step that has started; `finish` ends it once, further calls do nothing."""

    __slots__ = (
        "__weakref__",
        "_attributes",
        "_exact",
        "_finished",
        "_fixed",
        "_is_read",
        "_log",
        "_more",
        "_pid",
        "_said",
        "_shown",
        "_started_s",
        "kind",
        "left_elsewhere",
        "parent",
        "ref",
        "span",
        "tool_name",
    )

    def __init__(
        self, log: StepLog, span: Span, ref: StepRef, parent: StepRef | None, *, is_read: bool = False
    ) -> None:
        self._log = log
        self._pid = log.who.pid
        self._is_read = is_read
        self._finished = False
        self._fixed: Mapping[str, Any] | None = None
        self._attributes: Mapping[str, Any] | None = None
        self._shown: orjson.Fragment | None = None
        self._said = _NOTHING_SAID
        self._exact: Mapping[str, Any] | None = None
        self._more: Mapping[str, Any] = {}
        self._started_s = 0.0
        self.span = span
        self.ref = ref
        self.parent = parent
        """The step above, in this process or another; None for a root."""
        self.kind: StepKind | None = None
        """What the step is; None for one whose start could not be recorded."""
        self.tool_name: str | None = None
        self.left_elsewhere = False
        """Its block ended in another task or thread than it began in: it must not be taken for current."""

    def start(
        self, start: StepStart, shown: orjson.Fragment | None, started_ns: int, seq: int | None
    ) -> None:
        """
        Write the `running` line and tell the span what has its place there.

        Args:
            start: Names and attributes safe to show.
            shown: The attributes as they stand in a line.
            seq: The step's number, where the trace was known before the span; the span was told it then.
        """
        log, ref = self._log, self.ref
        self._started_s = clock.current().monotonic_s()
        self.kind = start.kind
        self.tool_name = start.tool_name or start.name
        if seq is None:
            seq = log.step_started(ref.trace_id)
            self._more = {semconv.SEQ: seq}
        self._said = StepEnd(
            StepStatus.OK,
            model=start.model,
            effect=start.effect,
            checkpoint=start.checkpoint,
            tries=start.tries,
            reinfers=start.reinfers,
        )
        self._attributes = start.attributes
        self._shown = shown
        context = None
        if start.messages is not None:
            context = log.refer_context(ref.trace_id, start.messages, complete=start.context_complete)
        if self._is_read:
            wire.on_start(self.span, start, context, log)
        if log.writer is None:
            return
        started_at = clock.rfc3339(started_ns)
        self._fixed = fixed = fixed_fields(ref, self.parent, seq, started_at, start, log.who, log.quick)
        log.write(lambda values: start_line(fixed, start, shown, context, log.options, values))

    def note(self, **attributes: Any) -> None:
        """Add attributes that the end line and the span will show; a finished step stays as it is."""
        if self._finished:
            return
        safe, _ = self._log.values.safe_attributes(attributes)
        self._more = {**self._more, **safe}
        self._attributes = {**(self._attributes or {}), **safe}
        self._shown = None

    def active(self) -> Active:
        """A block in which the step is the parent of what happens, also across `await`."""
        return Active(self)

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
        input: Any = NOT_GIVEN,
    ) -> None:
        """
        End the step once: the end line and the end of the span; never raises.

        *input* is for a step whose start did not know yet what it received.
        """
        if self._finished or self._pid != os.getpid():
            return  # a forked child leaves the steps of its parent to the parent
        try:
            said = self._said
            if attributes:
                self.note(**attributes)
            self._finished = True
            end = StepEnd(
                _STATUSES[status],
                output,
                raw if raw is not None else said.raw,
                error,
                usage or said.usage,
                model or said.model,
                finish_reason or said.finish_reason,
                asked if asked is not None else said.asked,
                effect if effect is not None else said.effect,
                checkpoint or said.checkpoint,
                tries or said.tries,
                said.reinfers if reinfers is None else reinfers,
                input=input,
            )
            if self._exact:
                end = end._replace(**self._exact)
            self._finish(end)
        except Exception as problem:
            self._finished = True
            self._log.trouble(problem)

    def learn(self, **fields: Any) -> None:
        """Take over what another instrumentation told of the same call; `finish` has the last word."""
        if not self._finished:
            self._said = self._said._replace(**fields)

    def exact(self, **fields: Any) -> None:
        """Take over what was seen on the wire (fields of `StepEnd`): it has the last word, also over `finish`."""
        self._exact = {**(self._exact or {}), **fields}

    @property
    def asked_on_the_wire(self) -> Sequence[Mapping[str, Any]]:
        """The calls that an answer asked for with their exact text (`StepEnd.asked`), where an integration saw it on the wire."""
        return (self._exact or {}).get("asked") or ()

    def demote(self) -> None:
        """Make a tool step a plain one: the tool itself recorded the call, and it counts once."""
        if self._finished:
            return
        if self._fixed is not None:
            self._fixed = {**self._fixed, "kind": StepKind.STEP.value}
        self.span.set_attribute(semconv.KIND, StepKind.STEP.value)

    def is_call(self, call_id: str) -> None:
        """Tell which call of the model the step is, where that was not known when it began."""
        if self._finished:
            return
        safe = self._log.values.safe_name(call_id)
        if self._fixed is not None:
            self._fixed = {**self._fixed, "call_id": self._log.quick.fragment(safe)}
        self.span.set_attribute(semconv.TOOL_CALL_ID, safe)

    def _finish(self, end: StepEnd) -> None:
        log, fixed = self._log, self._fixed
        if self.kind is None:
            return  # its start could not be recorded
        ended_ns = clock.now_ns()
        duration_ms = round((clock.current().monotonic_s() - self._started_s) * 1e3, 6)
        if fixed is not None:
            times = {"finished_at": clock.rfc3339(ended_ns), "duration_ms": duration_ms}
            shown = self._shown
            if shown is None and self._attributes:
                shown = log.values.fragment(self._attributes)
            log.write(lambda values: end_line(fixed, end, shown, log.options, values) | times)
        log.step_finished(self.ref.trace_id)
        if self._is_read:
            wire.on_end(self.span, self.kind, end, self._more, log)
        self.span.end(ended_ns)
