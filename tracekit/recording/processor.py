"""
Spans that others make, as steps of our log: a span processor that any TracerProvider can hold.

Our own spans are passed over. A span that describes a call which an open step above it describes already (two
instrumentations of one client) is folded into that step instead of being counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanKind

from tracekit.model import StepKind, Usage
from tracekit.recording import foreign, semconv
from tracekit.recording import recorder as recording
from tracekit.recording.foreign import ForeignEvent, ForeignSpan
from tracekit.recording.identity import ProcessIdentity
from tracekit.recording.log import StepLog
from tracekit.recording.open_step import CURRENT_STEP, OpenStep
from tracekit.recording.spans import StepRef
from tracekit.recording.step_lines import context_object
from tracekit.recording.values import Values

_ONE_CALL = frozenset({StepKind.MODEL, StepKind.TOOL})
"""Kinds of which two nested spans of one name are one call seen twice."""


class _Open(NamedTuple):
    """A foreign span that has started; ids only."""

    kind: StepKind
    seq: int


class ForeignSpans(SpanProcessor):
    """Writes a `running` line when a foreign span starts and its record when it ends."""

    of_tracekit = True
    """Tells our own recorder that this processor needs nothing from its spans."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._folded: dict[int, OpenStep] = {}
        self._wrappers: set[int] = set()
        self._of_parent: set[int] = set()
        self._who: ProcessIdentity | None = None

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        log = recording.recorder().log
        if log.writer is None:
            return
        if _is_ours(span):
            if self._open:
                self._note_inner(span)
            return
        try:
            self._notice_fork(log)
            self._start(log, span, parent_context)
        except Exception as problem:
            log.trouble(problem)

    def on_end(self, span: ReadableSpan) -> None:
        log = recording.recorder().log
        if log.writer is None or _is_ours(span) or span.context is None:
            return
        try:
            self._notice_fork(log)
            self._end(log, span, span.context.span_id)
        except Exception as problem:
            log.trouble(problem)

    def _note_inner(self, span: Span) -> None:
        """A foreign span directly above our step of the same kind is the same call, seen from further out."""
        above = self._open.get(span.parent.span_id) if span.parent else None
        if above is None or span.parent is None or above.kind not in _ONE_CALL:
            return
        ours = StepKind.MODEL if span.kind is SpanKind.CLIENT else StepKind.TOOL
        if above.kind is ours and (ours is StepKind.MODEL or span.name.startswith("execute_tool ")):
            self._wrappers.add(span.parent.span_id)

    def _notice_fork(self, log: StepLog) -> None:
        """In a forked child, spans that the parent began are the parent's to end."""
        if self._who is not log.who:
            if self._who is not None and self._who.pid != log.who.pid:
                self._of_parent |= self._open.keys() | self._folded.keys()
            self._open, self._folded, self._wrappers = {}, {}, set()
            self._who = log.who

    def _start(self, log: StepLog, span: Span, parent_context: Context | None) -> None:
        seen = as_foreign(span)
        kind = foreign.kind_of(seen)
        context = otel_context.get_current() if parent_context is None else parent_context
        step = context.get(CURRENT_STEP)
        if isinstance(step, OpenStep) and _same_call(step, kind, seen):
            self._folded[span.context.span_id] = step
            log.aliases[seen.span_id] = step.ref
            step.note(**{"tracekit.folded_spans": seen.span_id})
            return
        parent_id = span.parent.span_id if span.parent else None
        if parent_id in self._open and kind in _ONE_CALL and self._open[parent_id].kind is kind:
            self._wrappers.add(parent_id)
        seq = log.step_started(seen.trace_id)
        self._open[span.context.span_id] = _Open(kind, seq)
        fields = foreign.translate(seen)
        foreign.talk_of(fields)
        log.write(lambda values: span_line(fields, seq, log, values))

    def _end(self, log: StepLog, span: ReadableSpan, span_id: int) -> None:
        if span_id in self._of_parent:
            self._of_parent.discard(span_id)
            return
        seen = as_foreign(span)
        fields = foreign.translate(seen)
        step = self._folded.pop(span_id, None)
        if step is not None:
            _teach(step, fields)
            return
        known = self._open.pop(span_id, None)
        seq = known.seq if known else log.step_started(seen.trace_id)
        if span_id in self._wrappers:
            self._wrappers.discard(span_id)
            fields = foreign.demoted(fields)
        sent, _, complete = foreign.talk_of(fields)
        if sent:
            fields["context"] = context_object(log.refer_context(seen.trace_id, sent, complete=complete))
        log.write(lambda values: span_line(fields, seq, log, values))
        log.step_finished(seen.trace_id)


