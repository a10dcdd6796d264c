"""What bounds a task; counted in the store before the work, so a crash resets none of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import orjson

from tracekit.errors import TracekitError

LEAST = {"max_attempts": 1, "max_repeats": 1, "max_reinfers": 0, "max_recoveries": 0}
"""Smallest whole number that means something; the other limits are amounts above 0."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in force for one task; None means no limit."""

    max_attempts: int = 3
    """Dispatches of one call."""
    max_reinfers: int = 2
    """Second inferences in a row that a tool's bad arguments may cost."""
    max_repeats: int = 5
    """Equal calls with equal results in a row before it counts as a loop."""
    tokens: int | None = None
    cost: float | None = None
    wall_s: float | None = None
    """Seconds of finished steps and waits; time that a task lay in review is not counted."""

    def to_json(self) -> str:
        """The limits as the task row holds them."""
        return orjson.dumps(asdict(self)).decode()

    @staticmethod
    def from_json(text: str) -> Limits:
        """Limits from the task row; names that this version does not know are left out."""
        found = orjson.loads(text or "{}")
        return Limits(**{name: value for name, value in found.items() if name in Limits.__slots__})

    def raised(self, name: str) -> Limits:
        """The limits with *name* doubled: what a person's `retry` at a used-up limit grants."""
        values = asdict(self)
        if values.get(name) is not None:
            values[name] *= 2
        return Limits(**values)


def check_limits_given(**given: object) -> None:
    """Raise `task.bad_limit` for a limit that no work could keep, or that is no number; None is no limit."""
    for name, value in given.items():
        least = LEAST.get(name)
        if value is None and least is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int if least is not None else int | float):
            raise _bad_limit(name, value)
        if not (value >= least if least is not None else value > 0):
            raise _bad_limit(name, value)


def _bad_limit(name: str, value: object) -> TracekitError:
    wanted = f"a whole number of at least {LEAST[name]}" if name in LEAST else "a number above 0, or None"
    return TracekitError("task.bad_limit", f"expected {name} as {wanted}, got {value!r}")
