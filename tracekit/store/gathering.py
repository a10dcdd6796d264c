"""Which bodies belong to a task's rows, and how the whole picture is put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tracekit.store.rows import (
    CompensationRow,
    DecisionRow,
    EffectRow,
    ReviewRow,
    StepRow,
    TaskRow,
    TaskState,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """The rows of one task, read at one moment."""

    task: TaskRow
    steps: Sequence[StepRow]
    effects: Sequence[EffectRow]
    reviews: Sequence[ReviewRow]
    compensations: Sequence[CompensationRow]
    decisions: Sequence[DecisionRow]

    def state(self, blobs: Mapping[str, bytes]) -> TaskState:
        """The whole picture, with *blobs*."""
        return TaskState(
            task=self.task,
            steps=tuple(self.steps),
            effects=tuple(self.effects),
            reviews=tuple(self.reviews),
            compensations=tuple(self.compensations),
            decisions=tuple(self.decisions),
            blobs=blobs,
        )


def body_hashes(parts: Parts, *, with_steps: bool) -> set[str]:
    """Hashes of the bodies that the rows name; those of the steps only *with_steps*."""
    return {name for name in _named(parts, with_steps=with_steps) if name}


def _named(parts: Parts, *, with_steps: bool) -> Iterator[str | None]:
    yield parts.task.arguments
    yield parts.task.result
    for effect in parts.effects:
        yield effect.args
        yield effect.result
    for review in parts.reviews:
        yield review.payload
    for compensation in parts.compensations:
        yield compensation.args
    for step in parts.steps if with_steps else ():
        yield step.input
        yield step.raw
        yield step.result
