"""
What the deciding code asks of a shell: commit this, dispatch that, wait so long.

The deciding code is generators that yield these and do no I/O of their own, so one statement of each rule serves
plain functions and asyncio alike.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from tracekit.store.contract import Write

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Commit:
    """Apply *writes* in one transaction; answered with None."""

    point: str
    """Which of `points.COMMITS` it is."""
    writes: tuple[Write, ...]
    durable: bool
    """Synced to the disk before the answer."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Run foreign code; answered with `Answer` or `Raised`, also for a time limit that ran out."""

    call: Callable[[], Any]
    is_async: bool = False
    """Whether the call gives a coroutine; a plain one is kept off the event loop."""
    timeout_s: float | None = None
    key: str | None = None
    """Idempotency key to be found by the code that runs."""
    step: Any = None
    """Open step that is the parent of what happens in the call."""
    scope: str | None = None
    """Path of the scope that durable calls inside of the call belong to."""
    late: Callable[[Any], None] | None = None
    """Told what came when it came after the time limit."""
    point: str = "dispatch"


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait; answered with None."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The call returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The call raised, or its time ran out."""

    error: BaseException
    timed_out: bool = False


Request = Commit | Dispatch | Sleep
Op = Generator[Request, Any, T]
"""Deciding code that ends with a T."""


def commit(point: str, *writes: Write, durable: bool) -> Op[None]:
    """Ask for one transaction."""
    yield Commit(point, writes, durable)


def dispatch(request: Dispatch) -> Op[Answer | Raised]:
    """Ask for one run of foreign code."""
    answer: Answer | Raised = yield request
    return answer
