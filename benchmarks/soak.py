"""
The refund agent for ten minutes on PostgreSQL, while everything around it breaks: does the world's list fit at the end?

    python -m benchmarks.soak [--seconds 600] [--workers 3] [--seed 7]

Workers (`tracekit worker`) get SIGKILL at random times and at named points; PostgreSQL is cut off or restarted; the
services answer 503, 429, late, half or not at all, before or after the work; the disk of the log fills up. Then the
faults stop and everything settles: every refund is there once, or its task waits with a question that names it. A
person then answers every question by what the world shows, and every task ends. Ends with 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import soak_checks as checks
from benchmarks.chaos_example import AGENT, FAULTS, PASSED
from benchmarks.postgres_server import Server, own_server
from benchmarks.soak_disk import LogDisk, log_disk
from benchmarks.worker_scale import Crew
from tracekit.durable.api import decide, panel_of
from tracekit.durable.finding import load_app
from tracekit.durable.owning import close_all
from tracekit.durable.worker import AWAY
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store import open_store
from tracekit.store.contract import Store
from tracekit.store.rows import ReviewRow, TaskState
from tracekit.testing.loopback import Fault
from tracekit.testing.model_server import ModelServer
from tracekit.testing.world import World

T = TypeVar("T")
UNDER_WAY = (TaskStatus.QUEUED, TaskStatus.RUNNING, TaskStatus.ROLLING_BACK)
NOT_ENDED = tuple(status for status in TaskStatus if not status.is_final)
MOST_SETTLE_S = 240.0
MODEL_FAULTS = (
    Fault("POST /v1/*", "answer", status=429, headers={"Retry-After": "1"}),
    Fault("POST /v1/*", "answer", status=503),
    Fault("POST /v1/*", "drop", when="after"),
    Fault("POST /v1/*", "cut", when="after"),
    Fault("POST /v1/*", "delay", seconds=1.0),
)
EVERY_S = {"kill": (2.0, 6.0), "services": (1.0, 4.0), "restart": (10.0, 30.0), "fill_disk": (10.0, 25.0)}
"""Least and most seconds between two troubles of a kind."""


@dataclass
class Soak:
    """Everything that runs, and what was done to it."""

    server: Server
    world: World
    model: ModelServer
    crew: Crew
    disk: LogDisk
    dice: random.Random
    store: Store
    submitted: list[str] = field(default_factory=list)
    troubles: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)

    def break_things(self, seconds: float) -> None:
        """Submit tasks and break things until *seconds* are over; everything is well again afterwards."""
        begun_s = time.monotonic()
        due_s = {kind: begun_s + self.dice.uniform(*span) for kind, span in EVERY_S.items()}
        while time.monotonic() < begun_s + seconds:
            for kind, span in EVERY_S.items():
                if time.monotonic() >= due_s[kind]:
                    getattr(self, kind)()
                    due_s[kind] = time.monotonic() + self.dice.uniform(*span)
            self.disk.look()
            self._keep_crew(at_points=True)
            self._feed()
            time.sleep(0.1)
        self.world.misbehave()
        self.model.misbehave()
        self.disk.free()

    # ----------------------------------------------------------------------------------- troubles

    def kill(self) -> None:
        """SIGKILL to a worker, wherever it is."""
        self.crew.kill_one(self.dice)
        self.troubles["workers killed at random times"] += 1

    def services(self) -> None:
        """Other faults than before, for some requests each."""
        for service, faults in ((self.world, FAULTS), (self.model, MODEL_FAULTS)):
            chosen = self.dice.sample(faults, self.dice.randint(0, 3))
            service.misbehave(*(replace(fault, times=self.dice.randint(1, 4)) for fault in chosen))
            self.troubles["faults planted into services"] += len(chosen)

    def restart(self) -> None:
        """PostgreSQL is away for some seconds."""
        mode = self.dice.choice(("immediate", "fast"))
        self.server.stop(mode=mode)
        time.sleep(self.dice.uniform(0, 2))
        self.server.start()
        self.troubles[f"PostgreSQL stopped and started ({mode})"] += 1

    def fill_disk(self) -> None:
        """No room for the log for some seconds."""
        self.troubles[f"log disk full ({self.disk.how})"] += self.disk.fill(self.dice.uniform(3, 8))

    # ----------------------------------------------------------------------------------- the work

    def _keep_crew(self, *, at_points: bool) -> None:
        """As many workers as there should be; with *at_points* half of the new ones die at a named point."""
        ended = sum(each.poll() == -9 for each in self.crew.workers)
        if ended:
            self.troubles["workers killed at a named point"] += ended
        self.crew.env.pop("TRACEKIT_KILL_AT", None)
        if at_points and self.dice.random() < 0.5:
            self.crew.env["TRACEKIT_KILL_AT"] = f"{self.dice.choice(PASSED)}#{self.dice.randint(1, 4)}"
        self.crew.fill()

    def _feed(self) -> None:
        """Enough tasks for all workers."""
        under_way = patiently(lambda: self.store.tasks(status=UNDER_WAY))
        for _ in range(2 * self.crew.size - len(under_way)):
            name = f"soak-{len(self.submitted):05}"
            patiently(lambda: submit(self.store, name))  # noqa: B023
            self.submitted.append(name)

    def settle(self, *, answer: bool) -> float:
        """
        Wait until no task is under way; seconds that it took.

        Args:
            answer: Answer questions as a person would who looks at the world, until every task has ended.
        """
        begun_s = time.monotonic()
        while time.monotonic() < begun_s + MOST_SETTLE_S:
            self._keep_crew(at_points=False)
            if answer:
                self._answer_all()
            if not patiently(lambda: self.store.tasks(status=NOT_ENDED if answer else UNDER_WAY, limit=1)):
                break
            time.sleep(0.1)
        return time.monotonic() - begun_s

    def _answer_all(self) -> None:
        for review in self.store.reviews():
            decision, result = self._answer(review)
            decide(review.review_id, decision, by="ann", result=result, store=self.store)
            self.answers[f"{review.reason}: {decision}"] += 1

    def _answer(self, review: ReviewRow) -> tuple[str, Any]:
        """`done` with what the world shows, else `retry`."""
        state = self.store.load(review.task_id, with_bodies=True)
        effect = next((row for row in state.effects if row.key == review.effect_key), None) if state else None
        if state is not None and effect is not None:
            found = checks.World.of(self.world.happened()).row(effect, state)
            if found is not None:
                return "done", found
        options = panel_of(review)["options"]
        return ("retry" if "retry" in options else options[0]), None

    def states(self) -> list[TaskState]:
        """All tasks as they stand."""
        found = [self.store.load(name, with_bodies=True) for name in self.submitted]
        return [state for state in found if state is not None]


def submit(store: Store, name: str) -> None:
    """Admit one refund."""
    task = load_app(str(AGENT)).handle_ticket
    task.submit(f"The lamp of order A-1024 came broken ({name}).", task_id=name, store=store)


def patiently(work: Callable[[], T]) -> T:
    """What *work* gives, done again while the store is away for up to a minute."""
    for _ in range(120):
        try:
            return work()
        except TracekitError as error:
            if error.code not in AWAY:
                raise
        time.sleep(0.5)
    return work()


# --------------------------------------------------------------------------------------- the whole


@contextmanager
def listening(told: list[str]) -> Iterator[int]:
    """A descriptor for workers to tell their outcomes to; all lines are in *told* after the block."""
    reads, writes = os.pipe()

    def read() -> None:
        with open(reads, errors="replace") as lines:
            told.extend(line.rstrip("\n") for line in lines)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield writes
    finally:
        os.close(writes)
        reader.join()


@contextmanager
def all_of_it(workers: int, seed: int, told: list[str]) -> Iterator[Soak]:
    """Server, services, disk and an empty crew; nothing of it is left after the block."""
    with ExitStack() as stack:
        server = stack.enter_context(own_server())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        os.environ["TRACEKIT_HOME"] = str(folder / "home")
        world = stack.enter_context(World(folder / "world.jsonl"))
        model = stack.enter_context(ModelServer())
        crew = Crew(server.url, folder, workers, app=AGENT)
        crew.env |= {"WORLD_URL": world.url, "MODEL_URL": model.base_url}
        pids = lambda: [worker.pid for worker in crew.workers]  # noqa: E731
        disk = stack.enter_context(log_disk(folder / "home" / "traces", pids))
        crew.stdout = stack.enter_context(listening(told))
        stack.callback(close_all)
        store = open_store(server.url)
        stack.callback(store.close)
        stack.callback(crew.abandon)
        yield Soak(server, world, model, crew, disk, random.Random(seed), store)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long things are broken")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    told: list[str] = []
    with all_of_it(options.workers, options.seed, told) as soak:
        soak.break_things(options.seconds)
        settled_s = soak.settle(answer=False)
        before = checks.compare(soak.states(), soak.world.happened(), answered=False)
        answered_s = soak.settle(answer=True)
        states, rows = soak.states(), soak.world.happened()
        after = checks.compare(states, rows, answered=True)
        soak.crew.end()
        given, changed = checks.changed_answers(soak.model.requests("POST /v1/"), rows)
        log = checks.read_log(soak.disk.folder, states, soak.disk.full_ms)
    lost = checks.told_and_lost(states, soak.submitted, told) + changed
    broken = [*before.broken, *after.broken, *lost, *log.broken, *soak.crew.died]
    seconds = (
        f"{options.seconds:.0f} s of faults, settled in {settled_s:.0f} s, answered in {answered_s:.0f} s"
    )
    print(f"{'time':46}{seconds}")
    print(f"{'tasks':46}{len(soak.submitted)} by {options.workers} workers")
    for what, count in sorted(soak.troubles.items()):
        print(f"{what:46}{count}")
    show("settled", before.counts)
    print(f"{'a person answered':46}{words_of(soak.answers)}")
    show("ended", after.counts)
    done = sum("\tdone" in line for line in told)
    print(
        f"{'acknowledged':46}{done} tasks told done, {given} refunds given to the agent, {len(lost)} lost or changed"
    )
    show("log", log.counts)
    for words in broken:
        print("BROKEN", words)
    print(
        "A PROMISE IS BROKEN"
        if broken
        else "every refund once, nothing acknowledged lost, log whole but while its disk was full"
    )
    return int(bool(broken))


def show(stage: str, counts: dict[str, Any]) -> None:
    """One line for each count of a stage."""
    for what, count in counts.items():
        print(f"{f'{stage}: {what}':46}{words_of(count)}")


def words_of(count: Any) -> str:
    """A number, or numbers by name."""
    if not isinstance(count, dict):
        return str(count)
    return ", ".join(f"{number} {name}" for name, number in sorted(count.items())) or "none"


if __name__ == "__main__":
    raise SystemExit(main())
