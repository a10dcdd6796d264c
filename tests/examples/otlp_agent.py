"""Runs tickets through the example's agent while the SDK's spans also go into an OTLP JSON Lines file."""

import base64
import importlib.util
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import tracekit


class JsonLines(SpanExporter):
    """One OTLP `ExportTraceServiceRequest` per line, as a collector's file exporter writes it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        request = MessageToDict(encode_spans(spans))
        self._file.write(json.dumps(_hex_ids(request)) + "\n")
        self._file.flush()
        return SpanExportResult.SUCCESS


def _hex_ids(value: Any) -> Any:
    """OTLP writes ids in hexadecimal, protobuf's own JSON in base64."""
    if isinstance(value, list):
        return [_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        name: base64.b64decode(each).hex() if name in ids and isinstance(each, str) else _hex_ids(each)
        for name, each in value.items()
    }


def main(agent_path: str, spans_path: str, *tickets: str) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JsonLines(Path(spans_path))))
    trace.set_tracer_provider(provider)
    tracekit.init(service="refund-agent", content_on_spans=True)

    spec = importlib.util.spec_from_file_location("agent", agent_path)
    assert spec is not None
    assert spec.loader is not None
    agent = importlib.util.module_from_spec(spec)
    sys.modules["agent"] = agent
    spec.loader.exec_module(agent)
    for number, ticket in enumerate(tickets, start=1):
        with suppress(Exception):
            agent.handle_ticket.start(ticket, task_id=f"ticket-{number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
