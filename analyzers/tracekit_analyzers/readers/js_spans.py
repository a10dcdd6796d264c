"""
Spans of JavaScript's OpenTelemetry as an in-memory exporter holds them, Vercel's AI SDK among them.

`{"name", "spanContext": {"traceId", "spanId"}, "attributes", "startTime": [seconds, nanoseconds]}`; a list or one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign_span import STATUS_CODES, ForeignEvent, ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._otlp_values import attributes_of
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import held, items, never_silent, odd_is_not_ours, peek, peek_lines
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import pair_ns


class JsSpansReader:
    """Reads a list of spans, one span, or JSON Lines of them."""

    name = "js_spans"
    title = "JavaScript OpenTelemetry spans (Vercel AI SDK)"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the first object has a `spanContext` with `traceId`."""
        top = peek(file.head)
        first = top[0] if isinstance(top, list) and top else top
        return 90 if _is_span(first) or any(_is_span(line) for line in peek_lines(file.head)[:1]) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the spans in the file's order."""
        runs, key = SpanRuns(file), file_key(file)
        raws = []
        for raw in held(items(file, damage), file, damage):
            if _is_span(raw):
                raws.append(raw)
            else:
                damage.bad(file=file.name, line=None, offset=None, reason="not_a_span", data=str(raw)[:200])
        yield from runs.whole(_span(raw, fallback=f"{key}:{number}") for number, raw in enumerate(raws))


def _is_span(value: Any) -> bool:
    context = value.get("spanContext", value.get("_spanContext")) if isinstance(value, Mapping) else None
    return isinstance(context, Mapping) and "traceId" in context


def _span(raw: Mapping[str, Any], *, fallback: str) -> ForeignSpan:
    status = raw.get("status") or {}
    code = status.get("code")
    parent = raw.get("parentSpanContext") or {}
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("name") or ""),
        start_ns=pair_ns(raw.get("startTime")),
        end_ns=pair_ns(raw.get("endTime")),
        status_code=STATUS_CODES[code] if code in (0, 1, 2) else None,
        status_message=status.get("message"),
        attributes=attributes_of(raw.get("attributes")),
        events=tuple(
            ForeignEvent(
                str(event.get("name")), pair_ns(event.get("time")), attributes_of(event.get("attributes"))
            )
            for event in raw.get("events") or ()
        ),
        resource=attributes_of((raw.get("resource") or {}).get("attributes")),
        scope=(raw.get("instrumentationScope") or raw.get("instrumentationLibrary") or {}).get("name"),
    )
    context = raw.get("spanContext") or raw["_spanContext"]
    return with_plain_ids(
        span,
        trace=context.get("traceId"),
        own=context.get("spanId"),
        parent=raw.get("parentSpanId") or parent.get("spanId"),
        fallback=fallback,
    )


READER = JsSpansReader()
