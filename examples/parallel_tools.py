"""
Several calls side by side: look-ups and payments of one customer's orders at once, each booked for itself.

    python examples/with_services.py examples/parallel_tools.py

Killed anywhere, it goes on with what is not done: the order in which parallel calls *end* makes no difference.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import httpx

import tracekit
from tracekit.integrations import httpx as httpx_integration

WORLD_URL = os.environ.get("WORLD_URL", "http://127.0.0.1:8801")
ORDERS = ["A-1024", "A-1025", "B-2001"]

Json = dict[str, Any]


async def world(method: str, path: str, body: Json | None = None) -> Json:
    """What the services answer; the integration sends the key of the effect along as `Idempotency-Key`."""
    async with httpx.AsyncClient(base_url=WORLD_URL, timeout=30) as client:
        answer = await client.request(method, path, json=body)
        found: Json = answer.raise_for_status().json()
        return found


async def find_refund(idempotency_key: str) -> Json | None:
    return (await world("GET", f"/refunds?key={idempotency_key}")).get("refund")


@tracekit.tool(effect="read", timeout_s=10)
async def find_order(order_id: str) -> Json:
    return await world("GET", f"/orders/{order_id}")


@tracekit.tool(effect="payment", probe=find_refund, timeout_s=10)
async def refund(order_id: str, amount: str) -> Json:
    return await world("POST", "/refunds", {"order_id": order_id, "amount": amount})


@tracekit.task(goal="Pay back what came back")
async def pay_back(run: tracekit.Run, order_ids: list[str]) -> list[str]:
    orders = await asyncio.gather(*(run.tool(find_order, order_id) for order_id in order_ids))
    due = [(order["order_id"], order["lines"][name]) for order in orders for name in order["returned"]]
    paid = await asyncio.gather(*(run.tool(refund, order_id, amount) for order_id, amount in due))
    return [receipt["refund_id"] for receipt in paid]


if __name__ == "__main__":
    tracekit.init(service="parallel-tools")
    httpx_integration.instrument()
    print(pay_back.start(ORDERS, task_id="parallel-1"))
