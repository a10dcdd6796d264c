"""
The same refund agent with the clients that most agents use: `openai` for the model, `httpx` for the services, asyncio.

    python openai_agent.py start "The lamp of order A-1024 came broken." --task ticket-78
    python openai_agent.py resume ticket-78

Needs `pip install openai` (which brings httpx). Set `MODEL_URL` and `OPENAI_API_KEY` to talk to a real model.
"""

from __future__ import annotations

import os
import sys
from decimal import Decimal
from typing import Any

import httpx
from openai import AsyncOpenAI

import tracekit

WORLD_URL = os.environ.get("WORLD_URL", "http://127.0.0.1:8801")
MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8802/v1")
MODEL = os.environ.get("MODEL", "scripted-refund-1")

SYSTEM = "You handle refunds. Look the order up, compute the refund, pay it, tell the customer."

Json = dict[str, Any]


async def world(method: str, path: str, body: Json | None = None, *, key: str | None = None) -> Json:
    """What a service answers; a refusal with its words, httpx's other errors as they are."""
    async with httpx.AsyncClient(base_url=WORLD_URL, timeout=30) as client:
        answer = await client.request(
            method, path, json=body, headers={"Idempotency-Key": key} if key else {}
        )
    if answer.status_code in (400, 404, 409, 422):
        raise tracekit.Rejected(f"{answer.status_code}: {answer.text}")
    found: Json = answer.raise_for_status().json()
    return found


@tracekit.tool(effect="read", timeout_s=10)
async def find_order(order_id: str) -> Json:
    """The order: its lines with their prices, and which of them came back."""
    return await world("GET", f"/orders/{order_id}")


@tracekit.tool(effect="read")
def compute_refund(prices: list[Decimal]) -> Json:
    """What to pay back for the returned lines."""
    return {"amount": str(sum(prices, Decimal(0)))}


async def find_refund(idempotency_key: str) -> Json | None:
    """The probe: what the payment service knows under this key."""
    found = await world("GET", f"/refunds?key={idempotency_key}")
    return found["refund"] if found["found"] else None


async def cancel_refund(result: Json) -> Json:
    """The undo: takes the refund back."""
    return await world("POST", f"/refunds/{result['refund_id']}/cancel")


@tracekit.tool(effect="payment", probe=find_refund, undo=cancel_refund, timeout_s=10, settle_s=0.2)
async def refund(order_id: str, amount: Decimal, *, idempotency_key: str) -> Json:
    """Pays the amount back to the customer."""
    body = {"order_id": order_id, "amount": str(amount)}
    return await world("POST", "/refunds", body, key=idempotency_key)


@tracekit.tool(effect="notify", timeout_s=10)
async def notify(order_id: str, text: str) -> Json:
    """Writes to the customer."""
    return await world("POST", "/notifications", {"order_id": order_id, "text": text})


async def ask(messages: list[Json], tools: list[Json]) -> Any:
    """One completion of the model, as the client gives it."""
    async with AsyncOpenAI(
        base_url=MODEL_URL, api_key=os.environ.get("OPENAI_API_KEY", "none"), max_retries=0
    ) as client:
        return await client.chat.completions.create(model=MODEL, messages=messages, tools=tools)  # type: ignore[arg-type]


@tracekit.task(goal="Give the customer back what the returned goods cost", max_recoveries=5)
async def handle_ticket(run: tracekit.Run, ticket: str) -> str:
    """Goes on until the model has nothing more to do; returns what it says at the end."""
    messages: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ticket}]
    while True:
        reply = await run.model(ask, messages, tools=[find_order, compute_refund, refund, notify])
        messages.append(reply.message)
        if not reply.tool_calls:
            return reply.text
        messages += await run.tools(reply.tool_calls)


if __name__ == "__main__":
    tracekit.init(service="refund-agent")
    match sys.argv[1:]:
        case ["start", ticket, "--task", task_id]:
            print(handle_ticket.start(ticket, task_id=task_id))
        case ["resume", task_id]:
            print(tracekit.resume(task_id))
        case _:
            sys.exit(__doc__)
