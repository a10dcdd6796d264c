"""How long to wait before a call is tried again, and whether there is time for it."""

from __future__ import annotations

from tracekit import clock
from tracekit.policy import Retry


def backoff_s(failures: int, policy: Retry, *, retry_after_s: float | None = None) -> float:
    """
    Seconds to wait after *failures* failed tries (first value 1): 1, 2, 4 with the default policy, plus jitter.

    A server's `Retry-After` is a lower bound: it knows better than we do.
    """
    if failures < 1:
        raise ValueError(f"failures counts from 1, got {failures}")
    wait_s = min(policy.base_s * 2.0 ** (failures - 1), policy.cap_s)
    wait_s *= 1.0 + policy.jitter * int(clock.current().random_hex(4), 16) / 0xFFFF
    return max(wait_s, retry_after_s or 0.0)


def fits(waited_s: float, wait_s: float, policy: Retry) -> bool:
    """Whether *wait_s* more stays within the policy's total."""
    return waited_s + wait_s <= policy.total_s
