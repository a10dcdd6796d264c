"""Two runs side by side: which steps belong to each other, and where the runs part."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_LONGEST = 4_000
"""Steps of both sides between two certain partners up to which the best alignment is searched; its cost grows with the square."""


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
    wraps: bool = False
    """It wraps others: how it ended only repeats how they did."""

    @property
    def place(self) -> Hashable:
        """What makes two steps the same piece of work."""
        return self.kind, self.name

    @property
    def request(self) -> Hashable:
        """What makes two steps certain partners: the same was asked, and of a model the same came out. Nothing is like nothing."""
        said = self.output if self.kind == "model" else self.input
        return (self.kind, self.name, self.input, said) if said is not None else self.step_id


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

    @property
    def parts(self) -> bool:
        """Whether the runs part here, and not only in what a wrapper says of it afterwards."""
        wrapper = self.left is not None and self.right is not None and self.left.wraps and self.right.wraps
        return self.change not in (("same", "output", "status") if wrapper else ("same",))


def align(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> list[Pair]:
    """
    All steps of both runs in order, partners beside each other.

    Steps with the same request are partners first; between those, steps of the same kind and name.
    """
    begin = _alike(left, right)
    end = _alike(left[begin:][::-1], right[begin:][::-1])
    middle = left[begin : len(left) - end], right[begin : len(right) - end]
    return [
        *map(Pair, left[:begin], right[:begin]),
        *_by_request(*middle),
        *map(Pair, left[len(left) - end :], right[len(right) - end :]),
    ]


def _alike(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> int:
    """How many steps at the beginning have the same request."""
    pairs = enumerate(zip(left, right, strict=False))
    return next(
        (place for place, (mine, theirs) in pairs if mine.request != theirs.request),
        min(len(left), len(right)),
    )


def _by_request(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> Iterator[Pair]:
    if len(left) + len(right) > _LONGEST:
        yield from _by_landmarks(left, right)
        return
    keys = [step.request for step in left], [step.request for step in right]
    for kind, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from map(Pair, left[a:b], right[c:d])
        else:
            yield from _by_place(left[a:b], right[c:d])


def _by_place(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> Iterator[Pair]:
    if len(left) + len(right) > _LONGEST:
        yield from (Pair(step, None) for step in left)
        yield from (Pair(None, step) for step in right)
        return
    keys = [step.place for step in left], [step.place for step in right]
    for kind, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from map(Pair, left[a:b], right[c:d])
        else:
            yield from (Pair(step, None) for step in left[a:b])
            yield from (Pair(None, step) for step in right[c:d])


def _by_landmarks(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> Iterator[Pair]:
    """Long runs, cut at requests that stand once in each of them and in the same order."""
    a = c = 0
    for b, d in [*_landmarks(left, right), (len(left), len(right))]:
        small = (b - a) + (d - c) <= _LONGEST
        yield from (_by_request if small else _by_place)(left[a:b], right[c:d])
        if b < len(left):
            yield Pair(left[b], right[d])
        a, c = b + 1, d + 1


def _landmarks(left: Sequence[AlignStep], right: Sequence[AlignStep]) -> list[tuple[int, int]]:
    counts = Counter(step.request for step in left), Counter(step.request for step in right)
    places = {step.request: place for place, step in enumerate(right)}
    once = [
        (place, places[step.request])
        for place, step in enumerate(left)
        if counts[0][step.request] == counts[1][step.request] == 1
    ]
    return _rising(once)


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of *pairs* whose second numbers rise, as the first ones do."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int | None] = []
    for place, (_, number) in enumerate(pairs):
        at = bisect_left(tails, number)
        before.append(ends[at - 1] if at else None)
        tails[at : at + 1] = [number]
        ends[at : at + 1] = [place]
    found: list[tuple[int, int]] = []
    last = ends[-1] if ends else None
    while last is not None:
        found.append(pairs[last])
        last = before[last]
    return found[::-1]


def first_divergence(pairs: Sequence[Pair]) -> int | None:
    """Index of the pair at which the runs part; None when they are the same."""
    parted = (place for place, pair in enumerate(pairs) if pair.parts)
    return next(parted, next((place for place, pair in enumerate(pairs) if pair.change != "same"), None))
