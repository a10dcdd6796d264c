"""From received spans to lines of the native log: duplicates dropped, one write for a batch, whole or not at all."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import Any

from tracekit.config import Settings
from tracekit.model import StepKind
from tracekit.recording import foreign
from tracekit.recording.foreign import ForeignSpan
from tracekit.recording.foreign_own import is_own
from tracekit.recording.log import StepLog
from tracekit.recording.processor import span_line
from tracekit.recording.step_lines import context_object
from tracekit.recording.writer import LogWriter
from tracekit.redaction import Redactor

REMEMBERED_SPANS = 262_144
"""Spans known by id, so that one that is sent again is dropped; about 40 MB. The oldest are forgotten."""

RESTING_TRACES = 64
"""Traces whose contexts are kept between two spans: without them each model call would list the whole conversation."""

_ONE_CALL = (StepKind.MODEL.value, StepKind.TOOL.value)


class BatchWriter(LogWriter):
    """Holds lines back until `flush`, which appends them in one write: the client is told whether all are there."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held: list[bytes] = []

    def write(self, line: bytes) -> bool:
        """Hold *line* back."""
        self._held.append(line)
        return True

    def flush(self) -> None:
        """Append what is held; on `OSError` nothing of it is in the file."""
        held, self._held = self._held, []
        if held:
            self.append(b"".join(held), count=len(held))


class CollectLog(StepLog):
    """The log of a receiver."""

    def __init__(self, options: Settings) -> None:
        redact = Redactor(options.harmless_keys, options.secret_keys) if options.redact else None
        self._resting: OrderedDict[str, None] = OrderedDict()
        super().__init__(options, to_file=True, redact=redact)

    def _new_writer(self) -> BatchWriter:
        self.batch = BatchWriter(
            self.options.home / "traces",
            self.options.service,
            self.who,
            rotate_bytes=self.options.rotate_bytes,
            header=self._header,
            on_new_file=self._new_file,
        )
        return self.batch

    def trace_rests(self, trace_id: str) -> None:
        """Spans come whole, so that a trace rests after each of them: only the oldest is forgotten."""
        self._resting[trace_id] = None
        self._resting.move_to_end(trace_id)
        if len(self._resting) > RESTING_TRACES:
            self.contexts.end_trace(self._resting.popitem(last=False)[0])


class Recent(OrderedDict[tuple[str, str], None]):
    """The spans that came last."""

    def remember(self, names: Iterable[tuple[str, str]], limit: int) -> None:
        """Take up *names*, and forget the oldest beyond *limit*."""
        self.update(dict.fromkeys(names))
        while len(self) > limit:
            self.popitem(last=False)


class Inlet:
    """Takes spans of any client at any time; safe to call from many threads."""

    def __init__(self, options: Settings, *, remembered_spans: int = REMEMBERED_SPANS) -> None:
        self.log = CollectLog(options)
        self.counts: Counter[str] = Counter()
        self._remembered = remembered_spans
        self._seen = Recent()
        self._outer = Recent()
        self._lock = threading.Lock()

    def take(self, spans: Iterable[ForeignSpan]) -> list[str]:
        """
        Write one line for each span that was not written before, and the messages they name.

        Returns what is wrong with each span that could not be written; it keeps none of the others from the log.

        Raises:
            OSError: Nothing of it could be written; the client may send it again.
        """
        with self._lock:
            fresh = {(span.trace_id, span.span_id): span for span in spans}
            duplicates = [name for name in fresh if name in self._seen]
            for name in duplicates:
                del fresh[name]
            self.log.batch.prepare()
            refused = []
            for span in sorted(fresh.values(), key=lambda each: (each.start_ns or 0, -(each.end_ns or 0))):
                try:
                    self._write(span)
                except Exception as problem:
                    self.log.trouble(problem)
                    self.log.contexts.end_trace(span.trace_id)  # one of them may stand in no line
                    refused.append(f"span {span.span_id} could not be read: {problem!r}")
            try:
                self.log.batch.flush()
            except OSError:
                self.log.contexts.new_file()  # its messages are not in the file after all
                self.counts["refused_batches"] += 1
                raise
            self._seen.remember(fresh, self._remembered)
            self.counts["spans"] += len(fresh) - len(refused)
            self.counts["duplicates"] += len(duplicates)
            return refused

    def _write(self, span: ForeignSpan) -> None:
        log = self.log
        fields = foreign.translate(span)
        fields = self._counted_once(span, fields)
        sent, _, complete = foreign.talk_of(fields)
        if sent:
            fields["context"] = context_object(log.refer_context(span.trace_id, sent, complete=complete))
        seq = log.step_started(span.trace_id)
        log.write(lambda values: span_line(fields, seq, log, values))
        log.step_finished(span.trace_id)

    def _counted_once(self, span: ForeignSpan, fields: dict[str, Any]) -> dict[str, Any]:
        """
        Two instrumentations of one call make two spans of one kind, one in the other: the outer becomes a plain step.

        The inner one ends first and so mostly comes first.
        """
        if fields["kind"] not in _ONE_CALL or is_own(span):
            return fields
        if (span.trace_id, span.span_id + fields["kind"]) in self._outer:
            return foreign.demoted(fields)
        if span.parent_span_id is not None:
            outer = (span.trace_id, span.parent_span_id + fields["kind"])
            self._outer.remember([outer], self._remembered)
        return fields

    def count(self, name: str, number: int = 1) -> None:
        """Add to the figures that are told at the end."""
        with self._lock:
            self.counts[name] += number

    def close(self) -> None:
        """Write the clean-exit line."""
        with self._lock:
            self.log.close()
