"""Our steps as spans on any provider, and the spans of others as steps of our log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

import tracekit
from tracekit import clock, config
from tracekit.recording import setup
from tracekit.recording.recorder import recorder

Steps = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter, tmp_path: Path) -> Iterator[TracerProvider]:
    """A provider that was there before, with an exporter of its own, and recording that joined it."""
    there = TracerProvider(shutdown_on_exit=False)
    there.add_span_processor(SimpleSpanProcessor(exporter))
    config.reset()
    setup.init(service="test", home=tmp_path / "home", tracer_provider=there)
    yield there
    setup.shutdown()
    config.reset()


@pytest.fixture
def told(provider: TracerProvider, tmp_path: Path, lines_of: Callable[[Path], list[dict[str, Any]]]) -> Steps:
    def read() -> list[dict[str, Any]]:
        steps: dict[str, dict[str, Any]] = {}
        for line in lines_of(tmp_path / "home"):
            if line["record"] == "step":
                steps[line["step_id"]] = steps.get(line["step_id"], {}) | line
        return list(steps.values())

    return read


def test_a_step_is_a_span_with_the_newest_names_and_no_content(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    step = recorder().begin(
        "tool", "refund", tool_name="refund", call_id="c1", task_id="t1", attempt=2, input={"order_id": "A-1024"},
        effect={"risk": "payment", "key": "k"},
    )  # fmt: skip
    step.finish("error", error=TimeoutError("no answer"), tries=2)

    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind.name) == ("execute_tool refund", "INTERNAL")
    assert span.status.status_code is StatusCode.ERROR
    known = dict(span.attributes or {})
    assert known == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "tracekit.name": "refund",
        "tracekit.task_id": "t1",
        "tracekit.attempt": 2,
        "tracekit.tries": 2,
        "tracekit.seq": 1,
        "tracekit.effect.risk": "payment",
        "tracekit.effect.key": "k",
        "error.type": "TimeoutError",
    }


def test_a_model_step_names_its_model_and_usage(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    recorder().begin("model", "ask", model="m-1", messages=[{"role": "user", "content": "hi"}]).finish(
        usage={"input_tokens": 3, "output_tokens": 4}, finish_reason="stop", raw="secret words"
    )

    (span,) = exporter.get_finished_spans()
    known = dict(span.attributes or {})
    assert (span.name, span.kind.name) == ("chat m-1", "CLIENT")
    assert (known["gen_ai.usage.input_tokens"], known["gen_ai.usage.output_tokens"]) == (3, 4)
    assert known["gen_ai.response.finish_reasons"] == ("stop",)
    assert known["tracekit.context.count"] == 1
    assert "secret words" not in str(known)


def test_content_goes_on_spans_only_when_asked_and_without_secrets(
    provider: TracerProvider, exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    setup.init(home=tmp_path / "home", tracer_provider=provider, content_on_spans=True)
    recorder().begin("tool", "t", input={"order": "A-1", "password": "hunter2"}).finish(output={"ok": True})

    known = dict(exporter.get_finished_spans()[0].attributes or {})
    assert json.loads(known["gen_ai.tool.call.arguments"])["order"] == "A-1"
    assert json.loads(known["gen_ai.tool.call.result"]) == {"ok": True}
    assert "hunter2" not in str(known)


def test_spans_of_the_log_and_of_the_exporter_have_the_same_ids_and_parents(
    told: Steps, exporter: InMemorySpanExporter
) -> None:
    with tracekit.step("outer"), tracekit.step("inner"):
        pass

    spans = {f"{s.context.span_id:016x}": s for s in exporter.get_finished_spans() if s.context}
    for step in told():
        span = spans[step["step_id"]]
        assert f"{span.context.trace_id:032x}" == step["trace_id"]
        assert (f"{span.parent.span_id:016x}" if span.parent else None) == step["parent_step_id"]


def test_a_sampler_that_drops_everything_does_not_thin_the_log(
    tmp_path: Path, lines_of: Callable[[Path], list[dict[str, Any]]]
) -> None:
    setup.init(home=tmp_path, tracer_provider=TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False))
    with tracekit.step("outer"), tracekit.step("inner"):
        pass
    setup.shutdown()
    config.reset()

    outer, inner = [line for line in lines_of(tmp_path) if line.get("status") == "running"]
    assert inner["parent_step_id"] == outer["step_id"]
    assert inner["trace_id"] == outer["trace_id"]


def test_with_the_sdk_switched_off_steps_still_have_ids_of_their_own(tmp_path: Path) -> None:
    code = "import tracekit\ntracekit.init()\nwith tracekit.step('outer'), tracekit.step('inner'): pass\n"
    env = {**os.environ, "OTEL_SDK_DISABLED": "true", "TRACEKIT_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)

    (log,) = (tmp_path / "traces").iterdir()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    outer, inner = [line for line in lines if line.get("status") == "running"]
    assert inner["step_id"] != outer["step_id"]
    assert inner["parent_step_id"] == outer["step_id"]


def test_init_twice_is_once_and_joins_the_provider_once(
    provider: TracerProvider, told: Steps, tmp_path: Path
) -> None:
    setup.init(service="test", home=tmp_path / "home", tracer_provider=provider)
    with provider.get_tracer("other").start_as_current_span("foreign"):
        pass

    assert len(told()) == 1
    assert len(list((tmp_path / "home" / "traces").iterdir())) == 1


def test_a_foreign_span_is_in_the_log_while_it_runs_and_full_when_it_ends(
    provider: TracerProvider, told: Steps
) -> None:
    tracer = provider.get_tracer("some.instrumentation")
    with tracker(
        tracer, "chat m-1", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
    ) as span:
        assert told()[0]["status"] == "running"
        span.set_attribute("gen_ai.usage.input_tokens", 12)
        span.set_attribute(
            "gen_ai.input.messages",
            json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]),
        )
        with tracekit.step("below"):
            pass

    foreign, below = told()
    assert (foreign["kind"], foreign["status"], foreign["model"]) == ("model", "ok", "m-1")
    assert foreign["usage"] == {"input_tokens": 12}
    assert foreign["context"]["count"] == 1
    assert below["parent_step_id"] == foreign["step_id"]
    assert (foreign["seq"], below["seq"]) == (1, 2)


def test_a_foreign_error_keeps_its_type(provider: TracerProvider, told: Steps) -> None:
    with pytest.raises(ValueError, match="bad"), provider.get_tracer("x").start_as_current_span("work"):
        raise ValueError("bad amount")

    (step,) = told()
    assert (step["status"], step["error_type"], step["error_message"]) == (
        "error",
        "ValueError",
        "bad amount",
    )


def test_a_second_span_of_the_same_call_is_folded_into_the_step_above(
    provider: TracerProvider, told: Steps
) -> None:
    ours = recorder().begin("model", "ask")
    with (
        ours.active(),
        tracker(provider.get_tracer("x"), "chat", {"gen_ai.operation.name": "chat"}) as span,
        tracekit.step("below"),
    ):
        span.set_attribute("gen_ai.usage.output_tokens", 7)
        span.set_attribute("gen_ai.response.model", "m-1")
    ours.finish()

    model, below = told()
    assert (model["usage"], model["model"]) == ({"output_tokens": 7}, "m-1")
    assert len(model["attributes"]["tracekit.folded_spans"]) == 16
    assert below["parent_step_id"] == model["step_id"]


def test_two_instrumentations_of_one_call_count_its_tokens_once(
    provider: TracerProvider, told: Steps
) -> None:
    tracer = provider.get_tracer("x")
    model = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5}
    with tracker(tracer, "outer", model), tracker(tracer, "inner", model):
        pass

    assert (
        sum(step.get("usage", {}).get("input_tokens", 0) for step in told() if step["kind"] == "model") == 5
    )


def test_ids_come_from_the_clock_of_a_test(provider: TracerProvider, told: Steps) -> None:
    class Counting(clock.SystemClock):
        count = 0

        def random_hex(self, digits: int) -> str:
            self.count += 1
            return f"{self.count:0{digits}x}"

        def now_ns(self) -> int:
            return 1_800_000_000_000_000_000

    with clock.use(Counting()), tracekit.step("first"):
        pass

    (step,) = told()
    assert step["step_id"] in ("0" * 15 + "1", "0" * 15 + "2")
    assert step["started_at"] == "2027-01-15T08:00:00.000000Z"


def tracker(tracer: trace.Tracer, name: str, attributes: dict[str, Any]) -> Any:
    return tracer.start_as_current_span(name, attributes=attributes)


def test_a_secret_is_marked_on_the_span_as_it_is_in_the_log(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    step = recorder().begin(
        "tool", "fetch?api_key=PLANTED1x", tool_name="t?token=PLANTED1x", call_id="password=PLANTED1x",
        task_id="secret=PLANTED1x", agent="token=PLANTED1x", attributes={"password": "PLANTED1x", "kept": "yes"},
    )  # fmt: skip
    step.note(authorization="Bearer PLANTED1x")
    step.finish("error", error=ValueError("password=PLANTED1x"), effect={"key": "k"})

    (span,) = exporter.get_finished_spans()
    assert "PLANTED1x" not in span.to_json()
    assert dict(span.attributes or {})["kept"] == "yes"
    assert "[secret:password:" in (span.status.description or "")


def test_attributes_noted_later_are_on_the_span(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    step = recorder().begin("step", "s", attributes={"first": 1})
    step.note(second=2)
    step.finish(attributes={"third": 3})

    known = dict(exporter.get_finished_spans()[0].attributes or {})
    assert (known["first"], known["second"], known["third"]) == (1, 2, 3)


def test_a_secret_in_a_foreign_span_is_marked_in_the_log(
    provider: TracerProvider, tmp_path: Path, lines_of: Callable[[Path], list[dict[str, Any]]]
) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "fetch",
        "gen_ai.tool.call.arguments": '{"password": "PLANTED1x"}',
        "http.request.header.authorization": "Bearer PLANTED1x",
    }
    with tracker(provider.get_tracer("x"), "https://ann:PLANTED1x@host/", attributes) as span:
        span.add_event("gen_ai.user.message", {"content": "password=PLANTED1x"})

    assert "PLANTED1x" not in json.dumps(lines_of(tmp_path / "home"))


def test_a_foreign_span_that_a_forked_child_ends_is_left_to_the_parent(tmp_path: Path) -> None:
    code = """
