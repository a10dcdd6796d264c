"""
Workers at scale: 2,000 tasks, four workers, one PostgreSQL; workers get SIGKILL and the server is restarted in between.

    python -m benchmarks.worker_scale [--tasks 2000] [--workers 4] [--kills 20] [--restarts 2]

Each task looks up, pays (a probe can tell), tells (the server honours keys) and shreds (only a person can tell). Every
killed worker is followed by a new one. Questions are answered as a person would: by what the world's list shows. At
the end that list is counted: each effect of each task once. Ends with 1 when one is missing or there twice.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import worker_scale_app as app
from benchmarks.postgres_server import Server, own_server
from tracekit.durable.api import decide
from tracekit.durable.owning import close_all
from tracekit.model import TaskStatus
from tracekit.store import open_store
from tracekit.store.contract import Store

APP = Path(app.__file__)
EFFECTS = ("pay", "tell", "shred")
MOST_S = 1800.0


@dataclass
class Crew:
    """Worker processes of one run; a killed one is followed by a new one."""

    url: str
    folder: Path
    size: int
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    killed: int = 0
    died: list[str] = field(default_factory=list)
    """Last words of workers that ended without being told to."""
    app: Path = APP
    env: dict[str, str] = field(default_factory=dict)
    """Added to the environment of workers that start from now on."""
    stdout: int = subprocess.DEVNULL
    """Descriptor of what workers tell of each task."""

    def fill(self) -> None:
        """As many workers as there should be."""
        for worker in [each for each in self.workers if each.poll() is not None]:
            self.workers.remove(worker)
            if worker.returncode != -9:
                self.died.append((self.folder / f"said-{worker.pid}").read_text()[-300:])
        while len(self.workers) < self.size:
            self.workers.append(self._start())

    def kill_one(self, dice: random.Random) -> None:
        """SIGKILL to one of them."""
        worker = dice.choice(self.workers)
        worker.kill()
        worker.wait()
        self.killed += 1
        self.fill()

    def end(self) -> None:
        """Let all end after the task that runs."""
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.wait(60)

    def abandon(self) -> None:
        """Leave no process behind."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        said = self.folder / "said"
        with said.open("wb") as errors:
            worker = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tracekit.cli", "worker", "--app", str(self.app)),
                    *("--store", self.url, "--poll-s", "0.1", "--home", str(self.folder / "home")),
                ],
                env={**os.environ, "TRACEKIT_HOME": str(self.folder / "home"), **self.env},
                stdout=self.stdout,
                stderr=errors,
            )
        said.rename(self.folder / f"said-{worker.pid}")
        return worker


@dataclass(frozen=True)
class Result:
    """What a run showed."""

    tasks: int
    took_s: float
    statuses: Counter[str]
    once: int
    """Effects that happened exactly once."""
    repeated: int
    missing: int
    killed: int
    restarted: int
    answered: int
    """Questions that a person answered."""
    died: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Nothing repeated, nothing lost, no worker gave up."""
        done = self.statuses[TaskStatus.DONE.value] == self.tasks
        return done and not (self.repeated or self.missing or self.died)


def play(server: Server, folder: Path, *, tasks: int, workers: int, kills: int, restarts: int) -> Result:
    """One run from the first task admitted to the last one done."""
    os.environ["WORLD"] = str(folder / "world.txt")
    os.environ["TRACEKIT_HOME"] = str(folder / "home")
    names = [app.handle.submit(number, task_id=f"t{number:05}", store=server.url) for number in range(tasks)]
    crew, dice = Crew(server.url, folder, workers), random.Random(7)
    troubles: list[Callable[[], None]] = [lambda: crew.kill_one(dice)] * kills
    for number in range(restarts):
        mode = ("immediate", "fast")[number % 2]
        at = (number + 1) * len(troubles) // (restarts + 1)
        troubles.insert(at, lambda mode=mode: server.restart(mode=mode))
    begun_s = time.monotonic()
    crew.fill()
    try:
        answered = _see_through(open_store(server.url), crew, troubles, tasks)
        took_s = time.monotonic() - begun_s
        crew.end()
    finally:
        crew.abandon()
        close_all()
    return _result(server.url, folder, names, took_s, crew, restarts, answered)


def _see_through(store: Store, crew: Crew, troubles: list[Callable[[], None]], tasks: int) -> int:
    """Make trouble at even shares of the work, answer questions, until every task is done; how many answered."""
    answered, passed = 0, 0
    deadline_s = time.monotonic() + MOST_S
    while time.monotonic() < deadline_s:
        done = _done_so_far()
        if passed < len(troubles) and done >= (passed + 1) * tasks // (len(troubles) + 1):
            troubles[passed]()
            passed += 1
        crew.fill()
        for review in store.reviews():
            was_done = review.effect_key is not None and app.is_there("shred", review.effect_key)
            decide(
                review.review_id,
                "done" if was_done else "retry",
                by="ann",
                result="gone" if was_done else None,
                store=store,
            )
            answered += 1
        if done >= tasks and not store.tasks(status=[s for s in TaskStatus if not s.is_final], limit=1):
            break
        time.sleep(0.05)
    return answered


def _done_so_far() -> int:
    world = Path(os.environ["WORLD"])
    return world.read_text().count("shred ") if world.exists() else 0


def _result(
    url: str, folder: Path, names: list[str], took_s: float, crew: Crew, restarts: int, answered: int
) -> Result:
    store = open_store(url)
    states = [state for name in names if (state := store.load(name)) is not None]
    store.close()
    world = Counter((folder / "world.txt").read_text().splitlines())
    booked = {(row.tool, row.key) for state in states for row in state.effects}
    counts = [world[f"{tool} {key}"] for tool, key in booked]
    return Result(
        len(names),
        took_s,
        Counter(state.task.status.value for state in states),
        once=sum(count == 1 for count in counts),
        repeated=sum(count > 1 for count in counts),
        missing=counts.count(0) + len(names) * len(EFFECTS) - len(booked),
        killed=crew.killed,
        restarted=restarts,
        answered=answered,
        died=tuple(crew.died),
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=2)
    options = parser.parse_args()
    with own_server() as server, tempfile.TemporaryDirectory() as folder:
        found = play(server, Path(folder), **vars(options))
    steps = found.tasks * 4
    print(f"tasks       {found.tasks} by {options.workers} workers, {found.took_s:.1f} s")
    print(f"throughput  {found.tasks / found.took_s:.1f} tasks/s, {steps / found.took_s:.1f} steps/s")
    print(f"troubles    {found.killed} workers killed, {found.restarted} restarts of the server")
    print(f"ends        {', '.join(f'{count} {name}' for name, count in found.statuses.most_common())}")
    print(f"answered    {found.answered} questions by a person")
    print(f"effects     {found.once} once, {found.repeated} repeated, {found.missing} missing")
    for words in found.died:
        print(f"worker died {words}")
    print("nothing repeated, nothing lost" if found.is_good else "A PROMISE IS BROKEN")
    return int(not found.is_good)


if __name__ == "__main__":
    raise SystemExit(main())
