"""Only type-checked, never run: what a user's type checker says about tools, tasks and runs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, assert_type

import tracekit
from tracekit import Reply, Run, Task


@tracekit.tool
def look(order_id: str) -> dict[str, int]:
    return {order_id: 1}


@tracekit.tool(effect="payment", idempotent=True)
def pay(order_id: str, amount: Decimal, *, idempotency_key: str) -> str:
    return order_id


@tracekit.tool(effect="notify")
async def tell(text: str) -> bool:
    return bool(text)


@tracekit.task
def plain(run: tracekit.SyncRun, order_id: str) -> str:
    assert_type(look(order_id), dict[str, int])
    look(7)  # type: ignore[arg-type]
    reply = run.model(print, [{"role": "user", "content": "hello"}], tools=[look, pay], temperature=0)
    assert_type(reply, Reply)
    assert_type(run.tools(reply.tool_calls), list[dict[str, Any]])
    assert_type(run.tool(pay, order_id, Decimal(1)), str)
    assert_type(run.tool(tell, "x"), bool)
    assert_type(run.step("count", len, order_id), int)
    with run.branch("side") as side:
        assert_type(side.tool(look, order_id), dict[str, int])
    return reply.text


@tracekit.task(max_recoveries=3)
async def waiting(run: tracekit.AsyncRun, order_id: str) -> int:
    reply = await run.model(print, [])
    assert_type(reply, Reply)
    assert_type(await run.tools(reply.tool_calls), list[dict[str, Any]])
    assert_type(await run.tool(tell, "x"), bool)
    assert_type(await run.tool(look, order_id), dict[str, int])
    assert_type(await run.step("count", len, order_id), int)
    run.tool(tell, "x").strip()  # type: ignore[attr-defined]
    return len(reply.text)


def one_class_serves_both(run: Run) -> None:
    as_sync: tracekit.SyncRun = run
    as_async: tracekit.AsyncRun = run
    assert_type(as_sync.task_id, str)
    assert_type(as_async.attempt, int)


assert_type(plain, Task[str])
assert_type(waiting, Task[int])
assert_type(plain.start("A-1", task_id="t"), str)
assert_type(waiting.start("A-1"), int)
print(tracekit.no_such_name)  # type: ignore[attr-defined]