import os, tracekit
from opentelemetry import trace
tracekit.init()
with trace.get_tracer("x").start_as_current_span("outer"):
    if os.fork() == 0:
        with trace.get_tracer("x").start_as_current_span("of the child"):
            pass
    else:
        os.wait()
"""
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TRACEKIT_HOME": str(tmp_path)}, check=True
    )

    lines = [json.loads(x) for log in (tmp_path / "traces").iterdir() for x in log.read_text().splitlines()]
    outer = [line for line in lines if line.get("name") == "outer"]
    child = [line for line in lines if line.get("name") == "of the child"]
    assert [line["status"] for line in outer] == ["running", "ok"]
    assert len({line["process_id"] for line in outer}) == 1
    assert {line["parent_step_id"] for line in child} == {outer[0]["step_id"]}
    assert child[0]["process_id"] != outer[0]["process_id"]


def test_an_exporter_that_comes_after_init_gets_spans_with_their_attributes(tmp_path: Path) -> None:
    config.reset()
    late = TracerProvider(shutdown_on_exit=False)
    setup.init(home=tmp_path, tracer_provider=late)
    recorder().begin("tool", "before").finish()
    exporter = InMemorySpanExporter()
    late.add_span_processor(SimpleSpanProcessor(exporter))
    recorder().begin("tool", "after").finish("unknown")
    setup.shutdown()
    config.reset()

    (span,) = exporter.get_finished_spans()
    assert dict(span.attributes or {})["tracekit.status"] == "unknown"
    assert dict(span.attributes or {})["gen_ai.tool.name"] == "after"


LATE = """
import json, sys
import tracekit
tracekit.init(service="s")
with tracekit.step("before"):
    pass
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
with trace.get_tracer("app").start_as_current_span("app"), tracekit.step("after"):
    pass
trace.set_tracer_provider(TracerProvider())  # a second one is refused, as always
with tracekit.step("last"):
    pass
print(json.dumps([span.name for span in exporter.get_finished_spans()]))
"""


def test_a_provider_that_the_application_sets_after_init_gets_all_spans_and_the_log_too(
    tmp_path: Path, lines_of: Callable[[Path], list[dict[str, Any]]]
) -> None:
    env = {**os.environ, "TRACEKIT_HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", LATE], env=env, check=True, capture_output=True, text=True)

    assert json.loads(ran.stdout) == ["after", "app", "last"]
    assert ran.stderr.count("Overriding of current TracerProvider is not allowed") == 1
    running = [line for line in lines_of(tmp_path) if line.get("status") == "running"]
    assert [line["name"] for line in running] == ["before", "app", "after", "last"]
    assert running[2]["parent_step_id"] == running[1]["step_id"]
