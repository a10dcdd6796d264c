"""
OpenAI's Agents SDK: its runs, turns and tools are recorded, its payments are booked.

    python examples/with_services.py examples/openai_agents_sdk.py "The lamp of order A-1024 came broken."

Needs `pip install openai-agents`. The SDK's own tracing to OpenAI is turned off: nothing leaves the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from decimal import Decimal

import agents
from openai import AsyncOpenAI
from refund_agent import agent as shop

import tracekit
from tracekit.integrations import openai_agents

MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8802/v1")


@agents.function_tool
def find_order(order_id: str) -> str:
    """The order: its lines with their prices, and which of them came back."""
    return json.dumps(shop.find_order(order_id))


@agents.function_tool
def compute_refund(prices: list[str]) -> str:
    """What to pay back for the returned lines."""
    return json.dumps(shop.compute_refund([Decimal(price) for price in prices]))


@agents.function_tool
def refund(order_id: str, amount: str) -> str:
    """Pays the amount back to the customer."""
    return json.dumps(shop.refund(order_id, Decimal(amount)))


@agents.function_tool
def notify(order_id: str, text: str) -> str:
    """Writes to the customer."""
    return json.dumps(shop.notify(order_id, text))


async def main(ticket: str) -> None:
    client = AsyncOpenAI(base_url=MODEL_URL, api_key=os.environ.get("OPENAI_API_KEY", "none"))
    clerk = agents.Agent(
        name="clerk",
        instructions=shop.SYSTEM,
        tools=[find_order, compute_refund, refund, notify],
        model=agents.OpenAIChatCompletionsModel(model="scripted-refund-1", openai_client=client),
    )
    with tracekit.task_scope("agents-1"):
        done = await agents.Runner.run(clerk, ticket)
    print(done.final_output)


if __name__ == "__main__":
    tracekit.init(service="openai-agents-sdk")
    agents.set_trace_processors([])
    openai_agents.instrument()
    asyncio.run(main(sys.argv[1]))
