"""What a tool declares about itself, and how often a call is tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracekit.errors import TracekitError
from tracekit.model import EffectRisk


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a call is tried again when trying again is allowed at all, and how long that may take."""

    attempts: int = 3
    """All dispatches, the first one among them."""
    base_s: float = 1.0
    """Wait after the first failure; doubled after each further one."""
    cap_s: float = 30.0
    """Longest single wait."""
    total_s: float = 120.0
    """Longest sum of waits; a `Retry-After` beyond it ends the retrying."""
    jitter: float = 0.25
    """Each wait is longer by a random share of up to this much."""

    def __post_init__(self) -> None:
        shares = (self.base_s, self.cap_s, self.total_s, self.jitter)
        whole = isinstance(self.attempts, int) and self.attempts >= 1
        if not whole or not all(_is_amount(each) for each in shares):
            raise ValueError(
                f"a retry needs a whole number of attempts >= 1 and no negative seconds, got {self}"
            )


def _is_amount(value: Any) -> bool:
    """Whether *value* is a number that is not negative; NaN is none."""
    return isinstance(value, int | float) and value >= 0


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that a tool declares; `tool()` documents the fields."""

    effect: EffectRisk = EffectRisk.READ
    idempotent: bool = False
    probe: Callable[..., Any] | None = None
    undo: Callable[..., Any] | None = None
    timeout_s: float | None = None
    settle_s: float = 0.0
    retry: Retry | None = None
    fallback: tuple[Callable[..., Any], ...] = ()
    critical: bool = True

    def __post_init__(self) -> None:
        expected = {
            "probe": ("a function", self.probe is None or callable(self.probe)),
            "undo": ("a function", self.undo is None or callable(self.undo)),
            "fallback": ("a list of functions", all(map(callable, self.fallback))),
            "timeout_s": (
                "seconds above 0",
                self.timeout_s is None or (_is_amount(self.timeout_s) and self.timeout_s > 0),
            ),
            "settle_s": ("seconds, not negative", _is_amount(self.settle_s)),
            "retry": ("a tracekit.Retry", self.retry is None or isinstance(self.retry, Retry)),
        }
        for name, (what, is_so) in expected.items():
            if not is_so:
                got = getattr(self, name)
                raise TracekitError("tool.declared", f"expected {what} as {name} of a tool, got {got!r}")

    @property
    def risk(self) -> str:
        """`none` for a read, `low` for an effect with key or undo, `high` for the rest: a column of the decision table."""
        if self.effect is EffectRisk.READ:
            return "none"
        return "low" if self.idempotent or self.undo is not None else "high"

    @property
    def declared(self) -> dict[str, Any]:
        """What the log says of it as attributes of a step: `tracekit.critical`, and `probe`, `undo`, `fallback` by name."""
        names = {"probe": self.probe, "undo": self.undo}
        told: dict[str, Any] = {"tracekit.critical": self.critical}
        told |= {
            f"tracekit.{key}": name_of(function) for key, function in names.items() if function is not None
        }
        if self.fallback:
            told["tracekit.fallback"] = [name_of(function) for function in self.fallback]
        return told


def name_of(function: Callable[..., Any]) -> str:
    """Name of a tool or function as the log and the ledger say it."""
    return str(getattr(function, "name", "") or getattr(function, "__name__", "tool"))
