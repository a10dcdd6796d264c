"""Answers of real clients' types become one shape, the same after a resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion

import tracekit
from tracekit.durable.reply import Reply, as_written, to_reply
from tracekit.errors import TracekitError
from tracekit.snapshot import decode, encode

OPENAI = ChatCompletion.model_validate(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "put", "arguments": '{"name":"x"}'},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }
)
ANTHROPIC = Message.model_validate(
    {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "content": [
            {"type": "text", "text": "I will."},
            {"type": "tool_use", "id": "c1", "name": "put", "input": {"name": "x"}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
)


@tracekit.tool(effect="write")
def put(name: str) -> str:
    return f"put {name}"


@pytest.mark.parametrize("answer", [OPENAI, OPENAI.model_dump(mode="json"), ANTHROPIC])
def test_a_clients_answer_is_read(answer: Any) -> None:
    reply = to_reply(answer)

    assert [(call.call_id, call.name, call.arguments_raw) for call in reply.tool_calls] == [
        ("c1", "put", '{"name":"x"}')
    ]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 4)
    assert decode(encode(reply)) == reply


def test_plain_text_is_an_answer_too() -> None:
    assert to_reply("hello").message == {"role": "assistant", "content": "hello"}


def test_anything_else_is_refused_by_name() -> None:
    with pytest.raises(TracekitError, match=r"got builtins\.int"):
        to_reply(7)


@pytest.mark.parametrize(
    ("answer", "messages"),
    [
        (OPENAI, [{"role": "tool", "tool_call_id": "c1", "name": "put", "content": "put x"}]),
        (
            ANTHROPIC,
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "put x", "is_error": False}
                    ],
                }
            ],
        ),
    ],
)
def test_tool_answers_have_the_form_that_the_client_wants_also_after_a_resume(
    answer: Any, messages: list[Any]
) -> None:
    broken = [1]

    @tracekit.task
    def job(run: tracekit.Run) -> list[Any]:
        reply: Reply = run.model(lambda sent: answer, [{"role": "user", "content": "go"}])
        if broken:
            broken.pop()
            raise RuntimeError("once")
        return list(run.tools(reply.tool_calls, tools=[put]))

    with pytest.raises(RuntimeError):
        job.start(task_id="t")
    assert tracekit.resume("t") == messages


@pytest.mark.parametrize(("answer", "marked"), [(OPENAI, False), (ANTHROPIC, True)])
def test_arguments_that_are_not_the_models_own_text_are_marked(
    own_home: Path, answer: Any, marked: bool
) -> None:
    @tracekit.task
    def job(run: tracekit.Run) -> str:
        reply: Reply = run.model(lambda sent: answer, [{"role": "user", "content": "go"}])
        return reply.tool_calls[0].arguments_raw

    tracekit.init(service="marks", home=own_home)
    assert job.start(task_id="t") == '{"name":"x"}'

    lines = [json.loads(line) for log in (own_home / "traces").iterdir() for line in log.open()]
    ends = [line for line in lines if line.get("kind") == "model" and line["status"] == "ok"]
    assert [end["attributes"].get("tracekit.arguments_rewritten") for end in ends] == [marked or None]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('{ "amount": 99.50 }', True),
        ('{"amount": 9.95}', False),
        ("{", False),
    ],
)
def test_the_text_on_the_wire_is_taken_where_it_says_the_same(written: str, kept: bool) -> None:
    block = {"type": "tool_use", "id": "c1", "name": "pay", "input": {"amount": 99.5}}
    reply = to_reply({"type": "message", "content": [block]})

    found, exact = as_written(reply, [{"call_id": "c1", "name": "pay", "arguments": written}])

    assert found.tool_calls[0].arguments_raw == (written if kept else '{"amount":99.5}')
    assert exact == kept
