"""Two runs side by side: which steps belong to each other, and where the runs part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_LONGEST = 4_000
"""Steps beyond a common beginning up to which the best alignment is searched; its cost grows with the square."""


@dataclass(frozen=True, slots=True)
class AlignStep:
    """What is compared of a step."""

    step_id: str
    seq: int
    kind: str
    name: str
    status: str
    input: str | None
    output: str | None

    @property
    def place(self) -> tuple[str, str]:
        """What makes two steps the same piece of work."""
        return self.kind, self.name

    @property
    def content(self) -> tuple[str | None, str | None, str]:
        """What makes two steps equal."""
        return self.input, self.output, self.status


@dataclass(frozen=True, slots=True)
class Pair:
    """A step of one run beside its partner in the other; None where there is none."""

    left: AlignStep | None
    right: AlignStep | None

    @property
    def change(self) -> str:
        """`same`, `input`, `output`, `status`, or `only_left`, `only_right`."""
        if self.left is None or self.right is None:
            return "only_right" if self.left is None else "only_left"
        if self.left.input != self.right.input:
            return "input"
        if self.left.output != self.right.output:
            return "output"
        return "same" if self.left.status == self.right.status else "status"


def align(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> list[Pair]:
    """All steps of both runs in order, partners beside each other."""
    common = 0
    for mine, theirs in zip(left, right, strict=False):
        if mine.place != theirs.place:
            break
        common += 1
    pairs = [Pair(mine, theirs) for mine, theirs in zip(left[:common], right[:common], strict=True)]
    return [*pairs, *_rest(left[common:], right[common:])]


def _rest(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> Iterator[Pair]:
    if len(left) + len(right) > _LONGEST:
        yield from (Pair(step, None) for step in left)
        yield from (Pair(None, step) for step in right)
        return
    matcher = SequenceMatcher(
        None, [step.place for step in left], [step.place for step in right], autojunk=False
    )
    for kind, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        if kind == "equal":
            for offset in range(left_to - left_from):
                yield Pair(left[left_from + offset], right[right_from + offset])
        else:
            yield from (Pair(step, None) for step in left[left_from:left_to])
            yield from (Pair(None, step) for step in right[right_from:right_to])


def first_divergence(pairs: Sequence[Pair]) -> int | None:
    """Index of the first pair that is not the same; None when the runs are."""
    return next((place for place, pair in enumerate(pairs) if pair.change != "same"), None)