def as_foreign(span: ReadableSpan) -> ForeignSpan:
    """*span* of the SDK as the mapping table reads it."""
    context = span.get_span_context()
    assert context is not None  # the SDK makes no span without one
    scope = span.instrumentation_scope
    return ForeignSpan(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent_span_id=f"{span.parent.span_id:016x}" if span.parent else None,
        name=span.name,
        kind=span.kind.name.lower(),
        start_ns=span.start_time,
        end_ns=span.end_time,
        status_code=span.status.status_code.name,
        status_message=span.status.description,
        attributes=dict(span.attributes or {}),
        events=[ForeignEvent(e.name, e.timestamp, dict(e.attributes or {})) for e in span.events],
        scope=scope.name if scope else None,
        dropped=span.dropped_attributes,
    )


def _is_ours(span: ReadableSpan) -> bool:
    scope = span.instrumentation_scope
    return scope is not None and scope.name == semconv.SCOPE


def _same_call(step: OpenStep, kind: StepKind, seen: ForeignSpan) -> bool:
    """Whether *seen* starts directly below *step* and is the same model or tool call."""
    if kind not in _ONE_CALL or kind is not step.kind or seen.parent_span_id != step.ref.step_id:
        return False
    tool = seen.attributes.get(semconv.TOOL_NAME)
    return kind is StepKind.MODEL or tool is None or tool == step.tool_name


def _teach(step: OpenStep, fields: Mapping[str, Any]) -> None:
    """Give *step* what the folded span knows and our own code may not."""
    usage = fields.get("usage") or {}
    told = {
        "usage": Usage(usage.get("input_tokens"), usage.get("output_tokens"), usage.get("cost"))
        if usage
        else None,
        "model": fields.get("model"),
        "finish_reason": fields.get("finish_reason"),
        "raw": fields.get("model_raw_output") if step.kind is StepKind.MODEL else None,
        "asked": fields.get("asked"),
    }
    step.learn(**{name: value for name, value in told.items() if value is not None})


def span_line(fields: Mapping[str, Any], seq: int, log: StepLog, values: Values) -> dict[str, Any]:
    """A `step` line of translated *fields*; what the span knows of itself has the last word."""
    parent = fields.get("parent_step_id")
    above: StepRef | None = log.aliases.get(parent) if parent else None
    line = {
        "record": "step",
        "seq": seq,
        "attempt": 1,
        "process_id": log.who.process_id,
        "pid": log.who.pid,
        "tries": 1,
        "reinfers": 0,
        **fields,
        "parent_step_id": above.step_id if above else parent,
    }
    if not log.options.capture_input:
        line.pop("input_snapshot", None)
    if not log.options.capture_output:
        line.pop("output_snapshot", None)
        line.pop("model_raw_output", None)
    return {name: value if name in _OURS else values.fragment(value) for name, value in line.items()}


_OURS = frozenset(
    {
        "record",
        "trace_id",
        "step_id",
        "parent_step_id",
        "seq",
        "attempt",
        "process_id",
        "pid",
        "kind",
        "status",
        "tries",
        "reinfers",
        "started_at",
        "finished_at",
        "duration_ms",
    }
)
"""Fields made here or by the mapping from ids and figures: they hold nothing that a walk could find."""
