"""A refund agent without network: its payment service is a file, and each line in it is money that moved."""

from __future__ import annotations

import json
import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import tracekit

WORLD = Path(os.environ.get("AGENT_WORLD", "world.jsonl"))


@tracekit.tool(effect="read", name="order.query")
def find_order(order_id: str) -> dict[str, Any]:
    """The order."""
    return {"id": order_id, "total": "99.50"}


def find_refund(idempotency_key: str) -> dict[str, Any] | None:
    """What the payment service knows under this key."""
    lines = WORLD.read_text().splitlines() if WORLD.exists() else []
    return next((json.loads(line) for line in lines if json.loads(line)["key"] == idempotency_key), None)


PROBE = None if os.environ.get("AGENT_PROBE") == "off" else find_refund


@tracekit.tool(effect="payment", name="payment.refund", probe=PROBE, settle_s=0)
def refund(order_id: str, amount: Decimal, *, idempotency_key: str) -> dict[str, Any]:
    """Moves the money."""
    entry = {"key": idempotency_key, "order_id": order_id, "amount": str(amount)}
    with WORLD.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    return entry


@tracekit.tool(effect="notify", name="notify.send", idempotent=True)
def notify(text: str) -> str:
    """Tells the customer."""
    return f"sent: {text}"


TOOLS = [find_order, refund, notify]
ASKED = [
    ("order.query", {"order_id": "A-1024"}),
    ("payment.refund", {"order_id": "A-1024", "amount": "99.50"}),
    ("notify.send", {"text": "your money is on its way"}),
]


def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A model that asks for one tool after the other."""
    done = sum(message["role"] == "tool" for message in messages)
    if done == len(ASKED):
        return {"role": "assistant", "content": "The refund of A-1024 is done."}
    name, arguments = ASKED[done]
    call = {
        "id": f"call_{done}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@tracekit.task(max_recoveries=5)
def handle_ticket(run: tracekit.Run, ticket: str) -> str:
    """Refund and tell the customer."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": ticket}]
    while True:
        reply = run.model(ask, messages, tools=TOOLS)
        messages.append(reply.message)
        if not reply.tool_calls:
            return reply.text
        messages += run.tools(reply.tool_calls)


if __name__ == "__main__":
    tracekit.init(service="refunds")
    print(handle_ticket.start("The lamp of order A-1024 came broken.", task_id=sys.argv[1]))
