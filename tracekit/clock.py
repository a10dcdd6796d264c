"""
The only source of time and of random ids; tests replace it by `use(Clock)`.

Wall time is taken for records, monotonic time for waits and leases: a clock that is set back harms neither.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Where time and ids come from."""

    def now_ns(self) -> int:
        """Wall time in nanoseconds since the epoch, UTC."""

    def monotonic_s(self) -> float:
        """Seconds that never run backwards, for waits and deadlines."""

    def sleep(self, seconds: float) -> None:
        """Block this thread."""

    def random_hex(self, digits: int) -> str:
        """*digits* random lower-case hexadecimal digits."""


class SystemClock:
    """The machine's own clock and random source."""

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def random_hex(self, digits: int) -> str:
        return secrets.token_hex((digits + 1) // 2)[:digits]


_current: Clock = SystemClock()


def current() -> Clock:
    """The clock in use by this process."""
    return _current


@contextmanager
def use(clock: Clock) -> Iterator[Clock]:
    """Put *clock* in place of the current one for the time of the block; process-wide."""
    global _current
    before, _current = _current, clock
    try:
        yield clock
    finally:
        _current = before


def now_ns() -> int:
    """Wall time in nanoseconds since the epoch, UTC."""
    return _current.now_ns()


def now_ms() -> int:
    """Wall time in milliseconds since the epoch, UTC."""
    return _current.now_ns() // 1_000_000


def rfc3339(ns: int) -> str:
    """*ns* since the epoch as `2026-11-30T08:21:03.112345Z`: UTC with microseconds."""
    return f"{_second(ns // 1_000_000_000)}.{ns % 1_000_000_000 // 1000:06d}Z"


@lru_cache(maxsize=16)
def _second(s: int) -> str:
    return f"{datetime.fromtimestamp(s, tz=UTC):%Y-%m-%dT%H:%M:%S}"
