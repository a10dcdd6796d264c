"""OpenAI's own SDK against a server on loopback: what it sends and gets is one step, and exact."""

from __future__ import annotations

import gc
import json
from typing import Any

import httpx
import openai as sdk
import pytest
from opentelemetry import trace

import tracekit
from tracekit.integrations import openai

ARGUMENTS = '{"order_id":  "A-1024", "amount": 12.50}'  # two blanks and a zero that parsing would lose
MESSAGES = [{"role": "system", "content": "You refund."}, {"role": "user", "content": "A-1024 broke."}]


def completion(text: str | None = "Done.", *, calls: bool = False, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        function = {"name": "refund", "arguments": ARGUMENTS}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        **more,
    }


def event(data: Any) -> str:
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> str:
    return event(
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "scripted-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            **more,
        }
    )


TEXT_STREAM = [
    chunk({"role": "assistant", "content": "Gr"}),
    chunk({"content": "üß"}),
    chunk({"content": " dich."}),
    chunk({}, "stop"),
    event("[DONE]"),
]


@pytest.fixture
def client(home: Any, provider: Any) -> Any:
    openai.instrument()
    return sdk.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=2)


@pytest.fixture
def async_client(home: Any, provider: Any) -> Any:
    openai.instrument()
    return sdk.AsyncOpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=2)


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK waits between its tries; the tests do not."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.0)


def test_a_completion_is_a_model_step_with_all_it_sent_and_got(
    client: Any, provider: Any, answer: Any, steps: Any, messages_of: Any
) -> None:
    provider.answers(answer(completion(calls=True, text=None)))

    got = client.chat.completions.create(model="m", messages=MESSAGES, temperature=0.5)

    assert got.choices[0].message.tool_calls[0].function.arguments == ARGUMENTS
    (step,) = steps()
    assert (step["kind"], step["status"], step["tries"]) == ("model", "ok", 1)
    assert step["model_raw_output"] == ARGUMENTS
    assert step["asked"] == [{"call_id": "call_1", "name": "refund", "arguments": ARGUMENTS}]
    assert step["input_snapshot"] == {"temperature": 0.5}
    assert step["usage"] == {"input_tokens": 10, "output_tokens": 5}
    assert (step["model"], step["finish_reason"]) == ("scripted-1", "tool_calls")
    assert messages_of(step) == MESSAGES
    assert provider.requests[0]["body"]["messages"] == MESSAGES


async def test_the_async_client_is_recorded_below_the_step_around_it(
    async_client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(completion()))

    async with tracekit.step("outer"):
        await async_client.chat.completions.create(model="m", messages=MESSAGES)

    outer, step = steps()
    assert step["parent_step_id"] == outer["step_id"]
    assert step["model_raw_output"] == "Done."


def test_a_stream_is_gathered_into_the_exact_text(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(events=TEXT_STREAM))

    stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    text = "".join(each.choices[0].delta.content or "" for each in stream)

    assert type(stream) is sdk.Stream
    assert text == "Grüß dich."
    (step,) = steps()
    assert (step["status"], step["model_raw_output"], step["finish_reason"]) == ("ok", "Grüß dich.", "stop")
    assert step["attributes"]["tracekit.chunks"] == 4
    assert step["attributes"]["gen_ai.response.time_to_first_chunk"] > 0
    assert step["attributes"]["gen_ai.request.stream"] is True


def test_calls_in_a_stream_keep_the_text_that_the_model_wrote(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    def call(**function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "function": function}]}

    first = {
        "tool_calls": [
            {"index": 0, "id": "call_1", "type": "function", "function": {"name": "refund", "arguments": ""}}
        ]
    }
    pieces = [chunk(call(arguments=ARGUMENTS[start : start + 5])) for start in range(0, len(ARGUMENTS), 5)]
    usage = event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1", "choices": [],
                   "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})  # fmt: skip
    provider.answers(answer(events=[chunk(first), *pieces, chunk({}, "tool_calls"), usage, event("[DONE]")]))

    list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    (step,) = steps()
    assert step["asked"] == [{"call_id": "call_1", "name": "refund", "arguments": ARGUMENTS}]
    assert step["usage"] == {"input_tokens": 3, "output_tokens": 4}


def test_calls_without_a_number_are_told_apart_by_their_place(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    calls = [{"index": None, "id": f"call_{n}", "function": {"name": name, "arguments": "{}"}}
             for n, name in enumerate(("find_order", "refund"))]  # fmt: skip
    provider.answers(answer(events=[chunk({"tool_calls": calls}), chunk({}, "tool_calls"), event("[DONE]")]))

    list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    (step,) = steps()
    assert [(call["call_id"], call["name"]) for call in step["asked"]] == [
        ("call_0", "find_order"),
        ("call_1", "refund"),
    ]


def test_usage_that_is_no_number_leaves_stream_and_text_as_they_are(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    usage = chunk({}, "stop", usage={"prompt_tokens": "3", "completion_tokens": 4, "total_tokens": None})
    provider.answers(answer(events=[*TEXT_STREAM[:3], usage, event("[DONE]")]))

    assert len(list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))) == 4

    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("ok", "Grüß dich.")
    assert step["usage"] == {"output_tokens": 4}


