"""A task that pays by starting another task; the payment service moves the money and never answers."""

from __future__ import annotations

import os
from pathlib import Path

import tracekit

WORLD = Path(os.environ.get("AGENT_WORLD", "world.jsonl"))


@tracekit.tool(effect="payment")
def pay(order_id: str, amount: int) -> str:
    """Moves the money."""
    with WORLD.open("a") as file:
        file.write(f"{order_id} {amount}\n")
    raise TimeoutError("no answer")


@tracekit.task
def pay_order(run: tracekit.SyncRun, order_id: str) -> str:
    """Pay one order."""
    return str(run.tool(pay, order_id, 5))


@tracekit.task
def pay_all(run: tracekit.SyncRun) -> str:
    """Pay all orders."""
    return "all: " + pay_order.start("A-1024", task_id="inner")


if __name__ == "__main__":
    tracekit.init(service="nested")
    pay_all.start(task_id="outer")
