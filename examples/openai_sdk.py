"""
An agent on the OpenAI SDK that stays as it is: one line records its model calls, a decorator its tools.

    python examples/with_services.py examples/openai_sdk.py "The lamp of order A-1024 came broken."
    tracekit show refund .tracekit

Nothing is durable here; `task_scope` books the effects, so that running the agent again under its id pays nothing twice.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from openai import OpenAI
from refund_agent.agent import SYSTEM, TOOLS

import tracekit
from tracekit.integrations import openai as openai_integration

MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8802/v1")
BY_NAME = {tool.name: tool for tool in TOOLS}


def agent(ticket: str) -> str:
    """A loop as many have one; knows nothing of tracekit but its tools' decorator."""
    client = OpenAI(base_url=MODEL_URL, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ticket}]
    definitions: Any = [tool.definition() for tool in TOOLS]
    while True:
        completion = client.chat.completions.create(
            model="scripted-refund-1", messages=messages, tools=definitions
        )
        said = completion.choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content or ""
        for call in said.tool_calls:
            tool = BY_NAME[call.function.name]
            result = tool(**tool.parse(call.function.arguments).values)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    tracekit.init(service="openai-sdk")
    openai_integration.instrument()
    with tracekit.task_scope("openai-1"):
        print(agent(sys.argv[1]))
