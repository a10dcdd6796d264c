"""
Tasks for `worker_scale.py`: look up, pay, tell, shred. The outside world is the file WORLD, one line for each effect,
written before the caller knows; a line is there even if its process dies with the next instruction.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import tracekit

ONCE = tracekit.Retry(attempts=3, base_s=0.0)


def happened(what: str, key: str) -> None:
    """One line that survives whatever comes next."""
    descriptor = os.open(os.environ["WORLD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{what} {key}\n".encode())
    os.close(descriptor)


def is_there(what: str, key: str | None) -> bool:
    """Whether the world knows of it."""
    world = Path(os.environ["WORLD"])
    return world.exists() and f"{what} {key}\n" in world.read_text()


@tracekit.tool
def find_order(number: int) -> int:
    """Amount of the order in cents."""
    return 100 + number


def find_payment(idempotency_key: str) -> str | None:
    """What the payment service says of a key."""
    return "paid" if is_there("pay", idempotency_key) else None


@tracekit.tool(effect="payment", probe=find_payment, retry=ONCE)
def pay(cents: int, *, idempotency_key: str) -> str:
    """Move money; the service says afterwards whether it did."""
    happened("pay", idempotency_key)
    return "paid"


@tracekit.tool(effect="notify", idempotent=True, retry=ONCE)
def tell(number: int, *, idempotency_key: str) -> str:
    """Send a mail; the service honours keys."""
    if not is_there("tell", idempotency_key):
        happened("tell", idempotency_key)
    return "told"


@tracekit.tool(effect="irreversible")
def shred(number: int) -> str:
    """Nothing can tell afterwards whether it happened, but a person who looks."""
    happened("shred", str(tracekit.idempotency_key()))
    return "gone"


@tracekit.task(max_recoveries=20, max_attempts=9)
def handle(run: tracekit.Run, number: int) -> str:
    """Pay one order back."""
    pay(find_order(number))
    tell(number)
    shred(number)
    return f"order {number} is paid back"


@tracekit.tool
def hold(gate: str) -> bool:
    """Tell the world the time and this process, then wait for the file *gate*."""
    happened("held", f"{os.getpid()} {time.time()}")
    while not os.path.exists(gate):
        time.sleep(0.005)
    return True


@tracekit.task
def held(run: tracekit.Run, gate: str) -> bool:
    """Be under way until *gate* is there."""
    return hold(gate)
