"""LangChain's and LangGraph's own tools: recorded with what they received, effects at most once across a crash."""

from __future__ import annotations

import json
from typing import Annotated, Any

import openai as openai_sdk
import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, InjectedToolArg, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

import tracekit
from tracekit.integrations import langchain, openai


@pytest.fixture(autouse=True)
def instrumented(home: Any) -> None:
    langchain.instrument()


def asked(name: str, call_id: str = "call_1", **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "args": args, "id": call_id}


def test_a_tool_step_holds_what_the_function_received(steps: Any) -> None:
    @tool
    def find(
        order_id: str, count: int = 1, secret_state: Annotated[Any, InjectedToolArg] = None
    ) -> dict[str, Any]:
        """Find an order."""
        return {"order": order_id, "count": count}

    message = find.invoke(asked("find", order_id="A-1024", count="3"))

    assert json.loads(message.content) == {"order": "A-1024", "count": 3}
    (step,) = steps()
    assert (step["kind"], step["tool_name"], step["call_id"], step["status"]) == (
        "tool",
        "find",
        "call_1",
        "ok",
    )
    assert step["input_snapshot"] == {"order_id": "A-1024", "count": 3}
    assert step["output_snapshot"] == {"order": "A-1024", "count": 3}


async def test_async_and_plain_functions_are_one_step_each_under_ainvoke(steps: Any) -> None:
    @tool
    async def find_async(order_id: str) -> str:
        """Find an order."""
        return order_id

    @tool
    def find_plain(order_id: str) -> str:
        """Find an order."""
        return order_id

    async with tracekit.step("outer"):
        await find_async.ainvoke(asked("find_async", order_id="A"))
        await find_plain.ainvoke(asked("find_plain", order_id="B"))

    outer, *inner = steps()
    assert [step["tool_name"] for step in inner] == ["find_async", "find_plain"]
    assert {step["parent_step_id"] for step in inner} == {outer["step_id"]}


def test_a_tool_written_as_a_class_is_recorded(steps: Any) -> None:
    class Find(BaseTool):
        name: str = "find"
        description: str = "Find an order."

        def _run(self, order_id: str) -> str:
            return order_id

    assert Find().invoke({"order_id": "A-1024"}) == "A-1024"

    assert [step["input_snapshot"] for step in steps()] == [{"order_id": "A-1024"}]


def test_arguments_that_do_not_fit_are_a_failed_step(steps: Any) -> None:
    @tool
    def find(count: int) -> str:
        """Find orders."""
        return str(count)

    with pytest.raises(Exception, match="count"):
        find.invoke(asked("find", count="many"))

    (step,) = steps()
    assert (step["status"], step["input_snapshot"]) == ("error", {"count": "many"})
    assert step["error_type"].endswith("ValidationError")


def test_an_error_of_the_tool_passes_through_and_is_told(steps: Any) -> None:
    @tool
    def find(order_id: str) -> str:
        """Find an order."""
        raise LookupError(order_id)

    with pytest.raises(LookupError):
        find.invoke(asked("find", order_id="A-1024"))

    assert [(step["status"], step["error_type"]) for step in steps()] == [("error", "LookupError")]


def test_a_tracekit_tool_given_to_langchain_is_one_step_with_its_call(steps: Any) -> None:
    @tool
    @tracekit.tool(effect="read", name="lookup")
    def lookup(order_id: str) -> str:
        """Find an order."""
        return order_id

    assert lookup.invoke(asked("lookup", call_id="c7", order_id="A")).content == "A"

    (step,) = steps()
    assert (step["tool_name"], step["call_id"], step["input_snapshot"]) == ("lookup", "c7", {"order_id": "A"})


def test_a_guarded_tool_is_asked_once_over_two_runs_of_a_scope(steps: Any) -> None:
    paid: list[str] = []

    @tool
    def refund(order_id: str, amount: str) -> dict[str, str]:
        """Pay back."""
        paid.append(tracekit.idempotency_key() or "")
        return {"refunded": amount}

    refund = langchain.guard(refund, effect="payment")
    for _ in range(2):
        with tracekit.task_scope("ticket-1"):
            said = refund.invoke(asked("refund", order_id="A", amount="12.50"))

    assert json.loads(said.content) == {"refunded": "12.50"}
    assert len(paid) == 1
    assert paid[0]
    (step,) = [step for step in steps() if step["kind"] == "tool"]
    assert (step["effect"]["status"], step["call_id"]) == ("success", "call_1")


