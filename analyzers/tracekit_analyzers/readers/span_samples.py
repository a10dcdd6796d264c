"""
Single spans of coding agents as fixtures and log lines hold them: `{"scopeName", "spanName", "attributes"}`, no ids.

Each object is a run of one step; times are read when there are any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign import ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._otlp_values import attributes_of
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek, peek_lines
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import epoch_ns


class SpanSamplesReader:
    """Reads objects that each are one span."""

    name = "span_samples"
    title = "Single spans of coding agents (OpenCode, Gemini CLI, Codex)"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """85 when the first object has `spanName` and `attributes`."""
        top = peek(file.head)
        first = top[0] if isinstance(top, list) and top else top
        return 85 if _is_span(first) or any(_is_span(line) for line in peek_lines(file.head)[:1]) else 0

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
    return (
        isinstance(value, Mapping)
        and "spanName" in value
        and isinstance(value.get("attributes"), Mapping | list)
    )


def _span(raw: Mapping[str, Any], *, fallback: str) -> ForeignSpan:
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw["spanName"]),
        start_ns=epoch_ns(raw.get("startTimeUnixNano"), per_second=1_000_000_000),
        end_ns=epoch_ns(raw.get("endTimeUnixNano"), per_second=1_000_000_000),
        attributes=attributes_of(raw["attributes"]),
        scope=raw.get("scopeName"),
    )
    return with_plain_ids(
        span,
        trace=raw.get("traceId"),
        own=raw.get("spanId"),
        parent=raw.get("parentSpanId"),
        fallback=fallback,
    )


READER = SpanSamplesReader()
