"""Span lists of Arize Phoenix: `{"name", "context": {"trace_id", "span_id"}, "span_kind", "attributes"}` with flat keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from tracekit.recording.foreign import ForeignEvent, ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import held, items, never_silent, odd_is_not_ours, peek, peek_lines
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import iso_ns


class PhoenixReader:
    """Reads a list of spans, a dict of such lists, or JSON Lines of spans."""

    name = "phoenix"
    title = "Arize Phoenix spans (OpenInference)"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the first element has `context`, `parent_id` and `span_kind`."""
        top = peek(file.head)
        if isinstance(top, Mapping) and not _is_span(top):
            top = next((value for value in top.values() if isinstance(value, list)), None)
        first = top[0] if isinstance(top, list) and top else top
        found = _is_span(first) or any(_is_span(line) for line in peek_lines(file.head)[:1])
        return 90 if found else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the spans in the file's order."""
        runs, key = SpanRuns(file), file_key(file)
        values = chain.from_iterable(_spans(value) for value in held(items(file, damage), file, damage))
        yield from runs.whole(_span(raw, fallback=f"{key}:{number}") for number, raw in enumerate(values))


def _is_span(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("context"), Mapping)
        and "span_id" in value["context"]
        and ("span_kind" in value or "parent_id" in value)
        and not str(value["context"].get("trace_id", "")).startswith("0x")
    )


def _spans(value: Any) -> Iterator[Mapping[str, Any]]:
    """The spans in *value*: itself, or those of the lists that it holds by name."""
    if _is_span(value):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from (span for span in inner if _is_span(span)) if isinstance(inner, list) else ()


def _span(raw: Mapping[str, Any], *, fallback: str) -> ForeignSpan:
    attributes = flat(raw.get("attributes") or {})
    kind = raw.get("span_kind")
    if isinstance(kind, str) and kind:
        attributes.setdefault("openinference.span.kind", kind)
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("name") or ""),
        start_ns=iso_ns(raw.get("start_time")),
        end_ns=iso_ns(raw.get("end_time")),
        status_code=str(raw.get("status_code") or "unset"),
        status_message=raw.get("status_message") or None,
        attributes=attributes,
        events=tuple(
            ForeignEvent(
                str(event.get("name")), iso_ns(event.get("timestamp")), event.get("attributes") or {}
            )
            for event in raw.get("events") or ()
        ),
    )
    context = raw["context"]
    return with_plain_ids(
        span,
        trace=context.get("trace_id"),
        own=context.get("span_id"),
        parent=raw.get("parent_id"),
        fallback=fallback,
    )


def flat(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """
    *attributes* with nested objects and lists of objects spelled as dotted keys, as OpenInference writes them on the wire.

    Phoenix gives them out either way, depending on its version.
    """
    found: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping) and value:
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else str(key), inner)
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for number, item in enumerate(value):
                walk(f"{prefix}.{number}", item)
        else:
            found[prefix] = value

    walk("", attributes)
    return found


READER = PhoenixReader()
