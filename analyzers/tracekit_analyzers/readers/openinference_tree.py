"""
One trace as a tree of OpenInference spans: `{"trace_id", "spans": [{"span_name", "span_attributes", "child_spans"}]}`.

There is no end time, only an ISO 8601 duration; event keys may begin with a capital letter. `logs` below a span repeat
arguments and results of functions that are no steps, and are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign import ForeignEvent, ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import ASSUMED_ZONE, duration_ns, has_zone, iso_ns


class OpenInferenceTreeReader:
    """Reads trees of spans, one trace an object."""

    name = "openinference_tree"
    title = "OpenInference span tree (TRAIL, Patronus)"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the top object has `spans` whose first has `span_attributes`."""
        top = peek(file.head)
        top = top[0] if isinstance(top, list) and top else top
        spans = top.get("spans") if isinstance(top, Mapping) else None
        first = spans[0] if isinstance(spans, list) and spans else None
        here = (
            isinstance(first, Mapping) and "span_name" in first and "span_id" in first and "trace" not in top
        )
        return 90 if here else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the spans in pre-order, which is their order in the file."""
        runs, key = SpanRuns(file), file_key(file)
        for number, trace in enumerate(items(file, damage)):
            spans = trace.get("spans") if isinstance(trace, Mapping) else None
            if not isinstance(spans, list):
                damage.bad(file=file.name, line=None, offset=None, reason="no_spans", data=str(trace)[:200])
                continue
            raws = list(_pre_order(spans))
            yield from runs.whole(
                _span(raw, trace.get("trace_id"), fallback=f"{key}:{number}:{place}")
                for place, raw in enumerate(raws)
            )


def _pre_order(spans: list[Any]) -> Iterator[Mapping[str, Any]]:
    stack = [span for span in reversed(spans) if isinstance(span, Mapping)]
    while stack:
        span = stack.pop()
        yield span
        stack.extend(child for child in reversed(span.get("child_spans") or ()) if isinstance(child, Mapping))


def _span(raw: Mapping[str, Any], trace_id: Any, *, fallback: str) -> ForeignSpan:
    assumed = {} if has_zone(raw.get("timestamp")) else {ASSUMED_ZONE: "UTC"}
    start, duration = iso_ns(raw.get("timestamp")), duration_ns(raw.get("duration"))
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("span_name") or ""),
        kind=raw.get("span_kind"),
        start_ns=start,
        end_ns=start + duration if start is not None and duration is not None else None,
        status_code=str(raw.get("status_code") or "unset"),
        status_message=raw.get("status_message") or None,
        attributes={**(raw.get("span_attributes") or {}), **assumed},
        events=tuple(_event(event) for event in raw.get("events") or ()),
        resource={"service.name": raw.get("service_name")},
        scope=raw.get("scope_name") or None,
    )
    return with_plain_ids(
        span,
        trace=raw.get("trace_id") or trace_id,
        own=raw.get("span_id"),
        parent=raw.get("parent_span_id"),
        fallback=fallback,
    )


def _event(raw: Mapping[str, Any]) -> ForeignEvent:
    event = {str(key).lower(): value for key, value in raw.items()}
    attributes = event.get("attributes")
    return ForeignEvent(
        str(event.get("name") or ""),
        iso_ns(event.get("timestamp")),
        attributes if isinstance(attributes, Mapping) else {},
    )


READER = OpenInferenceTreeReader()
