"""The spans of each integration by the GenAI conventions: what is required and recommended, and the form of content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest
from langchain_core.tools import tool
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracekit
from tracekit.integrations import anthropic, langchain, openai
from tracekit.recording import setup

MESSAGES: list[Any] = [
    {"role": "system", "content": "You refund."},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c0", "type": "function", "function": {"name": "find", "arguments": '{"id": "A"}'}}]},
    {"role": "tool", "tool_call_id": "c0", "content": "delivered"},
]  # fmt: skip


@pytest.fixture
def spans(home: Path) -> Iterator[Callable[[], list[ReadableSpan]]]:
    """Our spans so far, as an exporter gets them, content too."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    setup.init(home=home, tracer_provider=provider, content_on_spans=True)
    yield lambda: [span for span in exporter.get_finished_spans() if _is_ours(span)]
    provider.shutdown()


def _is_ours(span: ReadableSpan) -> bool:
    return span.instrumentation_scope is not None and span.instrumentation_scope.name == "tracekit"


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in (span.attributes or {}).items()}


def test_a_chat_completion(provider: Any, answer: Any, spans: Any) -> None:
    openai.instrument()
    client = openai_sdk.OpenAI(api_key="k", base_url=f"{provider.url}/v1")
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"id": "A"}'}}
    used = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}  # fmt: skip
    message = {"role": "assistant", "content": "I pay.", "tool_calls": [call]}
    provider.answers(
        answer({"id": "r1", "object": "chat.completion", "created": 1, "model": "served-1", "usage": used,
                "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
    )  # fmt: skip

    client.chat.completions.create(
        model="m", messages=MESSAGES, temperature=0.5, top_p=0.9, max_completion_tokens=50, seed=7, n=2, stop="END",
        presence_penalty=0.1, frequency_penalty=0.2, reasoning_effort="low", response_format={"type": "json_object"},
    )  # fmt: skip

    (span,) = spans()
    found = attributes_of(span)
    assert (span.name, span.kind.name) == ("chat m", "CLIENT")
    assert (
        found.items()
        >= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "m",
            "gen_ai.request.temperature": 0.5,
            "gen_ai.request.top_p": 0.9,
            "gen_ai.request.max_tokens": 50,
            "gen_ai.request.seed": 7,
            "gen_ai.request.choice.count": 2,
            "gen_ai.request.presence_penalty": 0.1,
            "gen_ai.request.frequency_penalty": 0.2,
            "gen_ai.request.reasoning.level": "low",
            "gen_ai.output.type": "json",
            "gen_ai.response.id": "r1",
            "gen_ai.response.model": "served-1",
            "gen_ai.usage.input_tokens": 9,
            "gen_ai.usage.output_tokens": 5,
            "gen_ai.usage.cache_read.input_tokens": 4,
            "gen_ai.usage.reasoning.output_tokens": 2,
            "server.address": "127.0.0.1",
            "server.port": int(provider.url.rpartition(":")[2]),
        }.items()
    )
    assert found["gen_ai.request.stop_sequences"] == ["END"]
    assert found["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert json.loads(found["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "You refund."}]},
        {"role": "user", "parts": [
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBO"}]},
        {"role": "assistant", "parts": [
            {"type": "tool_call", "id": "c0", "name": "find", "arguments": {"id": "A"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c0", "response": "delivered"}]},
    ]  # fmt: skip
    assert json.loads(found["gen_ai.output.messages"]) == [
        {"role": "assistant", "finish_reason": "tool_call", "parts": [
            {"type": "text", "content": "I pay."},
            {"type": "tool_call", "id": "c1", "name": "refund", "arguments": {"id": "A"}}]},
    ]  # fmt: skip


def test_a_response(provider: Any, answer: Any, spans: Any) -> None:
    openai.instrument()
    client = openai_sdk.OpenAI(api_key="k", base_url=f"{provider.url}/v1")
    said = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}  # fmt: skip
    used = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14, "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 2}}  # fmt: skip
    provider.answers(
        answer({"id": "r2", "object": "response", "created_at": 1, "status": "completed", "model": "served-1",
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "output": [said], "usage": used})
    )  # fmt: skip

    client.responses.create(
        model="m", input="A-1024 broke.", previous_response_id="r1", max_output_tokens=50, conversation=None,
        reasoning={"effort": "high"},
        text={"format": {"type": "json_schema", "name": "n", "schema": {}}},
    )  # fmt: skip

    found = attributes_of(spans()[0])
    assert (
        found.items()
        >= {
            "gen_ai.request.previous_response.id": "r1",
            "gen_ai.request.max_tokens": 50,
            "gen_ai.request.reasoning.level": "high",
            "gen_ai.output.type": "json",
            "gen_ai.response.id": "r2",
            "gen_ai.usage.cache_read.input_tokens": 4,
            "gen_ai.usage.reasoning.output_tokens": 2,
        }.items()
    )
    assert json.loads(found["gen_ai.output.messages"]) == [
        {"role": "assistant", "finish_reason": "stop", "parts": [{"type": "text", "content": "Done."}]}
    ]


def test_a_message_of_anthropic(provider: Any, answer: Any, spans: Any) -> None:
    anthropic.instrument()
    client = anthropic_sdk.Anthropic(api_key="k", base_url=provider.url)
    blocks = [
        {"type": "thinking", "thinking": "First look.", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "find", "input": {"id": "A"}},
    ]
    used = {
        "input_tokens": 3,
        "output_tokens": 4,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 1,
    }
    provider.answers(
        answer({"id": "m1", "type": "message", "role": "assistant", "model": "served-1", "content": blocks,
                "stop_reason": "tool_use", "stop_sequence": None, "usage": used})
    )  # fmt: skip

    client.messages.create(
        model="m", max_tokens=50, messages=[{"role": "user", "content": "A-1024 broke."}], extra_body={"top_k": 5},
        stop_sequences=["END"],
    )  # fmt: skip

    found = attributes_of(spans()[0])
    assert (
        found.items()
        >= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "anthropic",
            "gen_ai.request.model": "m",
            "gen_ai.request.max_tokens": 50,
            "gen_ai.request.top_k": 5,
            "gen_ai.response.id": "m1",
            "gen_ai.response.model": "served-1",
            "gen_ai.usage.input_tokens": 6,
            "gen_ai.usage.cache_read.input_tokens": 2,
            "gen_ai.usage.cache_write.input_tokens": 1,
            "server.address": "127.0.0.1",
        }.items()
    )
    assert found["gen_ai.request.stop_sequences"] == ["END"]
    (message,) = json.loads(found["gen_ai.output.messages"])
    assert message["finish_reason"] == "tool_call"
    assert message["parts"] == [
        {"type": "reasoning", "content": "First look."},
        {"type": "text", "content": "I look."},
        {"type": "tool_call", "id": "t1", "name": "find", "arguments": {"id": "A"}},
    ]


def test_a_tool_and_an_agent(home: Path, spans: Any) -> None:
    langchain.instrument()

    @tool
    def find(order_id: str) -> dict[str, str]:
        """Find an order."""
        return {"order": order_id}

    with tracekit.step("refunds", kind="agent"):
        find.invoke({"type": "tool_call", "name": "find", "args": {"order_id": "A"}, "id": "c1"})

    call, agent = spans()
    found = attributes_of(call)
    assert (call.name, call.kind.name) == ("execute_tool find", "INTERNAL")
    assert (
        found.items()
        >= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "find",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": "c1",
        }.items()
    )
    assert json.loads(found["gen_ai.tool.call.arguments"]) == {"order_id": "A"}
    assert json.loads(found["gen_ai.tool.call.result"]) == {"order": "A"}
    assert agent.name == "invoke_agent refunds"
    assert (
        attributes_of(agent).items()
        >= {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "refunds",
        }.items()
    )


@pytest.mark.parametrize(
    ("kind", "provider_name"),
    [("AzureOpenAI", "azure.ai.openai"), ("AnthropicVertex", "gcp.vertex_ai"), ("OpenAI", "openai")],
)
def test_a_service_that_offers_the_models_of_others_is_the_provider(kind: str, provider_name: str) -> None:
    from tracekit.integrations import _parameters

    client = type(kind, (), {"base_url": None})()
    assert _parameters.of_client(client, "openai") == {"gen_ai.provider.name": provider_name}
