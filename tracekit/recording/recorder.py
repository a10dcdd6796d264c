"""
Open a step, work, finish it: `recorder().begin(...)`, `step.active()`, `step.finish(...)`.

Every step is an OpenTelemetry span and two lines of the log. Nothing here raises into the agent: a failure of
recording is counted and told once, and that step is then not recorded.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN

from tracekit import clock
from tracekit.config import Settings, settings
from tracekit.errors import TracekitError
from tracekit.model import StepKind, StepStatus
from tracekit.recording import semconv, wire
from tracekit.recording.log import StepLog
from tracekit.recording.open_step import CURRENT_STEP, OpenStep
from tracekit.recording.spans import Spans, StepRef, ref_of, scope_tracer
from tracekit.recording.step_lines import NOT_GIVEN, StepStart, lost_line, with_safe_names
from tracekit.redaction import Redactor


class _Inherit:
    """Type of `INHERIT`."""

    def __repr__(self) -> str:
        return "INHERIT"


INHERIT: Final = _Inherit()
"""Default of `parent`: whatever span is current."""


class Recorder:
    """Begins steps; one for the process, see `recorder`."""

    def __init__(self, log: StepLog, spans: Spans) -> None:
        self.log = log
        self.spans = spans

    def begin(
        self,
        kind: StepKind | str,
        name: str,
        *,
        trace_id: str | None = None,
        step_id: str | None = None,
        parent: StepRef | OpenStep | _Inherit | None = INHERIT,
        link: StepRef | Sequence[StepRef] | None = None,
        task_id: str | None = None,
        attempt: int = 1,
        tool_name: str | None = None,
        call_id: str | None = None,
        input: Any = NOT_GIVEN,
        raw: str | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
        context_complete: bool = True,
        depends_on: Sequence[str] = (),
        effect: Mapping[str, Any] | None = None,
        tries: int = 1,
        reinfers: int = 0,
        checkpoint: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> OpenStep:
        """
        Start a step: its span and its `running` line; never raises.

        Args:
            trace_id: Trace of a root step; with *parent* inherited, the current step counts only if it is of this trace.
            step_id: Id that the step has to have, for one that was named before it began.
            parent: The step above, of any process; None for a root.
            input: What the step really received; left out when there is nothing to tell.
            raw: On a tool step, the exact argument text that the model asked with.
            messages: The exact messages that a model call is sent.
            depends_on: Step ids whose outputs this step needs.
            tries: Which dispatch of this very call it is; *attempt* is which go at the whole task.
        """
        start = StepStart(
            _kind(kind), name, task_id, attempt, tool_name, call_id, input, raw, messages, context_complete,
            tuple(depends_on), effect, tries, reinfers, checkpoint, agent, model, attributes,
        )  # fmt: skip
        links = () if link is None else (link,) if isinstance(link, StepRef) else tuple(link)
        try:
            return self._begin(start, trace_id, step_id, parent, links)
        except Exception as problem:
            self.log.trouble(problem)
            return self._unrecorded()

    def _begin(
        self,
        start: StepStart,
        trace_id: str | None,
        step_id: str | None,
        parent: StepRef | OpenStep | _Inherit | None,
        links: tuple[StepRef, ...],
    ) -> OpenStep:
        context = None
        if isinstance(parent, _Inherit):
            above, context = current_parent()
            if above and above.step_id in self.log.aliases:
                above, context = self.log.aliases[above.step_id], None
            if above is None and trace_id is None and self._lost_context():
                start = start._replace(
                    attributes={**(start.attributes or {}), "tracekit.no_context": "thread"}
                )
            if trace_id and above and above.trace_id != trace_id:
                above = context = None
        else:
            above = parent.ref if isinstance(parent, OpenStep) else parent
        values = self.log.values
        start = with_safe_names(start, values)
        shown = None
        if start.attributes:
            safe, shown = values.safe_attributes(start.attributes)
            if safe is not start.attributes:
                start = start._replace(attributes=safe)
        return self._open(start, shown, above, context, trace_id, step_id, links)

    def _open(
        self,
        start: StepStart,
        shown: orjson.Fragment | None,
        above: StepRef | None,
        context: Context | None,
        trace_id: str | None,
        step_id: str | None,
        links: tuple[StepRef, ...],
    ) -> OpenStep:
        """Start the span and write the line of a step whose place is known and whose names are safe."""
        started_ns = clock.now_ns()
        trace = above.trace_id if above else trace_id
        seq = self.log.step_started(trace) if trace else None
        is_read = self.spans.are_read()
        span, ref = self.spans.start(
            semconv.span_name(start.kind, start.name, start.tool_name, start.model),
            semconv.span_kind(start.kind),
            above,
            context=context,
            trace_id=trace_id,
            step_id=step_id,
            attributes=wire.creation_attributes(start, seq) if is_read else None,
            links=links,
            start_ns=started_ns,
        )
        step = OpenStep(self.log, span, ref, above, is_read=is_read and span.is_recording())
        step.start(start, shown, started_ns, seq)
        return step

    def _lost_context(self) -> bool:
        """Whether a step without a parent begins in a thread that nothing was carried into: marked, never guessed."""
        return threading.get_ident() != threading.main_thread().ident and self.log.has_open_steps()

    def end_lost(
        self,
        trace_id: str,
        step_id: str,
        status: StepStatus | str,
        *,
        task_id: str | None = None,
        output: Any = NOT_GIVEN,
        error: BaseException | None = None,
        effect: Mapping[str, Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Write the end of a step whose process was lost, once it is known how it ended; never raises.

        The line has only what is known here: the rest stands in the lines that the lost process wrote.
        """
        log = self.log
        try:
            known = {
                "trace_id": trace_id,
                "step_id": step_id,
                "task_id": task_id,
                "status": StepStatus(status).value,
            }
            settled = {"tracekit.settled_by": log.who.process_id, **(attributes or {})}
            finished_at = clock.rfc3339(clock.now_ns())
            log.write(
                lambda values: lost_line(
                    known, output, error, effect, settled, finished_at, log.options, values
                )
            )
        except Exception as problem:
            log.trouble(problem)

    def _unrecorded(self) -> OpenStep:
        """A step with ids and nothing else, for when recording itself failed."""
        ref = StepRef(clock.current().random_hex(32), clock.current().random_hex(16))
        return OpenStep(self.log, INVALID_SPAN, ref, None)


