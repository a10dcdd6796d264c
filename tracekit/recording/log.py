"""
What this process knows of its log: the file, the messages in it, the numbers of steps; renewed in a forked child.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tracekit.config import Settings
from tracekit.model import ContextRef
from tracekit.recording import lines
from tracekit.recording.contexts import Contexts, hash_messages
from tracekit.recording.identity import ProcessIdentity, new_identity
from tracekit.recording.spans import StepRef
from tracekit.recording.values import Values
from tracekit.recording.writer import LogWriter
from tracekit.redaction import Redactor

_log = logging.getLogger("tracekit")

_ALIASES_REMEMBERED = 1_000
_TRACES_REMEMBERED = 10_000
"""Ended traces whose last step number is kept, so that a trace taken up again does not count from 1 twice."""


class Aliases(OrderedDict[str, StepRef]):
    """Spans that were folded into a step, by span id; the oldest are forgotten."""

    def __setitem__(self, span_id: str, step: StepRef) -> None:
        super().__setitem__(span_id, step)
        if len(self) > _ALIASES_REMEMBERED:
            self.popitem(last=False)


class _Trace:
    """What is remembered of one trace: figures only."""

    __slots__ = ("last_seq", "open_steps")

    def __init__(self) -> None:
        self.last_seq = 0
        self.open_steps = 0


class StepLog:
    """The log of one process; without a file it still gives numbers and context references."""

    def __init__(self, options: Settings, *, to_file: bool, redact: Redactor | None) -> None:
        self.options = options
        self.redact = redact
        self._to_file = to_file and options.log_enabled
        self._renew()

    def _renew(self) -> None:
        options = self.options
        self.who: ProcessIdentity = new_identity()
        self._lock = threading.RLock()
        self._traces: dict[str, _Trace] = {}
        self.aliases = Aliases()
        self.steps_started = 0
        self.steps_finished = 0
        self.troubles = 0
        self.contexts = Contexts()
        self.values = Values(
            options.home / "blobs" if self._to_file else None, options.blob_bytes, self.redact
        )
        self.quick = self.values.without_redaction()
        self.writer = self._new_writer() if self._to_file else None

    def _new_writer(self) -> LogWriter:
        return LogWriter(
            self.options.home / "traces",
            self.options.service,
            self.who,
            rotate_bytes=self.options.rotate_bytes,
            header=self._header,
            on_new_file=self._new_file,
        )

    def _new_file(self) -> None:
        self.contexts.new_file()
        processes = sys.modules.get("multiprocessing.process")
        if processes is not None and processes.parent_process() is not None:
            # children of multiprocessing end without atexit; their own finalisers run
            from multiprocessing.util import Finalize

            Finalize(self, self.close, exitpriority=0)

    def after_fork(self) -> None:
        """In the child: a file, an id and numbers of its own; the parent's stay the parent's."""
        if self.writer:
            self.writer.abandon()
        if self.redact:
            self.redact = self.redact.fresh()
        self._renew()

    def close(self) -> None:
        """Write the clean-exit line, if anything was ever written."""
        if self.writer and self.writer.path:
            counts = {
                "lines": self.writer.lines_written,
                "steps_started": self.steps_started,
                "steps_finished": self.steps_finished,
                "drops": self.writer.lines_dropped,
                "troubles": self.troubles,
            }
            self.writer.close(redaction=self._redaction(), counts=counts)

    def trouble(self, problem: Exception) -> None:
        """Count a failure of recording itself and tell the first one; the agent goes on."""
        self.troubles += 1
        if self.troubles == 1:
            _log.warning(
                "tracekit could not record a step; the agent goes on (%r)", problem, exc_info=problem
            )

    def write(self, build: Callable[[Values], Mapping[str, Any]]) -> None:
        """
        Append the line that *build* makes of values, if there is a file.

        Nearly no line holds a secret: it is built with values as they are, looked at once as a whole, and built
        again with every value walked only where something looks like one.
        """
        if self.writer is None:
            return
        line = lines.dumps(build(self.quick))
        if self.redact is not None and self.redact.suspects(line):
            line = lines.dumps(build(self.values))
        self.writer.write(line)

    def step_started(self, trace_id: str) -> int:
        """Count the step in and return its number in the trace, from 1."""
        with self._lock:
            self.steps_started += 1
            known = self._traces.get(trace_id)
            if known is None:
                known = self._new_trace(trace_id)
            known.open_steps += 1
            known.last_seq += 1
            return known.last_seq

    def _new_trace(self, trace_id: str) -> _Trace:
        if len(self._traces) >= _TRACES_REMEMBERED:
            ended = next((name for name, trace in self._traces.items() if not trace.open_steps), None)
            if ended is not None:
                del self._traces[ended]
        known = self._traces[trace_id] = _Trace()
        return known

    def has_open_steps(self) -> bool:
        """Whether any step of this process is open."""
        return self.steps_started > self.steps_finished

    def step_finished(self, trace_id: str) -> None:
        """Count the step out; what is known of a trace without open steps is dropped."""
        with self._lock:
            self.steps_finished += 1
            known = self._traces.get(trace_id)
            if known is None:
                return
            known.open_steps -= 1
            if known.open_steps:
                return
        self.trace_rests(trace_id)

    def trace_rests(self, trace_id: str) -> None:
        """No step of the trace is open: nothing of its contexts is kept."""
        self.contexts.end_trace(trace_id)

    def refer_context(
        self, trace_id: str, messages: Sequence[Mapping[str, Any]], *, complete: bool
    ) -> ContextRef:
        """Write the messages that this file does not hold yet and return how the step names them all."""
        hashes = hash_messages(messages)
        if self.writer and self.options.capture_messages:
            self.writer.prepare()
            for position in self.contexts.first_uses(hashes):
                message = messages[position]
                role = str(message.get("role", "")) if isinstance(message, Mapping) else ""
                self.write(partial(lines.message_line, hashes[position], trace_id, role, message))
        return self.contexts.refer(trace_id, hashes, complete=complete)

    def _header(self) -> dict[str, object]:
        return {"redaction": self._redaction()}

    def _redaction(self) -> object:
        return self.redact.counts() if self.redact else {}
