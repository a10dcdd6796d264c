"""Anthropic's own SDK against a server on loopback: what it sends and gets is one step, and exact."""

from __future__ import annotations

import json
from typing import Any

import anthropic as sdk
import pytest

import tracekit
from tracekit.integrations import anthropic

WRITTEN = '{"order_id":  "A-1024",\n "amount": 12.50}'
MESSAGES = [
    {"role": "user", "content": "A-1024 broke."},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t0", "name": "find", "input": {"id": "A-1024"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t0", "content": "found"}]},
]
USAGE = {"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 100}
BODY = (
    '{"id": "m1", "type": "message", "role": "assistant", "model": "scripted-1", "stop_reason": "tool_use", '
    '"stop_sequence": null, "content": [{"type": "text", "text": "I pay."}, '
    '{"type": "tool_use", "id": "t1", "name": "refund", "input": ' + WRITTEN + "}], "
    '"usage": ' + json.dumps(USAGE) + "}"
).encode()


def event(kind: str, **data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"


START = event(
    "message_start",
    message={"id": "m1", "type": "message", "role": "assistant", "model": "scripted-1", "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": {**USAGE, "output_tokens": 1}},
)  # fmt: skip
TEXT = [
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "I "}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "pay."}),
    event("content_block_stop", index=0),
]
CALL = [
    event(
        "content_block_start",
        index=1,
        content_block={"type": "tool_use", "id": "t1", "name": "refund", "input": {}},
    ),
    *(
        event(
            "content_block_delta",
            index=1,
            delta={"type": "input_json_delta", "partial_json": WRITTEN[at : at + 6]},
        )
        for at in range(0, len(WRITTEN), 6)
    ),
    event("content_block_stop", index=1),
]
END = [
    event(
        "message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 4}
    ),
    event("message_stop"),
]


@pytest.fixture
def client(home: Any, provider: Any) -> Any:
    anthropic.instrument()
    return sdk.Anthropic(api_key="k", base_url=provider.url, max_retries=1)


@pytest.fixture
def async_client(home: Any, provider: Any) -> Any:
    anthropic.instrument()
    return sdk.AsyncAnthropic(api_key="k", base_url=provider.url, max_retries=1)


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK waits between its tries; the tests do not."""
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr("anthropic._base_client.MAX_RETRY_DELAY", 0.0)


def check_whole(step: dict[str, Any]) -> None:
    assert (step["kind"], step["status"]) == ("model", "ok")
    assert step["model_raw_output"] == f"I pay.\n{WRITTEN}"
    assert step["asked"] == [{"call_id": "t1", "name": "refund", "arguments": WRITTEN}]
    assert step["output_snapshot"]["content"][1]["input"] == {"order_id": "A-1024", "amount": 12.5}
    assert step["usage"] == {"input_tokens": 109, "output_tokens": 4}
    assert (step["model"], step["finish_reason"]) == ("scripted-1", "tool_use")


def test_arguments_are_kept_as_the_model_wrote_them_not_as_they_parse(
    client: Any, provider: Any, answer: Any, steps: Any, messages_of: Any
) -> None:
    provider.answers(answer(BODY))

    got = client.messages.create(model="m", max_tokens=99, system="You refund.", messages=MESSAGES)

    assert got.content[1].input == {"order_id": "A-1024", "amount": 12.5}
    (step,) = steps()
    check_whole(step)
    assert step["input_snapshot"] == {"max_tokens": 99}
    sent = messages_of(step)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[3] == {"role": "tool", "tool_call_id": "t0", "name": None, "content": "found"}


async def test_the_async_client_is_recorded(
    async_client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(BODY))

    await async_client.messages.create(model="m", max_tokens=99, messages=MESSAGES)

    check_whole(steps()[0])


def test_a_stream_is_gathered_exactly(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    provider.answers(answer(events=[START, *TEXT, *CALL, *END]))

    list(client.messages.create(model="m", max_tokens=99, messages=MESSAGES, stream=True))

    (step,) = steps()
    check_whole(step)
    assert step["attributes"]["gen_ai.response.time_to_first_chunk"] > 0
    assert step["attributes"]["tracekit.chunks"] == 1 + len(TEXT) + len(CALL) + len(END)


async def test_the_stream_helper_of_the_async_client_is_one_step(
    async_client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(events=[START, *TEXT, *CALL, *END]))

    async with async_client.messages.stream(model="m", max_tokens=99, messages=MESSAGES) as stream:
        whole = await stream.get_final_message()

    assert whole.content[1].input["amount"] == 12.5
    (step,) = steps()
    check_whole(step)


def test_a_stream_left_early_tells_what_came(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    filler = [event("ping", filler="x" * 100_000)] * 40
    provider.answers(answer(events=[START, *TEXT, *filler, *END]))

    with client.messages.stream(model="m", max_tokens=99, messages=MESSAGES) as stream:
        for text in stream.text_stream:
            if text == "pay.":
                break

    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("abandoned", "I pay.")


def test_an_error_inside_a_stream_ends_the_step_as_an_error(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    failed = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    provider.answers(answer(events=[START, *TEXT, failed]))

    with pytest.raises(sdk.APIStatusError):
        list(client.messages.create(model="m", max_tokens=99, messages=MESSAGES, stream=True))

    (step,) = steps()
    assert (step["status"], step["error_type"], step["error_message"]) == (
        "error",
        "overloaded_error",
        "Overloaded",
    )
    assert step["model_raw_output"] == "I pay."


def test_a_retry_of_the_client_is_the_same_step(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    provider.answers(answer(error, status=529), answer(BODY))

    client.messages.create(model="m", max_tokens=99, messages=MESSAGES)

    (step,) = steps()
    assert (step["status"], step["tries"]) == ("ok", 2)


def test_counting_tokens_is_no_model_step(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    provider.answers(answer({"input_tokens": 3}))

    client.messages.count_tokens(model="m", messages=MESSAGES)

    # the SDK makes a span of its own for it
    assert "messages" not in {step["name"] for step in steps()}


async def test_inside_a_durable_model_call_the_step_has_the_exact_text(
    async_client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(BODY), answer(events=[START, *TEXT, *CALL, *END]))

    @tracekit.task()
    async def talk(run: tracekit.Run) -> str:
        async def ask(messages: list[Any]) -> Any:
            return await async_client.messages.create(model="m", max_tokens=99, messages=messages)

        async def ask_streaming(messages: list[Any]) -> Any:
            async with async_client.messages.stream(model="m", max_tokens=99, messages=messages) as stream:
                return await stream.get_final_message()

        first = await run.model(ask, MESSAGES)
        second = await run.model(ask_streaming, MESSAGES)
        kept.extend(call.arguments_raw for reply in (first, second) for call in reply.tool_calls)
        return f"{first.text} {second.text}"

    kept: list[str] = []
    assert await talk.start_async(task_id="t1") == "I pay. I pay."
    assert kept == [WRITTEN, WRITTEN]

    plain, streamed = [step for step in steps() if step["kind"] == "model"]
    for step in (plain, streamed):
        assert step["model_raw_output"] == f"I pay.\n{WRITTEN}"
        assert step["asked"][0]["arguments"] == WRITTEN
        assert step["status"] == "ok"
        assert "tracekit.arguments_rewritten" not in step["attributes"]
    assert streamed["attributes"]["gen_ai.response.time_to_first_chunk"] > 0


def add(a: int, b: int) -> str:
    """Add two numbers."""
    if b < 0:
        raise ValueError("below zero")
    return str(a + b)


async def add_async(a: int, b: int) -> str:
    """Add two numbers."""
    return add(a, b)


def runs_tool(**given: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two answers of a run: it asks for `add`, then ends."""
    call = {"type": "tool_use", "id": "t1", "name": "add", "input": given}
    return message(call, stop_reason="tool_use"), message({"type": "text", "text": "Done."})


