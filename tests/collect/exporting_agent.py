"""A small agent whose spans also go to a receiver, by the official exporter (protobuf) or as OTLP's JSON."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.request import Request, urlopen

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import tracekit
from tracekit.recording.recorder import recorder


class JsonExporter(SpanExporter):
    """What an exporter with `http/json` sends."""

    def __init__(self, url: str) -> None:
        self._url = url

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        body = json.dumps(_hex_ids(MessageToDict(encode_spans(spans)))).encode()
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        with urlopen(Request(self._url, gzip.compress(body), headers)) as answer:
            assert json.load(answer) == {}
        return SpanExportResult.SUCCESS


def _hex_ids(value: Any) -> Any:
    """OTLP writes ids in hexadecimal and enums as numbers, protobuf's own JSON does not."""
    if isinstance(value, list):
        return [_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    numbers = {"SPAN_KIND_INTERNAL": 1, "SPAN_KIND_CLIENT": 3, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
    return {
        name: base64.b64decode(each).hex()
        if name in ids
        else numbers.get(each, each)
        if name in ("kind", "code")
        else _hex_ids(each)
        for name, each in value.items()
    }


@tracekit.tool(effect="read")
def find_order(order_id: str) -> dict[str, Any]:
    """An order, or an error for one that is not there."""
    if order_id == "Z-9":
        raise LookupError(order_id)
    return {"order": order_id, "prices": ["12.50", "3"], "grüße": "né"}


def work() -> None:
    messages = [{"role": "system", "content": "You refund."}, {"role": "user", "content": "A-1024 broke."}]
    with tracekit.step("ticket", kind="agent", agent="refunds"):
        for order in ("A-1024", "Z-9"):
            step = recorder().begin("model", "ask", messages=messages, model="m", input={"temperature": 0.5})
            with step.active():
                pass
            step.finish(
                raw='{"order_id": "A-1024"}',
                asked=[{"call_id": "c1", "name": "find_order", "arguments": '{"order_id": "A-1024"}'}],
                usage={"input_tokens": 3, "output_tokens": 4},
                finish_reason="tool_calls",
            )
            with suppress(LookupError):
                find_order(order)
        trace.get_tracer("other").start_span("foreign", attributes={"a": [1, 2], "b": True}).end()


def main(url: str, encoding: str) -> None:
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    exporter = (
        JsonExporter(url)
        if encoding == "json"
        else OTLPSpanExporter(endpoint=url, compression=Compression.Gzip if encoding == "gzip" else None)
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    tracekit.init(service="shop", content_on_spans=True)
    for _ in range(3):
        work()
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
