"""
A refund agent: looks an order up, computes the refund, pays it, tells the customer.

    python agent.py start "The lamp of order A-1024 came broken." --task ticket-77
    python agent.py resume ticket-77

It may be killed at any moment and resumed in another process: the money moves once. The model is reached over plain
HTTP, as any OpenAI-compatible endpoint is; nothing but tracekit and the standard library is needed.
"""

from __future__ import annotations

import argparse
import json
import os
from decimal import Decimal
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import tracekit

WORLD_URL = os.environ.get("WORLD_URL", "http://127.0.0.1:8801")
MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8802/v1")

SYSTEM = "You handle refunds. Look the order up, compute the refund, pay it, tell the customer."

REFUSALS = (400, 404, 409, 422)
"""HTTP statuses by which a service says that it did nothing, and why."""

Json = dict[str, Any]


def http(method: str, url: str, body: Json | None = None, *, key: str | None = None) -> Json:
    """
    The JSON that *url* answers. A refusal becomes `Rejected` with the service's own words, which the model gets to
    read; all other errors pass through as they are, since they say what became of the request.
    """
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, headers, method=method), timeout=30) as answer:
            found: Json = json.load(answer)
            return found
    except HTTPError as error:
        if error.code in REFUSALS:
            raise tracekit.Rejected(f"{error.code}: {error.read().decode()}") from error
        raise


# ------------------------------------------------------------------------------------------------ tools


@tracekit.tool(effect="read", timeout_s=10)
def find_order(order_id: str) -> Json:
    """The order: its lines with their prices, and which of them came back."""
    return http("GET", f"{WORLD_URL}/orders/{order_id}")


@tracekit.tool(effect="read")
def compute_refund(prices: list[Decimal]) -> Json:
    """What to pay back for the returned lines."""
    return {"amount": str(sum(prices, Decimal(0)))}


def find_refund(idempotency_key: str) -> Json | None:
    """The probe: what the payment service knows under this key. None when it knows nothing."""
    found = http("GET", f"{WORLD_URL}/refunds?key={idempotency_key}")
    return found["refund"] if found["found"] else None


def cancel_refund(result: Json) -> Json:
    """The undo: takes the refund back."""
    return http("POST", f"{WORLD_URL}/refunds/{result['refund_id']}/cancel")


# REFUND_PROBE=off shows the other way: without a probe nobody but a person can say what became of a lost answer.
PROBE = None if os.environ.get("REFUND_PROBE") == "off" else find_refund


@tracekit.tool(effect="payment", probe=PROBE, undo=cancel_refund, timeout_s=10, settle_s=0.2)
def refund(order_id: str, amount: Decimal, *, idempotency_key: str) -> Json:
    """Pays the amount back to the customer."""
    body = {"order_id": order_id, "amount": str(amount)}
    return http("POST", f"{WORLD_URL}/refunds", body, key=idempotency_key)


@tracekit.tool(effect="notify", timeout_s=10)
def notify(order_id: str, text: str) -> Json:
    """Writes to the customer."""
    return http("POST", f"{WORLD_URL}/notifications", {"order_id": order_id, "text": text})


TOOLS = [find_order, compute_refund, refund, notify]

# ------------------------------------------------------------------------------------------------- task


def ask(messages: list[Json], tools: list[Json]) -> Json:
    """One completion of the model."""
    return http(
        "POST",
        f"{MODEL_URL}/chat/completions",
        {"model": "scripted-refund-1", "messages": messages, "tools": tools},
    )


@tracekit.task(goal="Give the customer back what the returned goods cost", max_recoveries=5)
def handle_ticket(run: tracekit.Run, ticket: str) -> str:
    """Goes on until the model has nothing more to do; returns what it says at the end."""
    messages: list[Json] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ticket}]
    while True:
        reply = run.model(ask, messages, tools=TOOLS)
        messages.append(reply.message)
        if not reply.tool_calls:
            return reply.text
        messages += run.tools(reply.tool_calls)


# ---------------------------------------------------------------------------------------------- program


def main() -> None:
    """Start a task, or go on with one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="handle a ticket")
    start.add_argument("ticket", help="what the customer wrote")
    start.add_argument("--task", default="ticket-77", help="task id")
    commands.add_parser("resume", help="go on with a task").add_argument("task", help="task id")
    options = parser.parse_args()

    tracekit.init(service="refund-agent")
    try:
        if options.command == "start":
            print(handle_ticket.start(options.ticket, task_id=options.task))
        else:
            print(tracekit.resume(options.task))
    except tracekit.RequiresReview as question:
        # Not a failure: a person has to say what became of the payment. `tracekit review` shows and decides.
        parser.exit(5, f"waiting for a person: {question}\n")
    except HTTPError as error:
        parser.exit(1, f"{error.url}: {error}\n")


if __name__ == "__main__":
    main()
