"""
A LangGraph agent whose effects are guarded: the graph runs as always, its payments are booked.

    python examples/with_services.py examples/langgraph_agent.py "The lamp of order A-1024 came broken."

DIE=1 kills the process right after the payment; run again under the same id, the graph starts anew, and the payment
gives its recorded result. Needs `pip install langgraph openai`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from openai import OpenAI
from refund_agent.agent import SYSTEM, TOOLS

import tracekit
from tracekit.integrations import openai as openai_integration

MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8802/v1")
BY_NAME = {tool.name: tool for tool in TOOLS}


class State(TypedDict):
    messages: list[Any]


def model(state: State) -> State:
    client = OpenAI(base_url=MODEL_URL, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    definitions: Any = [tool.definition() for tool in TOOLS]
    completion = client.chat.completions.create(
        model="scripted-refund-1", messages=state["messages"], tools=definitions
    )
    return {"messages": [*state["messages"], completion.choices[0].message.model_dump(exclude_none=True)]}


def tools(state: State) -> State:
    answers = []
    for call in state["messages"][-1]["tool_calls"]:
        function = call["function"]
        tool = BY_NAME[function["name"]]
        result = tool(**tool.parse(function["arguments"]).values)
        answers.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
        if os.environ.get("DIE") and function["name"] == "refund":
            os.kill(os.getpid(), signal.SIGKILL)
    return {"messages": [*state["messages"], *answers]}


def graph() -> Any:
    """model -> tools -> model, until the model asks for nothing more."""
    made = StateGraph(State)
    made.add_node("model", model)
    made.add_node("tools", tools)
    made.add_edge(START, "model")
    made.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].get("tool_calls") else END
    )
    made.add_edge("tools", "model")
    return made.compile()


if __name__ == "__main__":
    tracekit.init(service="langgraph-agent")
    openai_integration.instrument()
    talk = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": sys.argv[1]}]
    with tracekit.task_scope("langgraph-1"):
        print(graph().invoke({"messages": talk})["messages"][-1]["content"])
