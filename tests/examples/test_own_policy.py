"""A scripted model that says what the test wants: the policy is a function of the test's own file."""

from collections.abc import Sequence
from typing import Any

import pytest
from openai import OpenAI

from tracekit.errors import TracekitError
from tracekit.testing import ModelServer, Turn

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"'}}


def policy(messages: Sequence[dict[str, Any]]) -> Turn | dict[str, Any]:
    match messages[-1]["content"]:
        case "cut":
            return {"content": "Let me see.", "tool_calls": [CALL, {**CALL, "id": "c2"}]}
        case "ask":
            return Turn(tool="weather", arguments={"city": "Oslo"})
        case other:
            return Turn(text=f"you said {other}")


def said(base_url: str, text: str, *, streamed: bool = False) -> Any:
    with OpenAI(base_url=base_url, api_key="none") as client:
        messages: Any = [{"role": "user", "content": text}]
        if not streamed:
            return client.chat.completions.create(model="m", messages=messages).choices[0]
        with client.chat.completions.stream(model="m", messages=messages) as events:
            return events.get_final_completion().choices[0]


@pytest.mark.parametrize("streamed", [False, True])
def test_the_model_says_what_the_function_says(streamed: bool) -> None:
    with ModelServer(policy=policy) as model:
        text = said(model.base_url, "hello", streamed=streamed)
        asked = said(model.base_url, "ask", streamed=streamed)

    assert (text.message.content, text.finish_reason) == ("you said hello", "stop")
    assert asked.message.tool_calls[0].function.arguments == '{"city": "Oslo"}'


def test_a_message_goes_out_as_it_is_also_when_no_client_could_read_its_arguments() -> None:
    with ModelServer(policy=policy) as model:
        choice = said(model.base_url, "cut")

    assert choice.finish_reason == "tool_calls"
    assert [call.id for call in choice.message.tool_calls] == ["c1", "c2"]
    assert choice.message.tool_calls[0].function.arguments == '{"city": "Oslo"'


def test_a_function_that_the_process_could_not_find_is_refused() -> None:
    with pytest.raises(TracekitError) as refused:
        ModelServer(policy=lambda messages: Turn(text="no"))

    assert refused.value.code == "testing.policy"
