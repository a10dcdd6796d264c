"""
What grows with the number of workers: lease traffic, queue wait and log volume, simulated.

    python benchmarks/growth_simulation.py [--hours 1] [--load 0.8] [--seed 7]

A run is a list of moments, worked off in their order: tasks arrive at random, idle workers ask at their polling interval and
after each task, the first in the queue goes to the first that asks, and leases are renewed while a task runs. Tasks
are those of `--steps` steps that take `--step-s` each. What one claim, one commit and one step cost is measured by
`benchmarks/worker_scale.py` and `benchmarks/store_step.py`; here they are inputs. The polling interval and the lease are
the worker's own.
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
from collections import deque
from dataclasses import dataclass, field

from tracekit.durable.owning import LEASE_S

COMMITS_PER_STEP = 3
"""Of one tool step; docs/store.md lists them."""

WORKERS = (1, 4, 16, 64, 256, 1_000, 4_000)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a run is made of."""

    workers: int
    load: float
    """Share of the workers that are busy on the average."""
    hours: float
    steps: int
    step_s: float
    poll_s: float
    lease_s: float
    step_bytes: int

    @property
    def task_s(self) -> float:
        """Mean time that a task takes."""
        return self.steps * self.step_s


@dataclass
class Counts:
    """What a run counted."""

    seconds: float
    claims: int = 0
    empty_claims: int = 0
    renewals: int = 0
    done: int = 0
    steps: int = 0
    waits_s: list[float] = field(default_factory=list)

    def rate(self, count: int) -> float:
        """*count* per second."""
        return count / self.seconds


def simulate(shape: Shape, seed: int) -> Counts:
    """Work off the moments of one run."""
    dice = random.Random(seed)
    end = shape.hours * 3600
    counts = Counts(end)
    queue: deque[float] = deque()
    gap_s = shape.task_s / (shape.load * shape.workers)
    moments: list[tuple[float, int, str]] = [(dice.expovariate(1 / gap_s), -1, "arrival")]
    moments += [(dice.random() * shape.poll_s, worker, "asks") for worker in range(shape.workers)]
    heapq.heapify(moments)
    while moments and moments[0][0] < end:
        now, worker, what = heapq.heappop(moments)
        if what == "arrival":
            queue.append(now)
            heapq.heappush(moments, (now + dice.expovariate(1 / gap_s), -1, "arrival"))
        else:
            heapq.heappush(moments, (_asks(shape, counts, queue, now, dice), worker, "asks"))
    return counts


def _asks(shape: Shape, counts: Counts, queue: deque[float], now: float, dice: random.Random) -> float:
    """A worker asks for a task; returns when it asks again."""
    counts.claims += 1
    if not queue:
        counts.empty_claims += 1
        return now + shape.poll_s
    counts.waits_s.append(now - queue.popleft())
    took_s = dice.expovariate(1 / shape.task_s)
    counts.renewals += int(took_s / (shape.lease_s / 3))
    counts.steps += shape.steps
    counts.done += 1
    return now + took_s


def main() -> None:
    """Print one line for each number of workers."""
    options = _options()
    print(
        f"tasks of {options.steps} steps of {options.step_s} s, {options.load:.0%} of the workers busy, {options.hours} h"
    )
    print(f"{'workers':>8} {'tasks/s':>8} {'wait p50':>9} {'wait p99':>9} {'claims/s':>9} {'empty':>6} {'renewals/s':>11} {'commits/s':>10} {'log GB/day':>11}")  # fmt: skip
    for workers in WORKERS:
        shape = Shape(
            workers, options.load, options.hours, options.steps, options.step_s, options.poll_s, options.lease_s,
            options.step_bytes,
        )  # fmt: skip
        print(_line(shape, simulate(shape, options.seed)))


def _line(shape: Shape, counts: Counts) -> str:
    waits = sorted(counts.waits_s) or [0.0]
    steps_per_s = counts.rate(counts.steps)
    return (
        f"{shape.workers:>8} {counts.rate(counts.done):>8.2f} {statistics.median(waits):>8.2f}s "
        f"{waits[int(len(waits) * 0.99)]:>8.2f}s {counts.rate(counts.claims):>9.1f} "
        f"{counts.empty_claims / max(counts.claims, 1):>6.0%} {counts.rate(counts.renewals):>11.2f} "
        f"{steps_per_s * COMMITS_PER_STEP:>10.1f} {steps_per_s * shape.step_bytes * 86_400 / 1e9:>11.1f}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--load", type=float, default=0.8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--step-s", type=float, default=3.0)
    parser.add_argument("--poll-s", type=float, default=0.5)
    parser.add_argument("--lease-s", type=float, default=LEASE_S)
    parser.add_argument("--step-bytes", type=int, default=2_400)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


if __name__ == "__main__":
    main()
