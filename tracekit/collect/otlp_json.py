"""`ExportTraceServiceRequest` in OTLP's JSON: lowerCamelCase keys, hexadecimal ids, 64-bit integers as text or numbers."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.collect.received import Received, Undecodable, check_ids
from tracekit.recording.foreign_span import SPAN_KINDS, STATUS_CODES, ForeignEvent, ForeignSpan, enum_word
from tracekit.snapshot import lenient

MOST_ITEMS = 8_000_000
"""Each takes some hundred bytes of memory; a batch of 64 MiB from a real exporter holds fewer."""


def decode_json(body: bytes) -> Any:
    """The JSON value; raises `Undecodable`. Half surrogate pairs, which some exporters write, are taken."""
    items = sum(map(body.count, (b",", b"[", b"{")))
    if items > MOST_ITEMS:
        raise Undecodable(
            f"expected at most {MOST_ITEMS} items, got {items} commas and brackets; send smaller batches"
        )
    try:
        return lenient.loads(body)
    except ValueError as error:
        raise Undecodable(f"the body is not JSON: {error}") from error


def traces(body: bytes) -> Received:
    """Spans of the request; one that is not right is rejected alone, a body that is not right as a whole."""
    found = Received()
    for resource, scope, raw in _spans(_group(decode_json(body), "resourceSpans")):
        try:
            found.spans.append(_span(raw, resource, scope))
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            found.reject(str(error))
    return found


def count(body: bytes, *path: str) -> int:
    """How many items stand at the end of *path*, a list inside each item of a list."""
    level = _group(decode_json(body), path[0])
    for name in path[1:]:
        level = [item for each in level for item in _list(each, name)]
    return len(level)


def _group(data: Any, name: str) -> list[Any]:
    if not isinstance(data, Mapping):
        raise Undecodable(f"expected a JSON object, got {type(data).__name__}")
    return _list(data, name)


def _list(holder: Any, name: str) -> list[Any]:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    if value is None:
        return []
    if not isinstance(value, list):
        raise Undecodable(f"expected a list in {name!r}, got {type(value).__name__}")
    return value


def _spans(groups: list[Any]) -> Iterator[tuple[dict[str, Any], str | None, Any]]:
    for group in groups:
        resource = _attributes(_part(group, "resource"))
        for scoped in _list(group, "scopeSpans"):
            scope = _part(scoped, "scope").get("name") or None
            for raw in _list(scoped, "spans"):
                yield resource, scope, raw


def _part(holder: Any, name: str) -> Mapping[str, Any]:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _span(raw: Any, resource: dict[str, Any], scope: str | None) -> ForeignSpan:
    if not isinstance(raw, Mapping):
        raise ValueError(f"expected a span as an object, got {type(raw).__name__}")
    trace_id, span_id = str(raw.get("traceId") or "").lower(), str(raw.get("spanId") or "").lower()
    check_ids(trace_id, span_id)
    parent = str(raw.get("parentSpanId") or "").lower()
    status = _part(raw, "status")
    return ForeignSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent if parent.strip("0") else None,
        name=str(raw.get("name") or ""),
        kind=enum_word(raw.get("kind"), SPAN_KINDS),
        start_ns=int(raw.get("startTimeUnixNano") or 0) or None,
        end_ns=int(raw.get("endTimeUnixNano") or 0) or None,
        status_code=enum_word(status.get("code"), STATUS_CODES),
        status_message=str(status.get("message") or "") or None,
        attributes=_attributes(raw),
        events=[_event(event) for event in _list(raw, "events") if isinstance(event, Mapping)],
        resource=resource,
        scope=scope,
        dropped=int(raw.get("droppedAttributesCount") or 0),
    )


def _event(raw: Mapping[str, Any]) -> ForeignEvent:
    return ForeignEvent(
        str(raw.get("name") or ""), int(raw.get("timeUnixNano") or 0) or None, _attributes(raw)
    )


def _attributes(holder: Mapping[str, Any]) -> dict[str, Any]:
    return _pairs(holder.get("attributes"))


def _pairs(pairs: Any) -> dict[str, Any]:
    return {str(pair["key"]): plain(pair.get("value")) for pair in pairs or ()}


def plain(value: Any) -> Any:
    """The plain value of an `AnyValue`; null for an empty one. Files are read more leniently (docs/decisions.md)."""
    if not isinstance(value, Mapping):
        return None
    for kind, inner in value.items():
        match kind:
            case "stringValue" | "boolValue":
                return inner
            case "intValue":
                return int(inner)
            case "doubleValue":
                return float(inner)  # "NaN" and "Infinity" come as text
            case "bytesValue":
                return base64.b64decode(inner)
            case "arrayValue":
                return [plain(each) for each in inner.get("values") or ()]
            case "kvlistValue":
                return _pairs(inner.get("values"))
    return None
