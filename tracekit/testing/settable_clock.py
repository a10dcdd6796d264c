"""A clock for tests: it moves when it is told to or slept on, and its ids count up."""

from __future__ import annotations

import threading


class SettableClock:
    """Time that stands still; `sleep` moves it at once and remembers how long."""

    def __init__(self, start_ns: int = 1_767_225_600_000_000_000) -> None:
        self._now_ns = start_ns
        self._ids = 0
        self._lock = threading.Lock()
        self.slept_s: list[float] = []
        """Every wait that was asked for, in order."""

    def now_ns(self) -> int:
        """Wall time in nanoseconds since the epoch, UTC."""
        return self._now_ns

    def monotonic_s(self) -> float:
        """Seconds that never run backwards."""
        return self._now_ns / 1e9

    def sleep(self, seconds: float) -> None:
        """Move the clock on."""
        self.slept_s.append(seconds)
        self.move(seconds)

    def move(self, seconds: float) -> None:
        """Move the clock, also back."""
        with self._lock:
            self._now_ns += round(seconds * 1e9)

    def random_hex(self, digits: int) -> str:
        """The next id: numbers that count up, spread so that they never begin alike."""
        with self._lock:
            self._ids += 1
            return f"{self._ids * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128):032x}"[:digits].ljust(
                digits, "0"
            )
