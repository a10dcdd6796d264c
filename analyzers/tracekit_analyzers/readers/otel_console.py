"""Standard output of OpenTelemetry's `ConsoleSpanExporter`: pretty-printed objects one after another, ids with `0x`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign import ForeignEvent, ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import iso_ns


class OtelConsoleReader:
    """Reads console spans, also where they stand in a list."""

    name = "otel_console"
    title = "OpenTelemetry console exporter output"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """95 when the first object has a `context` whose trace id begins with `0x`."""
        top = peek(file.head)
        return 95 if _is_span(top[0] if isinstance(top, list) and top else top) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the spans in the file's order."""
        runs, key = SpanRuns(file), file_key(file)
        for number, raw in enumerate(items(file, damage)):
            if _is_span(raw):
                yield from runs.records(runs.place(_span(raw, fallback=f"{key}:{number}")))
            else:
                damage.bad(file=file.name, line=None, offset=None, reason="not_a_span", data=str(raw)[:200])


def _is_span(value: Any) -> bool:
    context = value.get("context") if isinstance(value, Mapping) else None
    return isinstance(context, Mapping) and str(context.get("trace_id", "")).startswith("0x")


def _span(raw: Mapping[str, Any], *, fallback: str) -> ForeignSpan:
    status = raw.get("status") or {}
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("name") or ""),
        kind=str(raw.get("kind") or "").removeprefix("SpanKind.").lower() or None,
        start_ns=iso_ns(raw.get("start_time")),
        end_ns=iso_ns(raw.get("end_time")),
        status_code=status.get("status_code"),
        status_message=status.get("description"),
        attributes=raw.get("attributes") or {},
        events=tuple(
            ForeignEvent(
                str(event.get("name")), iso_ns(event.get("timestamp")), event.get("attributes") or {}
            )
            for event in raw.get("events") or ()
        ),
        resource=(raw.get("resource") or {}).get("attributes") or {},
    )
    context = raw["context"]
    return with_plain_ids(
        span,
        trace=context.get("trace_id"),
        own=context.get("span_id"),
        parent=raw.get("parent_id"),
        fallback=fallback,
    )


READER = OtelConsoleReader()
