"""
AgentOps exports: `{"trace": {...}, "spans": [{"span_id", "parent_span_id", "span_attributes", "event_names"}]}`.

Attributes are nested (`gen_ai.prompt` is a real list), events are parallel lists, durations count nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign import ForeignEvent, ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import epoch_ns, iso_ns
from tracekit_analyzers.readers.phoenix import flat

_TYPES = {"agent": "AGENT", "request": "LLM", "llm": "LLM", "tool": "TOOL"}
"""AgentOps' span types in OpenInference's words, used where the attributes say nothing themselves."""


class AgentOpsReader:
    """Reads exported traces, one an object."""

    name = "agentops"
    title = "AgentOps export"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """85 when the top object has `trace` and `spans` with `span_attributes`, or a head that ends before them."""
        top = peek(file.head)
        top = top[0] if isinstance(top, list) and top else top
        if not isinstance(top, Mapping) or not isinstance(top.get("trace"), Mapping):
            return 0
        spans = top.get("spans", top["trace"].get("spans"))
        first = spans[0] if isinstance(spans, list) and spans else None
        return 85 if isinstance(first, Mapping) and "span_id" in first and "span_attributes" in first else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the spans in the file's order."""
        runs, key = SpanRuns(file), file_key(file)
        for number, export in enumerate(items(file, damage)):
            trace = export.get("trace") or {}
            spans = export.get("spans") or trace.get("spans") or ()
            yield from runs.whole(
                _span(raw, trace, fallback=f"{key}:{number}:{place}") for place, raw in enumerate(spans)
            )


def _span(raw: Mapping[str, Any], trace: Mapping[str, Any], *, fallback: str) -> ForeignSpan:
    attributes = flat(raw.get("span_attributes") or {})
    kind = _TYPES.get(str(raw.get("span_type") or "").lower())
    if kind is not None:
        attributes.setdefault("openinference.span.kind", kind)
    start, duration = _time(raw.get("start_time")), raw.get("duration")
    end = _time(raw.get("end_time"))
    if end is None and start is not None and isinstance(duration, int | float):
        end = start + round(duration)
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("span_name") or ""),
        kind=raw.get("span_kind"),
        start_ns=start,
        end_ns=end,
        status_code=raw.get("status_code"),
        status_message=raw.get("status_message") or None,
        attributes=attributes,
        events=tuple(_events(raw)),
        resource=flat(raw.get("resource_attributes") or {}),
    )
    return with_plain_ids(
        span,
        trace=raw.get("trace_id") or trace.get("trace_id") or trace.get("id"),
        own=raw.get("span_id"),
        parent=raw.get("parent_span_id"),
        fallback=fallback,
    )


def _time(value: Any) -> int | None:
    return iso_ns(value) if isinstance(value, str) else epoch_ns(value, per_second=1_000_000_000)


def _events(raw: Mapping[str, Any]) -> Iterator[ForeignEvent]:
    names, times = raw.get("event_names") or (), raw.get("event_timestamps") or ()
    attributes = raw.get("event_attributes") or ()
    for place, name in enumerate(names):
        inner = attributes[place] if place < len(attributes) else None
        yield ForeignEvent(
            str(name),
            _time(times[place]) if place < len(times) else None,
            inner if isinstance(inner, Mapping) else {},
        )


READER = AgentOpsReader()
