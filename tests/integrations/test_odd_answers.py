"""Answers that providers give and clients take, or dislike: what the model said is in the log, whole, either way."""

from __future__ import annotations

import enum
import json
from typing import Any

import anthropic as anthropic_sdk
import openai as openai_sdk
import pydantic
import pytest

from tracekit.integrations import anthropic, openai
from tracekit.recording.recorder import recorder

MESSAGES: list[Any] = [{"role": "user", "content": "A-1024 broke."}]


class Refund(pydantic.BaseModel):
    amount: int


def completion(*messages: dict[str, Any], reason: str = "stop") -> dict[str, Any]:
    choices = [
        {"index": index, "message": {"role": "assistant", **message}, "finish_reason": reason}
        for index, message in enumerate(messages)
    ]
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted-1", "choices": choices}


def event(data: Any) -> str:
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def deltas(*given: dict[str, Any], reason: str = "stop") -> list[str]:
    """A stream of *given* deltas of the first choice; `{"index": 1, ...}` is one of another choice."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1"}
    chunks = [
        {**head, "choices": [{"index": delta.pop("index", 0), "delta": delta, "finish_reason": None}]}
        for delta in given
    ]
    last = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    return [event(each) for each in (*chunks, last, "[DONE]")]


@pytest.fixture
def client(home: Any, provider: Any) -> Any:
    openai.instrument()
    return openai_sdk.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0)


@pytest.fixture
def claude(home: Any, provider: Any) -> Any:
    anthropic.instrument()
    return anthropic_sdk.Anthropic(api_key="k", base_url=provider.url, max_retries=0)


@pytest.mark.parametrize(
    ("text", "reason", "raised"),
    [
        ('{"amount": "much"}', "stop", pydantic.ValidationError),
        ('{"amount": 12', "length", openai_sdk.LengthFinishReasonError),
    ],
)
def test_an_answer_that_the_client_can_not_parse_is_an_error_with_what_the_model_said(
    client: Any, provider: Any, answer: Any, steps: Any, text: str, reason: str, raised: type[Exception]
) -> None:
    used = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    provider.answers(answer({**completion({"content": text}, reason=reason), "usage": used}))

    with pytest.raises(raised):
        client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Refund)

    (step,) = steps()
    assert (step["status"], step["model_raw_output"], step["finish_reason"]) == ("error", text, reason)
    assert step["error_type"].endswith(raised.__name__)
    assert step["usage"] == {"input_tokens": 3, "output_tokens": 4}


def test_the_same_for_anthropic(claude: Any, provider: Any, answer: Any, steps: Any) -> None:
    said = [{"type": "text", "text": '{"amount": "much"}'}]
    provider.answers(
        answer(
            {"id": "m", "type": "message", "role": "assistant", "model": "scripted-1", "content": said,
             "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 4}}
        )
    )  # fmt: skip

    with pytest.raises(pydantic.ValidationError):
        claude.messages.parse(model="m", max_tokens=5, messages=MESSAGES, output_format=Refund)

    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("error", '{"amount": "much"}')


def test_an_answer_that_breaks_off_is_an_error_with_its_bytes(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(b'{"id": "c", "choices": [{"mess'))

    with pytest.raises(json.JSONDecodeError):
        client.chat.completions.create(model="m", messages=MESSAGES)

    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("error", '{"id": "c", "choices": [{"mess')


def test_half_a_character_is_no_failure(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    provider.answers(
        answer(json.dumps(completion({"content": "a\ud83e"}) | {"score": float("nan")}).encode())
    )

    got = client.chat.completions.create(model="m", messages=MESSAGES)

    assert got.choices[0].message.content == "a\ud83e"
    (step,) = steps()
    assert step["status"] == "ok"
    assert json.loads(step["model_raw_output"]["$tk"]["json"]) == "a\ud83e"


def test_a_character_that_a_stream_cuts_in_two_is_whole_again(
    client: Any, claude: Any, provider: Any, answer: Any, steps: Any
) -> None:
    head = {"id": "m", "type": "message", "role": "assistant", "model": "scripted-1", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    halves = [{"type": "text_delta", "text": half} for half in ("\ud83e", "\udd14")]
    blocks = [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[{"type": "content_block_delta", "index": 0, "delta": half} for half in halves],
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]
    provider.answers(
        answer(events=deltas({"content": "\ud83e"}, {"content": "\udd14"})),
        answer(events=[f"event: {block['type']}\n{event(block)}" for block in blocks]),
    )

    list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))
    list(claude.messages.create(model="m", max_tokens=5, messages=MESSAGES, stream=True))

    assert [step["model_raw_output"] for step in steps()] == ["\N{THINKING FACE}"] * 2


def test_every_choice_is_kept_streamed_or_not(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    provider.answers(
        answer(completion({"content": "One."}, {"content": "Two."})),
        answer(events=deltas({"content": "One"}, {"index": 1, "content": "Two."}, {"content": "."})),
    )

    client.chat.completions.create(model="m", messages=MESSAGES, n=2)
    list(client.chat.completions.create(model="m", messages=MESSAGES, n=2, stream=True))

    for step in steps():
        assert step["model_raw_output"] == "One."
        assert [message["content"] for message in step["output_snapshot"]] == ["One.", "Two."]


def test_what_else_a_stream_says_is_gathered_too(client: Any, provider: Any, answer: Any, steps: Any) -> None:
    provider.answers(
        answer(
            events=deltas(
                {"role": "assistant", "reasoning_content": "First "},
                {"reasoning_content": "look."},
                {"function_call": {"name": "find_order", "arguments": '{"id":'}},
                {"function_call": {"arguments": '  "A"}'}},
                reason="function_call",
            )
        )
    )

    list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))

    (step,) = steps()
    assert step["output_snapshot"]["reasoning_content"] == "First look."
    assert step["asked"] == [{"call_id": None, "name": "find_order", "arguments": '{"id":  "A"}'}]
    assert step["model_raw_output"] == '{"id":  "A"}'


def test_arguments_that_come_as_an_object_and_ids_that_are_missing_end_the_step_all_the_same(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    calls = [
        {"id": None, "type": "function", "function": {"name": "find", "arguments": None}},
        {"id": 7, "type": "function", "function": {"name": "refund", "arguments": {"id": "A"}}},
    ]
    provider.answers(answer(completion({"content": None, "tool_calls": calls})))

    client.chat.completions.create(model="m", messages=MESSAGES)

    (step,) = steps()
    assert step["status"] == "ok"
    assert [call["arguments"] for call in step["asked"]] == ["", '{"id":"A"}']


class Model(str, enum.Enum):  # noqa: UP042  as many write it
    SMALL = "scripted-small"


@pytest.mark.parametrize(("model", "shown"), [(Model.SMALL, "scripted-small"), (7, "7"), (None, None)])
def test_a_model_may_be_named_by_more_than_text(
    client: Any, provider: Any, answer: Any, steps: Any, model: Any, shown: str | None
) -> None:
    provider.answers(answer({"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}))

    client.chat.completions.create(model=model, messages=MESSAGES)

    (step,) = steps()
    assert (step.get("model"), step["model_raw_output"]) == (shown, "Yes.")
    assert recorder().log.troubles == 0


def test_a_response_that_is_left_early_keeps_the_pieces_of_every_kind_of_item(
    client: Any, provider: Any, answer: Any, steps: Any
) -> None:
    def named(kind: str, **more: Any) -> str:
        return f"event: {kind}\n" + event({"type": kind, "sequence_number": 1, **more})

    call = {"type": "custom_tool_call", "id": "t1", "call_id": "c1", "name": "run", "input": ""}
    pieces = [
        named("response.output_item.added", output_index=0, item=call),
        named("response.custom_tool_call_input.delta", output_index=0, item_id="t1", delta="SELECT "),
        named("response.custom_tool_call_input.delta", output_index=0, item_id="t1", delta="1"),
    ]
    filler = [named("response.keepalive", more="x" * 100_000)] * 40
    provider.answers(answer(events=[*pieces, *filler]))

    stream = client.responses.create(model="m", input="A-1024 broke.", stream=True)
    for seen in stream:
        if getattr(seen, "delta", "") == "1":
            break
    stream.close()

    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("abandoned", "SELECT 1")
    assert step["asked"] == [{"call_id": "c1", "name": "run", "arguments": "SELECT 1"}]


def test_items_beside_the_messages_of_a_response_are_kept_whole(
    client: Any, provider: Any, answer: Any, steps: Any, messages_of: Any
) -> None:
    thought = {"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "First look."}]}
    items = [
        thought,
        {**thought, "id": "rs2"},
        {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "SELECT 1"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
        {"type": "item_reference", "id": "m9"},
    ]
    provider.answers(answer({"id": "r", "object": "response", "status": "completed", "output": []}))

    client.responses.create(model="m", input=items)

    (step,) = steps()
    assert step["context"]["complete"] is False
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "SELECT 1"}}
    assert messages_of(step) == [
        {"role": "assistant", "content": [items[0]]},
        {"role": "assistant", "content": [items[1]]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "user", "content": [items[4]]},
    ]
