"""Jaeger's query API: `{"data": [{"traceID", "spans", "processes"}]}`, times in microseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign import ForeignEvent, ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import never_silent, odd_is_not_ours, peek, whole
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import epoch_ns


class JaegerReader:
    """Reads traces that Jaeger's API or its screen gave out."""

    name = "jaeger"
    title = "Jaeger query API JSON"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """95 when `data` (or the top) is a list of traces with `traceID` and `spans`."""
        top = peek(file.head)
        traces = top.get("data") if isinstance(top, Mapping) else top
        first = traces[0] if isinstance(traces, list) and traces else None
        return 95 if isinstance(first, Mapping) and "traceID" in first and "spans" in first else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records trace by trace, spans in the file's order."""
        top = whole(file, damage)
        runs, key = SpanRuns(file), file_key(file)
        for trace in top.get("data") or () if isinstance(top, Mapping) else top or ():
            processes = trace.get("processes") or {}
            spans = trace.get("spans") or ()
            yield from runs.whole(
                _span(raw, processes, fallback=f"{key}:{number}") for number, raw in enumerate(spans)
            )


def _span(raw: Mapping[str, Any], processes: Mapping[str, Any], *, fallback: str) -> ForeignSpan:
    tags = _tags(raw.get("tags"))
    process = processes.get(str(raw.get("processID"))) or raw.get("process") or {}
    start = epoch_ns(raw.get("startTime"), per_second=1_000_000)
    duration = raw.get("duration")
    failed = tags.pop("error", None) in (True, "true") or tags.get("otel.status_code") == "ERROR"
    parents = (ref for ref in raw.get("references") or () if ref.get("refType") == "CHILD_OF")
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("operationName") or ""),
        kind=tags.pop("span.kind", None),
        start_ns=start,
        end_ns=start + round(duration * 1000)
        if start is not None and isinstance(duration, int | float)
        else None,
        status_code="error" if failed else str(tags.get("otel.status_code") or "unset"),
        status_message=tags.pop("otel.status_description", None),
        attributes=tags,
        events=tuple(_event(log) for log in raw.get("logs") or ()),
        resource={"service.name": process.get("serviceName"), **_tags(process.get("tags"))},
    )
    parent = next((ref.get("spanID") for ref in parents), raw.get("parentSpanID"))
    return with_plain_ids(
        span, trace=raw.get("traceID"), own=raw.get("spanID"), parent=parent, fallback=fallback
    )


def _tags(tags: Any) -> dict[str, Any]:
    return {
        str(tag["key"]): tag.get("value") for tag in tags or () if isinstance(tag, Mapping) and "key" in tag
    }


def _event(log: Mapping[str, Any]) -> ForeignEvent:
    fields = _tags(log.get("fields"))
    return ForeignEvent(
        str(fields.pop("event", "")), epoch_ns(log.get("timestamp"), per_second=1_000_000), fields
    )


READER = JaegerReader()
