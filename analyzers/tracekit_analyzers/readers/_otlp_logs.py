"""
Content that instrumentations send as OpenTelemetry log records instead of on the span: messages, choices, details.

A record names the span that it belongs to, and may stand before or after it in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import StepKind
from tracekit.recording.foreign import ForeignEvent, ForeignSpan, kind_of
from tracekit.recording.foreign_own import is_own
from tracekit_analyzers.readers._otlp_values import attributes_of, plain
from tracekit_analyzers.readers._spans import PlacedSpan, span_ids
from tracekit_analyzers.readers._time import epoch_ns

_DETAILS = "gen_ai.client.inference.operation.details"
_MESSAGES = frozenset(
    {
        "gen_ai.system.message",
        "gen_ai.user.message",
        "gen_ai.assistant.message",
        "gen_ai.tool.message",
        "gen_ai.choice",
    }
)
_CONTENT = (
    "gen_ai.input.messages",
    "gen_ai.prompt",
    "gen_ai.prompt.0.role",
    "llm.input_messages.0.message.role",
)
_MOST_WAITING = 50_000
"""Spans without content that are held; a file with more of them has no content at all, and they are told as they come."""

_Key = tuple[str, str]
"""Trace and span id."""


class LogContent:
    """Brings log records and model spans without content together; holds what still waits for the other."""

    def __init__(self) -> None:
        self._records: dict[_Key, list[ForeignEvent]] = {}
        self._spans: dict[_Key, PlacedSpan] = {}

    def add_logs(self, data: Mapping[str, Any]) -> None:
        """Keep the content of one `LogsData` object."""
        for key, event in _events(data):
            self._records.setdefault(key, []).append(event)

    def ready(self, placed: PlacedSpan) -> PlacedSpan | None:
        """*placed* as it can be told now; None when it has to wait for its records until the end of the file."""
        span = placed.span
        bare = kind_of(span) is StepKind.MODEL and not any(name in span.attributes for name in _CONTENT)
        if not bare or is_own(span) or len(self._spans) >= _MOST_WAITING:
            return placed
        self._spans[span.trace_id, span.span_id] = placed
        return None

    def rest(self) -> Iterator[PlacedSpan]:
        """The spans that waited, with their content where there is any."""
        for key, placed in self._spans.items():
            events = self._records.get(key, [])
            yield replace(placed, span=_with(placed.span, events)) if events else placed


def _with(span: ForeignSpan, events: list[ForeignEvent]) -> ForeignSpan:
    details = [event.attributes for event in events if event.name == _DETAILS]
    attributes = {key: value for found in details for key, value in found.items()}
    messages = tuple(event for event in events if event.name in _MESSAGES)
    return replace(span, attributes={**attributes, **span.attributes}, events=(*span.events, *messages))


def _events(data: Mapping[str, Any]) -> Iterator[tuple[_Key, ForeignEvent]]:
    for group in data.get("resourceLogs") or ():
        for scope in group.get("scopeLogs") or ():
            for record in scope.get("logRecords") or ():
                attributes = attributes_of(record.get("attributes"))
                name = str(record.get("eventName") or attributes.get("event.name") or "")
                trace, span = span_ids(record.get("traceId"), 32), span_ids(record.get("spanId"), 16)
                if (name in _MESSAGES or name == _DETAILS) and trace and span:
                    body = plain(record.get("body"))
                    told = {**attributes, **(body if isinstance(body, Mapping) else {})}
                    time_ns = epoch_ns(record.get("timeUnixNano"), per_second=1_000_000_000)
                    yield (trace, span), ForeignEvent(name, time_ns, told)
