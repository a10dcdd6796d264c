"""`ExportTraceServiceRequest` in protobuf, read with the official `opentelemetry-proto` of the [collect] extra."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracekit.collect.received import Received, Undecodable, check_ids
from tracekit.errors import TracekitError
from tracekit.recording.foreign_span import SPAN_KINDS, STATUS_CODES, ForeignEvent, ForeignSpan, enum_word

_MISSING = (
    "application/x-protobuf needs the [collect] extra: pip install 'tracekit-agents[collect]'; "
    "or let the client send application/json (OTEL_EXPORTER_OTLP_PROTOCOL=http/json)"
)


def is_there() -> bool:
    """Whether protobuf can be read here."""
    try:
        _request("trace")
    except TracekitError:
        return False
    return True


def traces(body: bytes) -> Received:
    """Spans of the request; one that is not right is rejected alone, a body that is not right as a whole."""
    found = Received()
    for group in _parsed("trace", body).resource_spans:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_spans:
            for raw in scoped.spans:
                try:
                    found.spans.append(_span(raw, resource, scoped.scope.name or None))
                except (ValueError, RecursionError) as error:
                    found.reject(str(error))
    return found


def count_logs(body: bytes) -> int:
    """How many log records the request holds."""
    groups = _parsed("logs", body).resource_logs
    return sum(len(scoped.log_records) for group in groups for scoped in group.scope_logs)


def count_metrics(body: bytes) -> int:
    """How many metrics the request holds."""
    groups = _parsed("metrics", body).resource_metrics
    return sum(len(scoped.metrics) for group in groups for scoped in group.scope_metrics)


def _request(signal: str) -> Any:
    """The message class of *signal*; raises where the extra is missing."""
    try:
        match signal:
            case "trace":
                from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces_

                return traces_.ExportTraceServiceRequest
            case "logs":
                from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs_

                return logs_.ExportLogsServiceRequest
            case _:
                from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_

                return metrics_.ExportMetricsServiceRequest
    except ImportError as error:
        raise TracekitError("collect.no_protobuf", _MISSING) from error


def _parsed(signal: str, body: bytes) -> Any:
    request = _request(signal)
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # ships no types

    try:
        return request.FromString(body)
    except DecodeError as error:
        raise Undecodable(f"the body is not a protobuf {request.__name__}: {error}") from error


def _span(raw: Any, resource: dict[str, Any], scope: str | None) -> ForeignSpan:
    trace_id, span_id = raw.trace_id.hex(), raw.span_id.hex()
    check_ids(trace_id, span_id)
    return ForeignSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=raw.parent_span_id.hex() if raw.parent_span_id.strip(b"\0") else None,
        name=raw.name,
        kind=enum_word(raw.kind, SPAN_KINDS),
        start_ns=raw.start_time_unix_nano or None,
        end_ns=raw.end_time_unix_nano or None,
        status_code=enum_word(raw.status.code, STATUS_CODES),
        status_message=raw.status.message or None,
        attributes=_attributes(raw.attributes),
        events=[
            ForeignEvent(event.name, event.time_unix_nano or None, _attributes(event.attributes))
            for event in raw.events
        ],
        resource=resource,
        scope=scope,
        dropped=raw.dropped_attributes_count,
    )


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {pair.key: plain(pair.value) for pair in pairs}


def plain(value: Any) -> Any:
    """The plain value of an `AnyValue` message; null for an empty one."""
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [plain(each) for each in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case kind:
            return getattr(value, kind)
