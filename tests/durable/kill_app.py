"""
An agent whose effects are counted in a file outside of the store: run, killed and resumed by test_kill_matrix.py.

Each effect appends one synced line to WORLD; the line is there even if the process dies with the next instruction.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import tracekit
from tracekit.durable.task import Task

WORLD = Path(os.environ["WORLD"])
FAST = tracekit.Retry(attempts=3, base_s=0.0)


def happened(what: str, **more: Any) -> None:
    """One line that survives whatever comes next."""
    descriptor = os.open(WORLD, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, json.dumps({"what": what, **more}).encode() + b"\n")
    os.fsync(descriptor)
    os.close(descriptor)


def seen(what: str, key: str) -> dict[str, Any] | None:
    """What the world knows under *key*."""
    lines = [json.loads(line) for line in WORLD.read_text().splitlines()] if WORLD.exists() else []
    return next((line for line in lines if line["what"] == what and line.get("key") == key), None)


@tracekit.tool
def find_order(order_id: str) -> dict[str, Any]:
    happened("find_order")
    return {"order_id": order_id, "cents": 9950}


def find_refund(idempotency_key: str) -> dict[str, Any] | None:
    return seen("refund", idempotency_key)


@tracekit.tool(effect="payment", probe=find_refund, retry=FAST)
def refund(order_id: str, cents: int, *, idempotency_key: str) -> dict[str, Any]:
    happened("refund", key=idempotency_key, cents=cents)
    return {"refunded": cents}


@tracekit.tool(effect="notify", idempotent=True, retry=FAST)
def notify(order_id: str) -> str:
    key = tracekit.idempotency_key()
    if seen("notify", str(key)) is None:
        happened("notify", key=key)
    return "told"


@tracekit.tool(effect="irreversible", retry=FAST)
def shred(order_id: str) -> str:
    happened("shred", key=tracekit.idempotency_key())
    return "gone"


@tracekit.tool(effect="payment", probe=find_refund, retry=FAST)
async def refund_async(order_id: str, cents: int, *, idempotency_key: str) -> dict[str, Any]:
    happened("refund", key=idempotency_key, cents=cents)
    await asyncio.sleep(0)
    return {"refunded": cents}


@tracekit.tool(effect="irreversible", retry=FAST)
async def shred_async(order_id: str) -> str:
    happened("shred", key=tracekit.idempotency_key())
    return "gone"


def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A scripted model: first it looks and pays side by side, then it is content."""
    happened("model")
    pay = next(tool["function"]["name"] for tool in tools if "refund" in tool["function"]["name"])
    if any(message["role"] == "tool" for message in messages):
        return {"role": "assistant", "content": "paid back"}
    calls = [("find_order", {"order_id": "A-1"}), (pay, {"order_id": "A-1", "cents": 9950})]
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"c{n}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for n, (name, arguments) in enumerate(calls)
        ],
    }


@tracekit.task(max_recoveries=9, max_attempts=5)
def agent(run: tracekit.Run, order_id: str) -> str:
    """Pay an order back."""
    run.plan(["look and pay", "tell", {"name": "shred", "depends_on": ["tell"]}])
    run.note(order=order_id, at=run.now().isoformat(), run=str(run.uuid()))
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"pay {order_id} back"}]
    reply = run.model(ask, messages, tools=[find_order, refund])
    messages += [reply.message, *run.tools(reply.tool_calls)]
    notify(order_id)
    run.step("think", lambda: happened("think"))
    run.tool(shred, order_id)
    return str(run.model(ask, messages, tools=[find_order, refund]).text)


@tracekit.task(max_recoveries=9, max_attempts=5)
async def agent_async(run: tracekit.Run, order_id: str) -> str:
    """Pay an order back, side by side."""
    run.note(order=order_id)
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"pay {order_id} back"}]
    reply = await run.model(ask, messages, tools=[find_order, refund_async])
    messages += [reply.message, *await run.tools(reply.tool_calls)]
    await asyncio.gather(run.tool(notify, order_id), run.step("think", lambda: happened("think")))
    async with asyncio.TaskGroup() as group:
        shredded = group.create_task(shred_async(order_id))
    assert await shredded == "gone"
    return str((await run.model(ask, messages, tools=[find_order, refund_async])).text)


def find_cancelled(name: str) -> bool:
    return seen("cancel", name) is not None


@tracekit.tool(effect="write", probe=find_cancelled)
def cancel(name: str) -> None:
    happened("cancel", key=name)


@tracekit.tool(effect="write", undo=cancel)
def reserve(name: str) -> str:
    happened("reserve", key=name)
    return name


@tracekit.task(max_recoveries=9)
def journey(run: tracekit.Run, order_id: str) -> str:
    """Book a journey, then ask."""
    reserve("flight")
    reserve("hotel")
    return str(run.ask("Is this right?"))


def main() -> None:
    """`start NAME` or `resume`; prints the result."""
    tracekit.init(service="kill-app", home=os.environ["TRACEKIT_HOME"])
    known: dict[str, Task[Any]] = {"sync": agent, "async": agent_async, "journey": journey}
    try:
        if sys.argv[1] == "start":
            print(known[sys.argv[2]].start("A-1", task_id="t"))
        else:
            print(tracekit.resume("t"))
    except tracekit.RequiresReview as question:
        print(question, file=sys.stderr)
        sys.exit(5)
    except tracekit.TracekitError as error:
        print(error.code, file=sys.stderr)
        sys.exit(4 if error.code == "task.unknown" else 3)


if __name__ == "__main__":
    main()
