"""
The tasks that `chaos.py` kills: one with everything a task may hold, one that is rolled back.

The outside world is the file WORLD. A line `did` is an effect, written before its caller knows; a line `ack` is a result
that the agent was given. Every value is random, so a result that was made a second time is another one.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from pathlib import Path
from typing import Any

import tracekit
from tracekit import clock
from tracekit.durable.task import Task

AT_ONCE = tracekit.Retry(attempts=3, base_s=0.0)


class Impatient:
    """The machine's clock; waits take no time, so that a killed task is at its end soon."""

    def __init__(self) -> None:
        real = clock.SystemClock()
        self.now_ns = real.now_ns
        self.monotonic_s = real.monotonic_s
        self.random_hex = real.random_hex

    def sleep(self, seconds: float) -> None:
        """Return at once."""


def write(**line: Any) -> None:
    """One line that survives whatever comes next."""
    descriptor = os.open(os.environ["WORLD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, json.dumps(line).encode() + b"\n")
    os.close(descriptor)


def lines() -> list[dict[str, Any]]:
    """Everything that happened, in order."""
    world = Path(os.environ["WORLD"])
    return [json.loads(line) for line in world.read_text().splitlines()] if world.exists() else []


def done_under(key: str | None) -> str | None:
    """What the world gave for *key*; None when it never heard of it."""
    return next((str(line["value"]) for line in lines() if line.get("did") and line["key"] == key), None)


def do(what: str, key: str | None = None) -> str:
    """An effect, and its answer."""
    value = f"{what}-{uuid.uuid4().hex[:8]}"
    write(did=what, key=key, value=value)
    return value


def first_time(what: str) -> bool:
    """Whether *what* is asked for the first time."""
    before = any(line.get("tried") == what for line in lines())
    write(tried=what)
    return not before


def ack(name: str, value: Any) -> Any:
    """Tell the world what the agent was given."""
    write(ack=name, value=value)
    return value


def probe(idempotency_key: str) -> str | None:
    """What the service says of a key."""
    return done_under(idempotency_key)


@tracekit.tool
def find_order(order: str) -> str:
    return f"order-{uuid.uuid4().hex[:8]}"


@tracekit.tool
async def find_customer(order: str) -> str:
    await asyncio.sleep(0)
    return f"customer-{uuid.uuid4().hex[:8]}"


@tracekit.tool(retry=AT_ONCE)
def find_stock(order: str) -> str:
    if first_time("stock"):
        raise TimeoutError("too slow")
    return f"stock-{uuid.uuid4().hex[:8]}"


@tracekit.tool(effect="payment", probe=probe, retry=AT_ONCE)
async def pay(order: str, *, idempotency_key: str) -> str:
    value = do("pay", idempotency_key)
    await asyncio.sleep(0)
    return value


@tracekit.tool(effect="write", idempotent=True, retry=AT_ONCE)
def book(order: str, *, idempotency_key: str) -> str:
    return done_under(idempotency_key) or do("book", idempotency_key)


@tracekit.tool(effect="notify", idempotent=True, retry=AT_ONCE)
async def tell(order: str, *, idempotency_key: str) -> str:
    return done_under(idempotency_key) or do("tell", idempotency_key)


@tracekit.tool(effect="payment", probe=probe, settle_s=1.0, retry=AT_ONCE)
def lose(order: str, *, idempotency_key: str) -> str:
    """Is done, and its answer is lost: the probe has to find it."""
    do("lose", idempotency_key)
    raise tracekit.OutcomeUnknown("the line broke")


@tracekit.tool(effect="payment", probe=probe)
def by_transfer(order: str, *, idempotency_key: str) -> str:
    return do("transfer", idempotency_key)


@tracekit.tool(effect="payment", probe=probe, retry=tracekit.Retry(attempts=2), fallback=[by_transfer])
def by_card(order: str, *, idempotency_key: str) -> str:
    raise tracekit.NotExecuted("the card service is down")


@tracekit.tool(effect="notify", critical=False, retry=tracekit.Retry(attempts=1))
def gift(order: str) -> str:
    raise tracekit.NotExecuted("out of gifts")


@tracekit.tool(effect="irreversible")
def shred(order: str) -> str:
    return do("shred", tracekit.idempotency_key())


async def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A scripted model; its words are random too."""
    await asyncio.sleep(0)
    text = f"words-{uuid.uuid4().hex[:8]}"
    if len(messages) > 1:
        return {"role": "assistant", "content": text}
    names = ("find_order", "find_customer", "pay", "tell")
    calls = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": '{"order": "A-1"}'}}
        for name in names
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls}


TOOLS = [find_order, find_customer, pay, tell]


@tracekit.task(max_recoveries=30, max_attempts=9, max_context_tokens=300)
async def everything(run: tracekit.Run, order: str) -> str:
    """Reads, effects of every risk, side by side, probe, fallback, a step left out, a question."""
    run.plan(["pay", {"name": "tell", "depends_on": ["pay"]}, {"name": "gift", "critical": False}])
    run.note(order=order, at=run.now().isoformat())
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Pay {order} back"}]
    reply = await run.model(ask, messages, tools=TOOLS)
    ack("model", reply.text)
    messages += [reply.message, *ack("round", await run.tools(reply.tool_calls))]
    await asyncio.gather(
        _acked("stock", run.tool(find_stock, order)),
        _acked("book", run.tool(book, order)),
        _acked("step", run.step("think", lambda: uuid.uuid4().hex)),
    )
    ack("lose", await run.tool(lose, order))
    ack("card", await run.tool(by_card, order))
    ack("gift", await run.tool(gift, order))
    ack("shred", await run.tool(shred, order))
    ack("answer", await run.ask("Is it right?"))
    for number in range(8):
        messages.append({"role": "assistant", "content": f"thought {number} " + "and so on " * 20})
    return str(ack("last", (await run.model(ask, messages, tools=TOOLS)).text))


async def _acked(name: str, call: Any) -> Any:
    return ack(name, await call)


@tracekit.tool(effect="write", probe=probe, retry=AT_ONCE)
def cancel(result: str, *, idempotency_key: str) -> str:
    return do(f"cancel {result}", idempotency_key)


@tracekit.tool(effect="write", undo=cancel, probe=probe)
def reserve(name: str, *, idempotency_key: str) -> str:
    return do(name, idempotency_key)


@tracekit.task(max_recoveries=30)
def journey(run: tracekit.Run, order: str) -> str:
    """Book a journey, then ask; it is taken back."""
    ack("flight", reserve("flight"))
    ack("hotel", reserve("hotel"))
    return str(run.ask("Is this right?"))


TASKS: dict[str, Task[Any]] = {"everything": everything, "journey": journey}