def message(block: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "m1", "type": "message", "role": "assistant", "model": "scripted-1", "content": [block],
        "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1}, **more,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_tool_that_the_runner_calls_is_one_tool_step_with_what_it_received(
    client: Any, provider: Any, answer: Any, steps: Any, kind: str
) -> None:
    provider.answers(*map(answer, runs_tool(a=1, b=2)))

    if kind == "sync":
        tool = sdk.beta_tool(add)
        client.beta.messages.tool_runner(
            model="m", max_tokens=5, messages=MESSAGES, tools=[tool]
        ).until_done()
    else:
        tool_async = sdk.beta_async_tool(name="add")(add_async)
        other = sdk.AsyncAnthropic(api_key="k", base_url=provider.url)
        runner = other.beta.messages.tool_runner(
            model="m", max_tokens=5, messages=MESSAGES, tools=[tool_async]
        )
        await runner.until_done()

    (step,) = [step for step in steps() if step["kind"] == "tool"]
    assert (step["tool_name"], step["call_id"], step["status"]) == ("add", "t1", "ok")
    assert (step["input_snapshot"], step["output_snapshot"]) == ({"a": 1, "b": 2}, "3")


def test_an_error_of_a_tool_that_the_runner_calls_is_told_as_the_model_is_told(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(*map(answer, runs_tool(a=1, b=-2)))

    runner = client.beta.messages.tool_runner(
        model="m", max_tokens=5, messages=MESSAGES, tools=[sdk.beta_tool(add)]
    )
    assert runner.until_done().content[0].text == "Done."

    (step,) = [step for step in steps() if step["kind"] == "tool"]
    assert (step["status"], step["error_type"]) == ("error", "tool_error")
    assert "below zero" in step["error_message"]


def test_a_tracekit_tool_inside_a_tool_of_the_runner_is_the_one_tool_step(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(*map(answer, runs_tool(a=1, b=2)))
    declared = tracekit.tool(effect="read", name="add")(add)

    def outer(a: int, b: int) -> str:
        """Add two numbers."""
        return declared(a, b)

    client.beta.messages.tool_runner(
        model="m", max_tokens=5, messages=MESSAGES, tools=[sdk.beta_tool(outer, name="add")]
    ).until_done()

    (step,) = [step for step in steps() if step["kind"] == "tool"]
    assert (step["call_id"], step["output_snapshot"]) == ("t1", "3")


def test_a_tool_that_the_provider_carries_out_is_not_asked_of_the_agent(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "A-1024"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    whole = message(search)
    whole["content"] += [found, {"type": "text", "text": "Nothing."}]
    provider.answers(answer(whole))

    client.messages.create(model="m", max_tokens=5, messages=MESSAGES)

    (step,) = steps()
    assert step["model_raw_output"] == '{"query": "A-1024"}\nNothing.'
    assert step["asked"] == []


def test_messages_that_the_provider_keeps_of_a_thread_are_known_to_be_missing(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(message({"type": "text", "text": "Done."})))
    threads = [{"type": "create"}, {"type": "continue", "previous_message_id": "m0"}]

    for thread in threads:
        client.messages.create(model="m", max_tokens=5, messages=MESSAGES, extra_body={"thread": thread})

    first, second = steps()
    assert (first["context"]["complete"], second["context"]["complete"]) == (True, False)
    assert second["attributes"]["gen_ai.request.previous_response.id"] == "m0"
