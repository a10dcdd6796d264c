"""
OTLP/JSON traces: JSON Lines of `TracesData` (collector, SDK file exporter), one object, and Tempo's `batches`.

Lines with logs or metrics may stand between. Of the logs the messages of model calls are taken up, all else is counted
and passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign_span import SPAN_KINDS, STATUS_CODES, ForeignEvent, ForeignSpan, enum_word
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._otlp_logs import LogContent
from tracekit_analyzers.readers._otlp_values import attributes_of
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import (
    guarded,
    items,
    lines,
    never_silent,
    odd_is_not_ours,
    peek,
    peek_lines,
)
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import epoch_ns

_TRACES = ("resourceSpans", "batches")
_OTHERS = ("resourceLogs", "resourceMetrics", "resourceProfiles")


class OtlpReader:
    """Reads OTLP/JSON, a line or an object at a time."""

    name = "otlp"
    title = "OpenTelemetry OTLP/JSON (collector file, SDK file exporter, Tempo)"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """95 when the head holds one of OTLP's own top keys."""
        first = peek_lines(file.head)[:3] or (peek(file.head),)
        for value in first:
            value = value[0] if isinstance(value, list) and value else value
            value = value.get("trace", value) if isinstance(value, Mapping) else {}
            if isinstance(value, Mapping) and any(
                isinstance(value.get(key), list) for key in (*_TRACES, *_OTHERS)
            ):
                return 95
        return 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of each span in the file's order; model spans without content come last, when all log records are known."""
        runs, key, content = SpanRuns(file), file_key(file), LogContent()
        for number, (line, value) in enumerate(_values(file, damage)):
            if isinstance(value, Mapping):
                records = _records(value, runs, content, line, fallback=f"{key}:{number}")
                yield from guarded(records, file, damage, line=line, what="spans")
            else:
                damage.bad(file=file.name, line=line, offset=None, reason="not_object", data=str(value)[:200])
        for placed in content.rest():
            yield from guarded(runs.records(placed), file, damage, line=placed.line, what="span")


def _records(
    data: Mapping[str, Any], runs: SpanRuns, content: LogContent, line: int | None, *, fallback: str
) -> Iterator[NativeRecord]:
    """Records of one object's spans, except those whose content may come as log records further on."""
    content.add_logs(data)
    for span in spans_of(data, fallback=fallback):
        placed = runs.place(span, line)
        ready = content.ready(placed)
        if ready is None:
            runs.announce(placed)
        else:
            yield from runs.records(ready)


def _values(file: InputFile, damage: DamageReport) -> Iterator[tuple[int | None, Any]]:
    if peek_lines(file.head[: file.head.find(b"\n") + 1] or file.head) or (
        b"\n" not in file.head and len(file.head) > 60_000
    ):
        yield from lines(file, damage)
    else:
        yield from ((None, value) for value in items(file, damage))


def spans_of(data: Mapping[str, Any], *, fallback: str) -> Iterator[ForeignSpan]:
    """Spans of one `TracesData` object, or of Tempo's form of it."""
    data = data["trace"] if isinstance(data.get("trace"), Mapping) else data
    for group in next((data[key] for key in _TRACES if isinstance(data.get(key), list)), ()):
        if not isinstance(group, Mapping):
            continue
        resource = attributes_of((group.get("resource") or {}).get("attributes"))
        scopes = group.get("scopeSpans") or group.get("instrumentationLibrarySpans") or ()
        for scope in scopes:
            name = (scope.get("scope") or scope.get("instrumentationLibrary") or {}).get("name")
            for number, span in enumerate(scope.get("spans") or ()):
                yield _span(span, resource, name, fallback=f"{fallback}:{number}")


def _span(raw: Mapping[str, Any], resource: Mapping[str, Any], scope: Any, *, fallback: str) -> ForeignSpan:
    status = raw.get("status") or {}
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("name") or ""),
        kind=enum_word(raw.get("kind"), SPAN_KINDS),
        start_ns=epoch_ns(raw.get("startTimeUnixNano"), per_second=1_000_000_000),
        end_ns=epoch_ns(raw.get("endTimeUnixNano"), per_second=1_000_000_000),
        status_code=enum_word(status.get("code"), STATUS_CODES),
        status_message=status.get("message") or None,
        attributes=attributes_of(raw.get("attributes")),
        events=tuple(_event(event) for event in raw.get("events") or ()),
        resource=resource,
        scope=scope or None,
        dropped=raw.get("droppedAttributesCount") or 0,
    )
    return with_plain_ids(
        span,
        trace=raw.get("traceId"),
        own=raw.get("spanId"),
        parent=raw.get("parentSpanId"),
        fallback=fallback,
    )


def _event(raw: Mapping[str, Any]) -> ForeignEvent:
    time_ns = epoch_ns(raw.get("timeUnixNano"), per_second=1_000_000_000)
    return ForeignEvent(str(raw.get("name") or ""), time_ns, attributes_of(raw.get("attributes")))


READER = OtlpReader()