_KINDS = {kind.value: kind for kind in StepKind}


def _kind(kind: StepKind | str) -> StepKind:
    """*kind* as one of ours; an unknown word is a named piece of work, since recording never raises."""
    return _KINDS.get(kind, StepKind.STEP)


def current_ref() -> StepRef | None:
    """The step or foreign span that is current here; None where there is none."""
    return current_parent()[0]


def current_parent() -> tuple[StepRef | None, Context | None]:
    """The step or foreign span that is current here, and the context to start below it in, where that is this one."""
    context = otel_context.get_current()
    span = trace.get_current_span(context)
    step = context.get(CURRENT_STEP)
    if isinstance(step, OpenStep) and step.span is span:
        # a block left in another task never told this context: then what is above it is current
        return (step.parent, None) if step.left_elsewhere else (step.ref, context)
    ref = ref_of(span)
    return ref, context if ref else None


_recorder: Recorder | None = None


def recorder() -> Recorder:
    """The recorder of this process; before `tracekit.init` it makes spans and writes no file."""
    global _recorder
    if _recorder is None:
        _recorder = Recorder(StepLog(_settings(), to_file=False, redact=Redactor()), Spans(scope_tracer()))
    return _recorder


def _settings() -> Settings:
    """The settings in force; bad ones in the environment are told by `init`, not by the first step."""
    try:
        return settings()
    except TracekitError:
        return Settings(service="agent", home=Path(".tracekit"), store_url="")


def install(new: Recorder | None) -> None:
    """Put *new* in place of the recorder; None goes back to one without a file."""
    global _recorder
    _recorder = new


def _after_fork_in_child() -> None:
    if _recorder is not None:
        _recorder.log.after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)