def test_a_stream_that_adds_up_to_nothing_we_know_reaches_its_reader_whole(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    calls = [
        {"index": index, "id": "c", "function": {"name": "refund", "arguments": "{}"}} for index in (0, "1")
    ]
    provider.answers(answer(events=[chunk({"tool_calls": calls}), chunk({}, "stop"), event("[DONE]")]))

    assert len(list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))) == 2

    (step,) = steps()
    assert step["status"] == "ok"
    assert "TypeError" in step["attributes"]["tracekit.gather_error"]


@pytest.mark.parametrize("how", ["close", "with", "drop"])
def test_a_stream_that_is_left_early_is_one_abandoned_step_with_what_came(
    client: Any, provider: Any, answer: Any, steps: Any, how: str
) -> None:
    # the server waits for nobody: the rest is large, so that it is not in the first read
    rest = [chunk({"content": "x" * 100_000}) for _ in range(40)]
    provider.answers(answer(events=[TEXT_STREAM[0], *rest, *TEXT_STREAM[3:]]))

    stream = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    if how == "with":
        with stream:
            next(iter(stream))
    else:
        next(iter(stream))
        if how == "close":
            stream.close()
    del stream
    gc.collect()

    (step,) = steps()
    assert step["status"] == "abandoned"
    assert step["model_raw_output"].startswith("Gr")
    assert step["finish_reason" if "finish_reason" in step else "status"] != "stop"


async def test_an_async_stream_is_gathered_and_an_abandoned_one_told(
    async_client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    rest = [chunk({"content": "x" * 100_000}) for _ in range(40)]
    provider.answers(answer(events=TEXT_STREAM), answer(events=[TEXT_STREAM[0], *rest]))

    async for _ in await async_client.chat.completions.create(model="m", messages=MESSAGES, stream=True):
        pass
    left = await async_client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    await anext(aiter(left))
    await left.close()

    assert [step["status"] for step in steps()] == ["ok", "abandoned"]
    assert steps()[0]["model_raw_output"] == "Grüß dich."


def test_a_stream_that_breaks_is_an_error_with_what_came(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(events=TEXT_STREAM[:2], cut=True))

    with pytest.raises(sdk.APIConnectionError):
        list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("error", "Grüß")


def test_a_packed_stream_is_unpacked(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    provider.answers(answer(events=TEXT_STREAM, packed=True))

    list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    assert steps()[0]["model_raw_output"] == "Grüß dich."


def test_the_helpers_of_the_sdk_are_recorded_once_and_work_as_always(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(
        answer(events=TEXT_STREAM), answer(completion()), answer(completion()), answer(events=TEXT_STREAM)
    )

    with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
        whole = stream.get_final_completion()
    raw = client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
    with client.chat.completions.with_streaming_response.create(model="m", messages=MESSAGES) as later:
        body = later.read()
    lines = client.chat.completions.with_raw_response.create(
        model="m", messages=MESSAGES, stream=True
    ).parse()

    assert whole.choices[0].message.content == "Grüß dich."
    assert raw.parse().choices[0].message.content == "Done."
    assert json.loads(body)["model"] == "scripted-1"
    assert len(list(lines)) == 4
    assert [step["model_raw_output"] for step in steps()] == ["Grüß dich.", "Done.", "Done.", "Grüß dich."]
    assert {step["status"] for step in steps()} == {"ok"}


def test_retries_inside_the_client_are_one_step_and_every_billed_attempt_counts(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    billed = {"error": {"message": "late"}, "usage": {"prompt_tokens": 7, "completion_tokens": 1}}
    provider.answers(answer(drop=True), answer(billed, status=500), answer(completion()))

    client.chat.completions.create(model="m", messages=MESSAGES)

    (step,) = steps()
    assert (step["status"], step["tries"]) == ("ok", 3)
    assert step["usage"] == {"input_tokens": 17, "output_tokens": 6}
    assert step["attributes"]["tracekit.tries_without_answer"] == 1


def test_an_error_passes_through_untouched_and_says_how_often_it_was_tried(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer({"error": {"message": "slow down", "code": "rate_limit"}}, status=429))

    with pytest.raises(sdk.RateLimitError) as raised:
        client.chat.completions.create(model="m", messages=MESSAGES)

    assert raised.value.status_code == 429
    (step,) = steps()
    assert (step["status"], step["tries"], step["error_type"]) == ("error", 3, "openai.RateLimitError")


def test_an_answer_that_is_no_completion_keeps_its_bytes(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(b"<html>maintenance</html>", headers={"Content-Type": "text/html"}))

    client.chat.completions.create(model="m", messages=MESSAGES)

    (step,) = steps()
    assert step["model_raw_output"] == "<html>maintenance</html>"
    assert step["error_type"] == "unreadable_answer"


RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "scripted-1",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "I pay.", "annotations": []}]},
        {"type": "function_call", "id": "f1", "call_id": "call_1", "name": "refund", "arguments": ARGUMENTS,
         "status": "completed"},
    ],
    "usage": {"input_tokens": 11, "output_tokens": 6, "total_tokens": 17},
}  # fmt: skip


