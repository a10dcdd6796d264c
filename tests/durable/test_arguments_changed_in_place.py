"""A tool may change its arguments in place: each later try, fallback and probe still receives what was booked."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import tracekit
from tracekit.errors import NotExecuted, OutcomeUnknown

FAST = tracekit.Retry(attempts=3, base_s=0.0)
BOOKED = {"amount": 10, "lines": ["a", "b"]}
received: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def nothing_received() -> None:
    received.clear()


def take(order: dict[str, Any], error: type[Exception] | None) -> str:
    received.append(copy.deepcopy(order))
    order["amount"] *= 2
    order["lines"].pop()
    if error is not None:
        raise error("no")
    return "done"


@tracekit.tool(effect="payment", retry=FAST)
def pay(order: dict[str, Any]) -> str:
    return take(order, NotExecuted if len(received) < 1 else None)


@tracekit.tool(effect="payment", retry=FAST)
async def pay_async(order: dict[str, Any]) -> str:
    return take(order, NotExecuted if len(received) < 1 else None)


def seen(order: dict[str, Any], idempotency_key: str) -> None:
    take(order, None)


@tracekit.tool(effect="payment", retry=FAST, probe=seen)
def pay_with_probe(order: dict[str, Any], *, idempotency_key: str) -> str:
    return take(order, OutcomeUnknown if len(received) < 1 else None)


@tracekit.task(max_attempts=3)
def by_pay(task: Any, order: dict[str, Any]) -> str:
    return pay(order)


@tracekit.task(max_attempts=3)
def by_probe(task: Any, order: dict[str, Any]) -> str:
    return pay_with_probe(order)


@tracekit.task(max_attempts=3)
async def by_pay_async(task: Any, order: dict[str, Any]) -> str:
    return await pay_async(order)


def test_a_second_try_receives_what_was_booked() -> None:
    assert by_pay.start(copy.deepcopy(BOOKED)) == "done"
    assert received == [BOOKED] * 2


async def test_a_second_async_try_receives_what_was_booked() -> None:
    assert await by_pay_async.start_async(copy.deepcopy(BOOKED)) == "done"
    assert received == [BOOKED] * 2


def test_a_probe_and_the_try_after_it_receive_what_was_booked() -> None:
    assert by_probe.start(copy.deepcopy(BOOKED)) == "done"
    assert len(received) >= 3
    assert all(order == BOOKED for order in received)
