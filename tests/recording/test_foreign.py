"""One table for span dialects: what a span of each of them says as a native step."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracekit.recording.foreign import ForeignEvent, ForeignSpan, demoted, talk_of, translate


def span(name: str = "s", *, events: tuple[ForeignEvent, ...] = (), **more: Any) -> ForeignSpan:
    attributes = more.pop("attributes", {})
    return ForeignSpan(
        "A" * 32,
        "B" * 16,
        None,
        name,
        start_ns=1_000_000_000,
        end_ns=1_250_000_000,
        attributes=attributes,
        events=events,
        **more,
    )


TOOL_DIALECTS: dict[str, dict[str, Any]] = {
    "gen_ai": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"amount": 5}',
        "gen_ai.tool.call.result": '{"done": true}',
    },
    "gen_ai structured": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": {"amount": 5},
        "gen_ai.tool.call.result": {"done": True},
    },
    "openinference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "refund",
        "tool_call.id": "c1",
        "input.value": '{"amount": 5}',
        "input.mime_type": "application/json",
        "output.value": '{"done": true}',
    },
    "traceloop": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "refund",
        "gen_ai.tool.call.id": "c1",
        "traceloop.entity.input": '{"amount": 5}',
        "traceloop.entity.output": '{"done": true}',
    },
    "vercel": {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "refund",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": '{"amount": 5}',
        "ai.toolCall.result": '{"done": true}',
    },
    "logfire": {
        "logfire.span_type": "span",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": "c1",
        "tool_arguments": '{"amount": 5}',
        "tool_response": '{"done": true}',
    },
    "langfuse": {
        "langfuse.observation.type": "tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": "c1",
        "langfuse.observation.input": '{"amount": 5}',
        "langfuse.observation.output": '{"done": true}',
    },
    "adk": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.call.id": "c1",
        "gcp.vertex.agent.tool_call_args": '{"amount": 5}',
        "gcp.vertex.agent.tool_response": '{"done": true}',
        "gcp.vertex.agent.llm_request": "{}",
    },
}


@pytest.mark.parametrize("dialect", TOOL_DIALECTS)
def test_a_tool_span_says_the_same_in_every_dialect(dialect: str) -> None:
    fields = translate(span("refund", attributes=TOOL_DIALECTS[dialect]))

    said = {
        key: fields[key]
        for key in ("kind", "tool_name", "call_id", "input_snapshot", "output_snapshot", "status")
    }
    assert said == {
        "kind": "tool",
        "tool_name": "refund",
        "call_id": "c1",
        "input_snapshot": {"amount": 5},
        "output_snapshot": {"done": True},
        "status": "ok",
    }


SENT = [
    {"role": "system", "content": "Be brief"},
    {"role": "user", "content": "Refund A-1"},
]
MODEL_DIALECTS: dict[str, dict[str, Any]] = {
    "gen_ai of 1.37": {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "m-1",
        "gen_ai.system_instructions": '[{"type": "text", "content": "Be brief"}]',
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Refund A-1"}]}]',
        "gen_ai.output.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "finish_reason": "tool_call",
                    "parts": [{"type": "tool_call", "id": "c1", "name": "refund", "arguments": '{"a": 1}'}],
                }
            ]
        ),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 3,
    },
    "openinference": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m-1",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be brief",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Refund A-1",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "refund",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 1}',
        "llm.token_count.prompt": 11,
        "llm.token_count.completion": 3,
        "llm.finish_reason": "tool_call",
    },
    "traceloop": {
        "llm.request.type": "chat",
        "gen_ai.response.model": "m-1",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "Refund A-1",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_call",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "refund",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
        "gen_ai.usage.prompt_tokens": 11,
        "gen_ai.usage.completion_tokens": 3,
    },
    "vercel": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.response.model": "m-1",
        "ai.prompt.messages": '[{"role": "system", "content": "Be brief"},'
        ' {"role": "user", "content": [{"type": "text", "text": "Refund A-1"}]}]',
        "ai.response.toolCalls": '[{"toolCallId": "c1", "toolName": "refund", "args": "{\\"a\\": 1}"}]',
        "ai.response.finishReason": "tool_call",
        "ai.usage.promptTokens": 11,
        "ai.usage.completionTokens": 3,
    },
}


@pytest.mark.parametrize("dialect", MODEL_DIALECTS)
def test_a_model_span_says_the_same_in_every_dialect(dialect: str) -> None:
    fields = translate(span("chat m-1", attributes=MODEL_DIALECTS[dialect]))
    sent, _, complete = talk_of(fields)

    assert sent == SENT
    assert complete is True
    assert fields["kind"] == "model"
    assert fields["model"] == "m-1"
    assert fields["asked"] == [{"call_id": "c1", "name": "refund", "arguments": '{"a": 1}'}]
    assert fields["usage"] == {"input_tokens": 11, "output_tokens": 3}
    assert fields["finish_reason"] == "tool_call"


def test_messages_of_the_first_generation_are_events() -> None:
    events = (
        ForeignEvent("gen_ai.system.message", None, {"content": "Be brief"}),
        ForeignEvent("gen_ai.user.message", None, {"content": "Refund A-1"}),
        ForeignEvent("gen_ai.choice", None, {"message": '{"role": "assistant", "content": "Done"}'}),
    )
    fields = translate(span("chat", attributes={"gen_ai.operation.name": "chat"}, events=events))
    sent, said, _ = talk_of(fields)

    assert sent == SENT
    assert said == [{"role": "assistant", "content": "Done"}]
    assert fields["model_raw_output"] == "Done"


def test_both_names_of_a_tools_answer_are_read() -> None:
    for key in ("response", "result"):
        part = {"type": "tool_call_response", "id": "c1", key: "42"}
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": [{"role": "tool", "parts": [part]}],
        }
        sent, _, _ = talk_of(translate(span(attributes=attributes)))

        assert (sent[0]["tool_call_id"], sent[0]["content"]) == ("c1", "42")


def test_flattened_messages_with_a_gap_are_a_context_that_is_not_complete() -> None:
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "the first one was dropped",
    }
    assert talk_of(translate(span(attributes=attributes)))[2] is False
    assert talk_of(translate(span(attributes={"gen_ai.operation.name": "chat"}, dropped=1)))[2] is False


def test_the_conversation_is_not_kept_a_second_time_among_the_attributes() -> None:
    for dialect in MODEL_DIALECTS.values():
        kept = json.dumps(translate(span(attributes=dialect)).get("attributes", {}))
        assert "Refund A-1" not in kept


@pytest.mark.parametrize(
    ("more", "status", "error_type"),
    [
        ({"status_code": "OK"}, "ok", None),
        ({"status_code": "ERROR", "status_message": "boom"}, "error", None),
        ({"status_code": "STATUS_CODE_ERROR"}, "error", None),
        ({"attributes": {"error.type": "timeout"}}, "error", "timeout"),
        ({"status_code": "ok", "events": (ForeignEvent("exception", 1, {"exception.type": "E"}),)}, "ok", None),
        ({"events": (ForeignEvent("exception", 1, {"exception.type": "E"}),)}, "error", "E"),
        ({"events": (ForeignEvent("exception", 1, {"exception.type": "asyncio.CancelledError"}),)}, "abandoned", "asyncio.CancelledError"),
        ({"attributes": {"output.value": "Error: looks bad"}}, "ok", None),
    ],
)  # fmt: skip
def test_status_comes_from_what_the_span_says_never_from_a_text(
    more: dict[str, Any], status: str, error_type: str | None
) -> None:
    fields = translate(span(**more))

    assert (fields["status"], fields.get("error_type")) == (status, error_type)


def test_a_span_that_began_and_never_ended_is_running() -> None:
    assert translate(ForeignSpan("a" * 32, "b" * 16, None, "s", start_ns=5))["status"] == "running"


def test_logfires_early_notice_stands_for_the_span_it_announces() -> None:
    early = ForeignSpan(
        "a" * 32,
        "1" * 16,
        "2" * 16,
        "s",
        start_ns=5,
        attributes={"logfire.span_type": "pending_span", "logfire.pending_parent_id": "3" * 16},
    )
    fields = translate(early)

    assert (fields["step_id"], fields["parent_step_id"], fields["status"]) == ("2" * 16, "3" * 16, "running")


def test_the_outer_of_two_spans_of_one_call_counts_nothing() -> None:
    outer = demoted(translate(span(attributes=MODEL_DIALECTS["traceloop"])))

    assert outer["kind"] == "step"
    assert not {"usage", "asked", "messages", "said", "model_raw_output"} & set(outer)


def test_vercels_outer_span_is_no_model_call() -> None:
    attributes = {"ai.operationId": "ai.generateText", "ai.usage.promptTokens": 11}
    assert translate(span(attributes=attributes))["kind"] == "agent"


def test_empty_values_are_values() -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.arguments": "{}",
        "output.value": "[]",
    }
    fields = translate(span(attributes=attributes))

    assert (fields["input_snapshot"], fields["output_snapshot"]) == ({}, [])


def test_declared_tools_have_one_name_in_every_dialect() -> None:
    flattened = {"llm.request.type": "chat", "llm.request.functions.0.name": "refund"}
    openinference = {
        "openinference.span.kind": "LLM",
        "llm.tools.0.tool.json_schema": '{"function": {"name": "refund"}}',
    }
    for attributes in (flattened, openinference):
        tools = translate(span(attributes=attributes))["attributes"]["gen_ai.tool.definitions"]
        assert tools[0]["function"]["name"] == "refund"


SAID_ELSEWHERE = {
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"text": "hm"}, {"functionCall": {"name": "refund", "args": {}}}],
                }
            }
        ]
    },
    "responses": {
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "hm"}]},
            {"type": "function_call", "name": "refund", "call_id": "", "arguments": "{}"},
        ]
    },
    "completions": {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "hm",
                    "tool_calls": [{"id": "", "function": {"name": "refund", "arguments": "{}"}}],
                }
            }
        ]
    },
    "langchain": {
        "generations": [
            [
                {
                    "text": "hm",
                    "message": {
                        "kwargs": {
                            "type": "ai",
                            "content": "hm",
                            "additional_kwargs": {
                                "tool_calls": [{"function": {"name": "refund", "arguments": "{}"}}]
                            },
                        },
                        "lc": 1,
                    },
                }
            ]
        ]
    },
    "parts": [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "hm"},
                {"type": "odd"},
                {"type": "tool_call", "name": "refund", "arguments": "{}"},
            ],
        }
    ],
}


@pytest.mark.parametrize("shape", SAID_ELSEWHERE)
def test_what_a_model_said_is_found_in_every_clients_answer(shape: str) -> None:
    attributes = {"openinference.span.kind": "LLM", "output.value": json.dumps(SAID_ELSEWHERE[shape])}
    fields = translate(span(attributes=attributes))

    assert fields["model_raw_output"] == "hm"
    assert fields["asked"] == [{"call_id": "", "name": "refund", "arguments": "{}"}]


SENT_ELSEWHERE = {
    "vercel prompt": {"system": "Be brief", "prompt": "Refund A-1"},
    "langchain batch": {
        "messages": [
            [
                {"lc": 1, "kwargs": {"type": "system", "content": "Be brief"}},
                {"lc": 1, "kwargs": {"type": "human", "content": "Refund A-1"}},
            ]
        ]
    },
    "adk": {
        "model": "m",
        "config": {"system_instruction": "Be brief"},
        "contents": [{"role": "user", "parts": [{"text": "Refund A-1"}]}],
    },
}


@pytest.mark.parametrize("shape", SENT_ELSEWHERE)
def test_what_a_model_was_sent_is_found_in_every_clients_request(shape: str) -> None:
    attributes = {"openinference.span.kind": "LLM", "input.value": json.dumps(SENT_ELSEWHERE[shape])}
    sent, _, _ = talk_of(translate(span(attributes=attributes)))

    assert sent == SENT


@pytest.mark.parametrize(
    "attributes",
    [
        {"events": 5},
        {"llm.input_messages.\N{SUPERSCRIPT TWO}.message.role": "user"},
        {"gen_ai.prompt.\N{SUPERSCRIPT TWO}.role": "user"},
        {"llm.tools.0.tool": "refund"},
        {
            "gen_ai.output.messages": '[{"role": "assistant", "content": "x", "tool_calls": [{"tool_call": "y"}]}]'
        },
        {"tracekit.name": "ours", "tracekit.kind": ["model"], "tracekit.depends_on": 5},
    ],
)
def test_an_attribute_of_a_form_that_we_do_not_know_does_not_lose_the_span(
    attributes: dict[str, Any],
) -> None:
    fields = translate(span(attributes={"gen_ai.operation.name": "chat", **attributes}))

    assert (fields["kind"], fields["status"]) == ("model", "ok")


@pytest.mark.parametrize("tokens", ["nan", "-inf", float("nan"), "many", True])
def test_tokens_that_are_no_number_are_not_told(tokens: object) -> None:
    used = {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": "7"}

    fields = translate(span(attributes={"gen_ai.operation.name": "chat", **used}))

    assert fields["usage"] == {"output_tokens": 7}
