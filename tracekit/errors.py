"""
Every error that tracekit raises, and the three by which a tool says what became of its request.

A message says what was expected, what came, where, and what to do next. The agent's own exceptions are never
wrapped: they pass through untouched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class TracekitError(Exception):
    """An error of tracekit itself, with a stable code that programs can match."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        """Dotted and stable, such as `store.newer_schema`."""


class NotStorable(TracekitError):
    """A value is not plain JSON; the message names its path, such as `$.order.items[3]`."""


class Divergence(TracekitError):
    """A replay asked for another call than the journal holds at that place: it stops for review."""


class LeaseLost(TracekitError):
    """Another owner has the task; this one wrote nothing and has to stop."""


class RequiresReview(TracekitError):
    """The task stopped at a question that only a person may answer; it is not a failure."""

    def __init__(self, code: str, message: str, *, task_id: str, review_id: str) -> None:
        super().__init__(code, message)
        self.task_id = task_id
        self.review_id = review_id


class LimitReached(TracekitError):
    """A limit that survives crashes was used up: attempts, second inferences, recoveries, tokens, cost."""


class DispatchOutcome(Exception):
    """Base of what a tool may raise to say itself what became of its request."""


class NotExecuted(DispatchOutcome):
    """The request never left, or the service says that it did nothing: another try is safe."""


class Rejected(DispatchOutcome):
    """The service answered and refused; *answer* is what it said."""

    def __init__(self, message: str, *, answer: Any = None) -> None:
        super().__init__(message)
        self.answer = answer


class OutcomeUnknown(DispatchOutcome):
    """The request was sent and no answer came: it may have been executed."""


class Conflict(TracekitError):
    """A guarded write found another state than expected; nothing was written."""


Damaged = Callable[[TracekitError], None]
"""Is told of each row of a list that can't be trusted, which is then left out; without it the first one raises."""
