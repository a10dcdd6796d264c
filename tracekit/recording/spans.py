"""Our steps as OpenTelemetry spans: who is the parent, which ids, what is current."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, TraceFlags

from tracekit import clock
from tracekit.recording import semconv

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class StepRef(NamedTuple):
    """Names a step in any process."""

    trace_id: str
    """32 hexadecimal digits."""
    step_id: str
    """16 hexadecimal digits."""


class _Pinned(threading.local):
    trace_id: int | None = None
    step_id: int | None = None


class PinnedIds(IdGenerator):
    """Ids for our tracer: a trace id that was asked for, else what the provider's own generator would give."""

    def __init__(self, inner: IdGenerator) -> None:
        self._inner = inner
        self._replaceable = type(inner) is RandomIdGenerator
        self._pinned = _Pinned()

    def pin(self, trace_id: str | None, step_id: str | None) -> None:
        """The next span of this thread gets these ids, as far as they are given."""
        self._pinned.trace_id = int(trace_id, 16) if trace_id else None
        self._pinned.step_id = int(step_id, 16) if step_id else None

    def generate_span_id(self) -> int:
        if self._pinned.step_id is not None:
            return self._pinned.step_id
        if self._from_clock():
            return int(clock.current().random_hex(16), 16) or 1
        return self._inner.generate_span_id()

    def generate_trace_id(self) -> int:
        if self._pinned.trace_id is not None:
            return self._pinned.trace_id
        if self._from_clock():
            return int(clock.current().random_hex(32), 16) or 1
        return self._inner.generate_trace_id()

    def _from_clock(self) -> bool:
        """Whether ids come from a clock that a test put in place."""
        return self._replaceable and type(clock.current()) is not clock.SystemClock

    def is_trace_id_random(self) -> bool:
        return self._pinned.trace_id is None and self._inner.is_trace_id_random()


class Spans:
    """Starts spans on one tracer; works with any provider, also with one that does nothing."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer
        self._ids: PinnedIds | None = None
        self._processors: object = None
        self._is_read = True
        if isinstance(tracer, SdkTracer):
            # our own tracer only: other libraries' tracers of the same provider keep theirs
            found = tracer.id_generator
            self._ids = found if isinstance(found, PinnedIds) else PinnedIds(found)
            tracer.id_generator = self._ids

    def are_read(self) -> bool:
        """
        Whether anybody but us gets the spans; if not, attributes would cost 10 us a step for nobody.

        A provider of a kind that does not show its processors counts as read.
        """
        processors = getattr(getattr(self._tracer, "span_processor", None), "_span_processors", None)
        if processors is not self._processors or processors is None:
            self._processors = processors
            self._is_read = processors is None or not all(
                getattr(p, "of_tracekit", False) for p in processors
            )
        return self._is_read

    def start(
        self,
        name: str,
        kind: SpanKind,
        parent: StepRef | None,
        *,
        context: Context | None,
        trace_id: str | None,
        step_id: str | None,
        attributes: Mapping[str, Any] | None,
        links: tuple[StepRef, ...],
        start_ns: int,
    ) -> tuple[Span, StepRef]:
        """A span and its name, in *context* if given; where the provider makes no span of its own, one that only carries ids."""
        parent_context = context or (_remote(parent) if parent else Context())
        ids = self._ids if trace_id or step_id else None
        if ids:
            ids.pin(trace_id if parent is None else None, step_id)
        try:
            span = self._tracer.start_span(
                name,
                parent_context,
                kind,
                attributes=attributes,
                links=[trace.Link(span_context(link)) for link in links] if links else None,
                start_time=start_ns,
                record_exception=False,
                set_status_on_exception=False,
            )
        finally:
            if ids:
                ids.pin(None, None)
        return _with_own_ids(span, parent, trace_id, step_id)


def span_context(ref: StepRef, *, is_remote: bool = True) -> SpanContext:
    """*ref* as OpenTelemetry names it."""
    return SpanContext(int(ref.trace_id, 16), int(ref.step_id, 16), is_remote=is_remote, trace_flags=_SAMPLED)


def ref_of(span: Span) -> StepRef | None:
    """The name of *span*, or None if it has no valid ids."""
    found = span.get_span_context()
    if not found.is_valid:
        return None
    return StepRef(f"{found.trace_id:032x}", f"{found.span_id:016x}")


def _remote(ref: StepRef) -> Context:
    return trace.set_span_in_context(NonRecordingSpan(span_context(ref)), Context())


def _with_own_ids(
    span: Span, parent: StepRef | None, trace_id: str | None, step_id: str | None
) -> tuple[Span, StepRef]:
    """A tracer that is switched off hands out its parent again: then the step gets ids of its own."""
    wanted = parent.trace_id if parent else trace_id
    found = span.get_span_context()
    made_trace, made_step = f"{found.trace_id:032x}", f"{found.span_id:016x}"
    is_new = found.is_valid and not (parent and made_step == parent.step_id)
    if is_new and wanted in (None, made_trace) and step_id in (None, made_step):
        return span, StepRef(made_trace, made_step)
    now = clock.current()
    ref = StepRef(wanted or now.random_hex(32), step_id or now.random_hex(16))
    return NonRecordingSpan(span_context(ref, is_remote=False)), ref


def attach(context: Context) -> object:
    """Make *context* the current one; the token goes to `detach`."""
    return otel_context.attach(context)


def detach(token: object) -> bool:
    """
    Undo `attach`; False if this is another task or thread than the one that attached.

    A generator that is closed elsewhere does that. OpenTelemetry's own `detach` writes an error into the log of the
    application each time, so the runtime context is asked directly.
    """
    try:
        otel_context._RUNTIME_CONTEXT.detach(token)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


def scope_tracer(provider: trace.TracerProvider | None = None) -> trace.Tracer:
    """Our tracer of *provider*, or of the global one."""
    from tracekit import __version__

    return trace.get_tracer(semconv.SCOPE, __version__, provider)