def test_a_tool_without_a_function_can_not_be_guarded() -> None:
    class Odd(BaseTool):
        name: str = "odd"
        description: str = "Odd."

        def _run(self) -> str:
            return ""

    with pytest.raises(tracekit.TracekitError, match="StructuredTool"):
        langchain.guard(Odd(), effect="write")


def completion(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "scripted-1",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def calls(*names: str) -> dict[str, Any]:
    listed = [
        {
            "id": f"call_{name}",
            "type": "function",
            "function": {"name": name, "arguments": '{"order_id": "A-1024"}'},
        }
        for name in names
    ]
    return completion({"content": None, "tool_calls": listed})


def test_a_graph_that_dies_after_paying_does_not_pay_again(provider: Any, answer: Any, steps: Any) -> None:
    openai.instrument()
    client = openai_sdk.OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0)
    paid: list[str] = []

    @tool
    def refund(order_id: str) -> str:
        """Pay back."""
        paid.append(order_id)
        return "paid"

    def model(state: MessagesState) -> dict[str, Any]:
        said = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "A-1024"}])
        asked_now = said.choices[0].message.tool_calls or []
        return {
            "messages": [
                {
                    "role": "assistant",
                    "content": said.choices[0].message.content or "",
                    "tool_calls": [
                        {
                            "type": "tool_call",
                            "id": c.id,
                            "name": c.function.name,
                            "args": json.loads(c.function.arguments),
                        }
                        for c in asked_now
                    ],
                }
            ]
        }

    def route(state: MessagesState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    tools = [langchain.guard(refund, effect="payment")]
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=False))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", route)
    builder.add_edge("tools", "model")
    graph = builder.compile()

    provider.answers(answer(calls("refund")), answer(drop=True))
    with pytest.raises(openai_sdk.APIConnectionError), tracekit.task_scope("ticket-1"):
        graph.invoke({"messages": [("user", "A-1024 broke.")]})
    provider.answers(answer(calls("refund")), answer(completion({"content": "Done."})))
    with tracekit.task_scope("ticket-1"):
        final = graph.invoke({"messages": [("user", "A-1024 broke.")]})

    assert final["messages"][-1].content == "Done."
    assert paid == ["A-1024"]
    assert [message.content for message in final["messages"] if message.type == "tool"] == ["paid"]
    booked = [step for step in steps() if step["kind"] == "tool" and step.get("effect")]
    assert [(step["tool_name"], step["call_id"]) for step in booked] == [("refund", "call_refund")]
    roots = {step["step_id"] for step in steps() if step["kind"] == "task"}
    assert all(step["parent_step_id"] in roots for step in steps() if step["kind"] == "model")


async def test_an_async_tracekit_tool_is_awaited_as_the_function_that_it_is(steps: Any) -> None:
    @tool
    @tracekit.tool(effect="read", name="lookup")
    async def lookup(order_id: str) -> str:
        """Find an order."""
        return order_id

    said = await lookup.ainvoke(asked("lookup", call_id="c7", order_id="A"))

    assert said.content == "A"
    (step,) = steps()
    assert (step["call_id"], step["output_snapshot"]) == ("c7", "A")


def test_a_tool_that_waits_for_a_person_was_left_and_did_not_fail(steps: Any) -> None:
    @tool
    def ask(question: str) -> str:
        """Ask a person."""
        return str(interrupt({"question": question}))

    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([ask]))
    builder.add_edge(START, "tools")
    graph = builder.compile(checkpointer=InMemorySaver())
    place: Any = {"configurable": {"thread_id": "1"}}
    call = AIMessage("", tool_calls=[asked("ask", question="Pay?")])

    graph.invoke({"messages": [call]}, place)
    final = graph.invoke(Command(resume="Yes."), place)

    assert final["messages"][-1].content == "Yes."
    assert [(step["status"], step["call_id"]) for step in steps()] == [
        ("abandoned", "call_1"),
        ("ok", "call_1"),
    ]