def test_a_response_is_a_model_step_whose_items_are_messages(
    client: Any, provider: Any, answer: Any, steps: Any, messages_of: Any
) -> None:
    provider.answers(answer(RESPONSE))
    items = [
        {"role": "user", "content": "A-1024 broke."},
        {"type": "function_call", "call_id": "c0", "name": "find", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c0", "output": "found"},
    ]

    client.responses.create(model="m", instructions="You refund.", input=items, previous_response_id="r0")

    (step,) = steps()
    assert step["model_raw_output"] == f"I pay.\n{ARGUMENTS}"
    assert step["asked"][0]["call_id"] == "call_1"
    assert step["usage"] == {"input_tokens": 11, "output_tokens": 6}
    assert step["context"]["complete"] is False
    roles = [message["role"] for message in messages_of(step)]
    assert roles == ["system", "user", "assistant", "tool"]


def test_a_streamed_response_is_told_whole_and_when_left_early_by_its_deltas(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    def named(kind: str, **more: Any) -> str:
        return f"event: {kind}\n" + event({"type": kind, "sequence_number": 1, **more})

    empty = {**RESPONSE, "status": "in_progress", "output": [], "usage": None}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress", "content": []}
    part = {"item_id": "m1", "output_index": 0, "content_index": 0, "logprobs": []}
    start = [
        named("response.created", response=empty),
        named("response.output_item.added", output_index=0, item=item),
        named("response.output_text.delta", delta="I ", **part),
        named("response.output_text.delta", delta="pay.", **part),
    ]
    filler = [named("response.in_progress", response={**empty, "metadata": {"x": "y" * 100_000}})] * 40
    provider.answers(
        answer(events=[*start, named("response.completed", response=RESPONSE)]),
        answer(events=[*start, *filler]),
    )

    list(client.responses.create(model="m", input="A-1024 broke.", stream=True))
    left = client.responses.create(model="m", input="A-1024 broke.", stream=True)
    for seen in left:
        if getattr(seen, "delta", "") == "pay.":
            break
    left.close()

    whole, early = steps()
    assert (whole["status"], whole["model_raw_output"]) == ("ok", f"I pay.\n{ARGUMENTS}")
    assert (early["status"], early["model_raw_output"]) == ("abandoned", "I pay.")


def test_inside_a_durable_model_call_there_is_still_one_step(
    client: Any, provider: Any, answer: Any, steps: Any, home: Any
) -> None:
    provider.answers(answer(drop=True), answer(completion()))

    @tracekit.task()
    def talk(run: tracekit.Run) -> str:
        def ask(messages: list[Any]) -> Any:
            return client.chat.completions.create(model="m", messages=messages)

        return str(run.model(ask, MESSAGES).text)

    assert talk.start(task_id="t1") == "Done."

    models = [step for step in steps() if step["kind"] == "model"]
    assert len(models) == 1
    assert models[0]["attributes"]["tracekit.client_tries"] == 2
    assert models[0]["usage"] == {"input_tokens": 10, "output_tokens": 5}


def test_a_client_over_plain_httpx_is_recorded_too(home: Any, provider: Any, answer: Any, steps: Any) -> None:
    openai.instrument()
    provider.answers(answer(completion()), answer(events=TEXT_STREAM))

    with httpx.Client() as transport:
        client = sdk.OpenAI(api_key="k", base_url=f"{provider.url}/v1", http_client=transport)
        client.chat.completions.create(model="m", messages=MESSAGES)
        list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    assert [step["model_raw_output"] for step in steps()] == ["Done.", "Grüß dich."]


def test_a_foreign_span_around_the_call_counts_no_second_time(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(completion()))
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}

    tracer = trace.get_tracer("another instrumentation")
    with tracer.start_as_current_span("chat m", attributes=attributes) as span:
        client.chat.completions.create(model="m", messages=MESSAGES)
        span.set_attribute("gen_ai.usage.input_tokens", 10)

    outer, inner = steps()
    assert (outer["kind"], inner["kind"]) == ("step", "model")
    assert inner["parent_step_id"] == outer["step_id"]
    assert "usage" not in outer


def test_after_uninstrument_nothing_more_is_recorded(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(completion()))
    client.chat.completions.create(model="m", messages=MESSAGES)

    openai.uninstrument()
    client.chat.completions.create(model="m", messages=MESSAGES)

    assert len(steps()) == 1


def test_other_requests_of_the_client_are_no_model_steps(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer({"object": "list", "data": []}))

    client.models.list()

    assert steps() == []
