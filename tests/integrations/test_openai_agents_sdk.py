"""OpenAI's Agents SDK, run against a model on loopback."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import agents
import openai as openai_sdk
import pytest
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool

import tracekit
from tracekit.integrations import openai_agents

ARGUMENTS = '{"order_id":  "A-1024"}'


def completion(text: str | None = None, call: str | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if call:
        function = {"name": call, "arguments": ARGUMENTS}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "scripted-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5},
    }  # fmt: skip


@pytest.fixture(autouse=True)
def instrumented(home: Any) -> None:
    agents.set_trace_processors([])  # nothing is sent to the vendor
    openai_agents._is_added = False
    openai_agents.instrument()


def agent(provider: Any, *tools: Any) -> Agent[Any]:
    client = openai_sdk.AsyncOpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0)
    model = OpenAIChatCompletionsModel(model="m", openai_client=client)
    return Agent(name="refunds", instructions="You refund.", tools=list(tools), model=model)


async def test_a_run_is_a_tree_of_agent_model_and_tool_steps(provider: Any, answer: Any, steps: Any) -> None:
    @function_tool
    def find_order(order_id: str) -> str:
        """Find an order."""
        return f"{order_id} was delivered"

    provider.answers(answer(completion(call="find_order")), answer(completion("Done.")))

    result = await Runner.run(agent(provider, find_order), "A-1024 broke.")

    assert result.final_output == "Done."
    found = steps()
    by_id = {step["step_id"]: step for step in found}
    models = [step for step in found if step["kind"] == "model"]
    (tool,) = [step for step in found if step["kind"] == "tool"]
    assert [step["model_raw_output"] for step in models] == [ARGUMENTS, "Done."]
    assert (tool["tool_name"], tool["status"], tool["output_snapshot"]) == (
        "find_order",
        "ok",
        "A-1024 was delivered",
    )
    assert (tool["input_snapshot"], tool["model_raw_output"]) == ({"order_id": "A-1024"}, ARGUMENTS)
    assert {step["status"] for step in found} == {"ok"}
    assert len({step["trace_id"] for step in found}) == 1
    for step in (tool, *models):
        above, names = step, []
        while above["parent_step_id"]:
            above = by_id[above["parent_step_id"]]
            names.append((above["kind"], above["name"]))
        assert ("agent", "refunds") in names


async def test_a_streamed_run_leaves_nothing_current_behind(provider: Any, answer: Any, steps: Any) -> None:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1"}
    chunk = {
        **head,
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}
        ],
    }
    provider.answers(answer(events=[f"data: {json.dumps(chunk)}\n\n", "data: [DONE]\n\n"]))

    run = Runner.run_streamed(agent(provider), "A-1024 broke.")
    async for _ in run.stream_events():
        pass
    with tracekit.step("afterwards"):
        pass

    found = steps()
    assert [step["model_raw_output"] for step in found if step["kind"] == "model"] == ["Done."]
    assert found[-1]["name"] == "afterwards"
    assert found[-1]["parent_step_id"] is None
    assert {step["status"] for step in found} == {"ok"}


async def test_a_tracekit_tool_inside_is_the_one_tool_step_and_is_guarded(
    provider: Any, answer: Any, steps: Any
) -> None:
    paid: list[str] = []

    @tracekit.tool(effect="payment", name="refund")
    def pay(order_id: str) -> str:
        paid.append(tracekit.idempotency_key() or "")
        return "paid"

    @function_tool(name_override="refund")
    def refund(order_id: str) -> str:
        """Pay back."""
        return str(pay(order_id))

    for _ in range(2):
        provider.answers(answer(completion(call="refund")), answer(completion("Done.")))
        with tracekit.task_scope("ticket-1"):
            await Runner.run(agent(provider, refund), "A-1024 broke.")

    assert len(paid) == 1
    assert paid[0]
    (tool,) = [step for step in steps() if step["kind"] == "tool"]
    assert tool["effect"]["status"] == "success"


async def test_a_tracekit_tool_can_be_handed_over_as_it_is(provider: Any, answer: Any, steps: Any) -> None:
    @tracekit.tool(effect="read")
    def find_order(order_id: str) -> str:
        """Find an order."""
        return order_id

    provider.answers(answer(completion(call="find_order")), answer(completion("Done.")))

    await Runner.run(agent(provider, function_tool(find_order)), "A-1024 broke.")

    (tool,) = [step for step in steps() if step["kind"] == "tool"]
    assert (tool["input_snapshot"], tool["output_snapshot"]) == ({"order_id": "A-1024"}, "A-1024")


async def test_an_error_of_a_tool_is_told(provider: Any, answer: Any, steps: Any) -> None:
    @function_tool(failure_error_function=None)
    def find_order(order_id: str) -> str:
        """Find an order."""
        raise LookupError(order_id)

    provider.answers(answer(completion(call="find_order")))

    with pytest.raises(Exception, match="A-1024"):
        await Runner.run(agent(provider, find_order), "A-1024 broke.")

    (tool,) = [step for step in steps() if step["kind"] == "tool"]
    assert tool["status"] == "error"
    assert "A-1024" in tool["error_message"]


def asking(*calls: tuple[str, str, str]) -> dict[str, Any]:
    """An answer that asks for *calls* (id, name, arguments) at once."""
    asked = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    answer = completion()
    answer["choices"][0]["message"]["tool_calls"] = asked
    return answer


@pytest.mark.parametrize("kind", ["plain", "tracekit"])
async def test_calls_side_by_side_are_told_apart_by_the_ids_that_the_model_gave(
    provider: Any, answer: Any, steps: Any, kind: str
) -> None:
    async def find_order(order_id: str) -> str:
        """Find an order."""
        await asyncio.sleep(0.02 if order_id == "A" else 0)
        return f"{order_id} found"

    declared: Any = find_order if kind == "plain" else tracekit.tool(effect="read")(find_order)
    both = asking(("c1", "find_order", '{"order_id":"A"}'), ("c2", "find_order", '{"order_id":"B"}'))
    provider.answers(answer(both), answer(completion("Done.")))

    await Runner.run(agent(provider, function_tool(declared)), "A and B broke.")

    found = [step for step in steps() if step["kind"] == "tool"]
    assert [(step["call_id"], step["input_snapshot"], step["output_snapshot"]) for step in found] == [
        ("c1", {"order_id": "A"}, "A found"),
        ("c2", {"order_id": "B"}, "B found"),
    ]
    told = [message for message in provider.requests[1]["body"]["messages"] if message["role"] == "tool"]
    assert [(message["tool_call_id"], message["content"]) for message in told] == [
        ("c1", "A found"),
        ("c2", "B found"),
    ]


async def test_a_run_that_raises_is_an_error_up_to_its_root(provider: Any, answer: Any, steps: Any) -> None:
    provider.answers(answer(drop=True))

    with pytest.raises(openai_sdk.APIConnectionError):
        await Runner.run(agent(provider), "A-1024 broke.")

    assert {(step["status"], step["error_type"]) for step in steps()} == {
        ("error", "openai.APIConnectionError")
    }


async def test_an_error_that_was_handled_before_is_not_the_runs_own(
    provider: Any, answer: Any, steps: Any
) -> None:
    provider.answers(answer(completion("Done.")))

    try:
        raise LookupError("the first agent failed")
    except LookupError:
        await Runner.run(agent(provider), "A-1024 broke.")

    assert {step["status"] for step in steps()} == {"ok"}


async def test_an_error_that_the_model_is_told_of_is_the_one_that_was_raised(
    provider: Any, answer: Any, steps: Any
) -> None:
    @function_tool
    def find_order(order_id: str) -> str:
        """Find an order."""
        raise LookupError(order_id)

    provider.answers(answer(completion(call="find_order")), answer(completion("Sorry.")))

    assert (await Runner.run(agent(provider, find_order), "A-1024 broke.")).final_output == "Sorry."

    (failed,) = [step for step in steps() if step["status"] != "ok"]
    assert (failed["kind"], failed["error_type"], failed["error_message"]) == (
        "tool",
        "LookupError",
        "A-1024",
    )
    assert "error occurred" in failed["output_snapshot"]


async def test_a_tool_that_is_cancelled_did_not_end_well(provider: Any, answer: Any, steps: Any) -> None:
    @function_tool
    async def find_order(order_id: str) -> str:
        """Find an order."""
        await asyncio.sleep(60)
        return order_id

    provider.answers(answer(completion(call="find_order")))

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(Runner.run(agent(provider, find_order), "A-1024 broke."), 0.5)

    (tool,) = [step for step in steps() if step["kind"] == "tool"]
    assert (tool["status"], tool["error_type"]) == ("error", "asyncio.exceptions.CancelledError")
    assert steps()[0]["status"] == "error"


async def test_after_uninstrument_the_sdk_is_as_it_was(provider: Any, answer: Any, steps: Any) -> None:
    openai_agents.uninstrument()

    assert not hasattr(agents.tracing.spans.SpanImpl.set_error, "__wrapped__")
    assert not hasattr(agents.tool_context.ToolContext.__init__, "__wrapped__")
