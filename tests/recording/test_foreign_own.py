"""Our own steps, sent as spans with their content, come back as the steps of the native log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.analyzers.readers_help import read, steps
from tracekit.model import StepKind, StepStatus, ToolCall, Usage
from tracekit.recording.recorder import recorder
from tracekit.recording.setup import init
from tracekit_analyzers.readers import otel_console, otlp
from tracekit_analyzers.session import Session

COMPARED = (
    "trace_id",
    "parent_step_id",
    "kind",
    "name",
    "tool_name",
    "call_id",
    "agent",
    "status",
    "input_snapshot",
    "output_snapshot",
    "model_raw_output",
    "model",
    "finish_reason",
    "asked",
    "depends_on",
    "effect",
    "checkpoint",
    "attempt",
    "tries",
    "reinfers",
    "error_message",
    "usage",
    "task_id",
    "seq",
)
MESSAGES = [
    {"role": "user", "content": "pay"},
    {"role": "tool", "tool_call_id": "c0", "content": "1", "extra": True},
]


@pytest.fixture
def spans(tmp_path: Path) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    init(service="s", home=tmp_path, tracer_provider=provider, content_on_spans=True)
    yield exporter
    provider.shutdown()


def run_agent() -> None:
    task = recorder().begin(StepKind.TASK, "handle", task_id="t-1", attempt=2, input={"args": [1]})
    with task.active():
        model = recorder().begin(
            StepKind.MODEL, "ask", messages=MESSAGES, input={"tools": ["refund"]}, agent="lead"
        )
        asked = [ToolCall("c1", "refund", '{"amount": "5"}')]
        model.finish(
            StepStatus.OK, raw="I pay", asked=asked, usage=Usage(7, 2, 0.5), model="m-1", finish_reason="stop"
        )
        effect = {"risk": "payment", "key": "k", "status": "executed_unknown", "idempotent": False}
        tool = recorder().begin(
            StepKind.TOOL,
            "refund",
            tool_name="refund",
            call_id="c1",
            input={"amount": 5},
            raw='{"amount": "5"}',
            depends_on=[model.ref.step_id],
        )
        tool.finish(StepStatus.UNKNOWN, error=TimeoutError("no answer"), effect=effect, tries=2, reinfers=1)
        listed = recorder().begin(StepKind.STEP, "sum up", input=[1, "2"])
        listed.finish(StepStatus.OK, output="12")
    task.finish(StepStatus.ERROR, error=ValueError("stopped"))


def native(home: Path) -> dict[str, dict[str, Any]]:
    """Last state of each step of the native log, later lines over earlier ones."""
    found: dict[str, dict[str, Any]] = {}
    for path in (home / "traces").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["record"] == "step":
                found.setdefault(record["step_id"], {}).update(record)
    return found


def told(step: dict[str, Any]) -> dict[str, Any]:
    kept = {key: step.get(key) for key in COMPARED}
    kept["context"] = (step.get("context") or {}).get("digest")
    kept["depends_on"] = kept["depends_on"] or []
    return kept


def by_otlp(exporter: InMemorySpanExporter, path: Path) -> list[dict[str, Any]]:
    data = MessageToDict(encode_spans(exporter.get_finished_spans()))
    path.write_text(json.dumps(data) + "\n")
    return steps(read(otlp.READER, path)[0])


def by_console(exporter: InMemorySpanExporter, path: Path) -> list[dict[str, Any]]:
    path.write_text("\n".join(span.to_json() for span in exporter.get_finished_spans()))
    return steps(read(otel_console.READER, path)[0])


@pytest.mark.parametrize("way", [by_otlp, by_console], ids=["otlp", "console"])
def test_spans_with_content_say_what_the_native_log_says(
    tmp_path: Path, spans: InMemorySpanExporter, way: Any
) -> None:
    run_agent()

    logged = native(tmp_path)
    sent = {step["step_id"]: step for step in way(spans, tmp_path / "spans.json")}
    assert len(logged) == 4
    assert {key: told(step) for key, step in sent.items()} == {
        key: told(step) for key, step in logged.items()
    }


def verdicts(path: Path) -> list[tuple[Any, ...]]:
    session = Session([path])
    session.load()
    found = [
        (d.code, d.rule, d.failed_step, d.cause_step, d.confidence, d.recovered, d.retry)
        for row in session.traces().rows
        for d in session.diagnoses(row.trace_id)
    ]
    session.close()
    return sorted(found, key=str)


@pytest.mark.parametrize("way", [by_otlp, by_console], ids=["otlp", "console"])
def test_spans_with_content_are_diagnosed_like_the_native_log(
    tmp_path: Path, spans: InMemorySpanExporter, way: Any
) -> None:
    run_agent()

    sent = tmp_path / "spans.json"
    way(spans, sent)
    from_log = verdicts(tmp_path / "traces")
    assert from_log
    assert verdicts(sent) == from_log
