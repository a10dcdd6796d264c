"""
What the weights of `claim_weight` (failures/prelude/40_talk_claims.sql) are worth on runs that they were not chosen on:
repeated five-fold cross-validation over all labelled talks together.

In each round the weights are chosen from a small grid on four fifths of the tasks and tried on the rest. Runs of one task
stay in one part, also when two sets label them. Each set counts alike, however many runs it has.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from cause_steps import Claim, Key, Run

PARTS, ROUNDS = 5, 10


@dataclass(frozen=True, slots=True)
class Weights:
    """One choice of the three weights in `claim_weight`; that of a name is 1."""

    number: float
    code: float
    reliance: float

    def of(self, claim: Claim) -> float:
        """What the SQL computes for *claim* with these numbers."""
        return (
            min(claim.names, 12) / 12
            + self.number * min(claim.numbers, 8) / 8
            + self.code * min(claim.code_words, 40) / 40
            + self.reliance * claim.reliance
        )

    def choice(self, run: Run) -> Key | None:
        """The message of *run* that weighs most; the earliest of equals."""
        best = max(run.claims, key=self.of, default=None)
        return best.key if best is not None and self.of(best) > 0.2 else None


IN_USE = Weights(0.2, 1.5, 0.2)


def grid() -> Iterator[Weights]:
    """Every choice that is tried."""
    for choice in product((0.0, 0.2, 0.4), (0.5, 1.0, 1.5, 2.0), (0.02, 0.05, 0.1, 0.2)):
        yield Weights(*choice)


def in_use(sets: Mapping[str, Sequence[Run]]) -> dict[str, float]:
    """Share of right steps of each set with the weights that the SQL has, on all runs."""
    return {
        name: sum(IN_USE.choice(run) == run.label for run in runs) / len(runs) for name, runs in sets.items()
    }


def shares(sets: Mapping[str, Sequence[Run]], seed: int = 1) -> dict[str, float]:
    """Share of right steps of each set, every run judged only by weights that were chosen without it."""
    data = [(name, run) for name, runs in sets.items() for run in runs]
    hits = {w: [w.choice(run) == run.label for _, run in data] for w in grid()}
    worth = [1 / len(sets[name]) for name, _ in data]
    rng = random.Random(seed)
    right = dict.fromkeys(sets, 0)
    for _ in range(ROUNDS):
        for held in _parts(data, rng):
            learned = [i for i in range(len(data)) if i not in held]
            best = max(hits, key=lambda w: sum(worth[i] for i in learned if hits[w][i]))
            for i in held:
                right[data[i][0]] += hits[best][i]
    return {name: right[name] / ROUNDS / len(runs) for name, runs in sets.items()}


def _parts(data: Sequence[tuple[str, Run]], rng: random.Random) -> list[frozenset[int]]:
    tasks = sorted({run.task for _, run in data})
    rng.shuffle(tasks)
    part_of = {task: number % PARTS for number, task in enumerate(tasks)}
    return [
        frozenset(i for i, (_, run) in enumerate(data) if part_of[run.task] == part) for part in range(PARTS)
    ]
