"""
A durable agent on the Anthropic SDK: messages and tool results have its shapes, in both directions.

    python examples/with_services.py examples/anthropic_sdk.py "The lamp of order A-1024 came broken."
"""

from __future__ import annotations

import os
import sys
from typing import Any

from anthropic import Anthropic
from refund_agent.agent import SYSTEM, TOOLS

import tracekit

BASE_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8802/v1").removesuffix("/v1")


def ask(messages: list[Any], tools: list[Any]) -> Any:
    """One message of the model. tracekit hands tools over in OpenAI's shape; Anthropic's is flat."""
    flat: Any = [
        {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
        for each in (tool["function"] for tool in tools)
    ]
    # A resumed model is told so by a system message; Anthropic takes those apart from the others.
    system = "\n\n".join([SYSTEM, *(each["content"] for each in messages if each["role"] == "system")])
    talk: Any = [each for each in messages if each["role"] != "system"]
    client = Anthropic(base_url=BASE_URL, api_key=os.environ.get("ANTHROPIC_API_KEY", "none"), max_retries=0)
    return client.messages.create(
        model="scripted-refund-1", max_tokens=1000, system=system, messages=talk, tools=flat
    )


@tracekit.task(goal="Give the customer back what the returned goods cost")
def handle_ticket(run: tracekit.Run, ticket: str) -> str:
    messages: list[Any] = [{"role": "user", "content": ticket}]
    while True:
        reply = run.model(ask, messages, tools=TOOLS)
        messages.append(reply.message)
        if not reply.tool_calls:
            return reply.text
        messages += run.tools(reply.tool_calls)


if __name__ == "__main__":
    tracekit.init(service="anthropic-sdk")
    print(handle_ticket.start(sys.argv[1], task_id="anthropic-1"))
