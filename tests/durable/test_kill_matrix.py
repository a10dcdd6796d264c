"""Real processes killed by SIGKILL at every named point, resumed in new ones; effects are counted outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tracekit.durable.api import decide, pending_reviews, plan
from tracekit.durable.owning import close_all
from tracekit.model import StepStatus, TaskStatus
from tracekit.store import open_store
from tracekit.store.rows import TaskState
from tracekit.testing.faults import POINTS, killing

APP = Path(__file__).with_name("kill_app.py")
MOST_RESUMES = 8
PASSINGS = int(os.environ.get("TRACEKIT_CHAOS", "0"))
"""Kill at every point, at its first so many passings; 0 takes the sample."""
SAMPLE = (
    "before_commit:attempt",
    "after_commit:before_model",
    "after_commit:after_model",
    "after_commit:before_effect",
    "before_commit:after_effect",
    "after_commit:after_effect",
    "before_dispatch#5",
    "after_dispatch#3",
    "after_dispatch#6",
    "after_dispatch#4>replayed",
    "before_commit:task_done",
)
RECOVERY_ONLY = ("replayed", "before_commit:settled", "after_commit:settled", "before_probe", "after_probe")
EVERYWHERE = [f"{point}#{nth}" for point in POINTS for nth in range(1, PASSINGS + 1)]
EVERYWHERE += [f"after_dispatch#4>{point}#{nth}" for point in RECOVERY_ONLY for nth in range(1, PASSINGS + 1)]
KILLS = EVERYWHERE if PASSINGS else list(SAMPLE)
"""Where to kill; `a>b` kills the first process at a and those that resume at b."""
FLAVOURS = [(kill, "sync") for kill in KILLS] + [
    (kill, "async") for kill in (KILLS if PASSINGS else KILLS[1::3])
]


class World:
    """One task, its store, and the file that says what really happened."""

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder = folder
        self.file = folder / "world.jsonl"
        self.kills = 0
        self.url = url or f"sqlite:{folder / 'home' / 'state.db'}"

    def run(self, *args: str, kill: dict[str, str] | None = None) -> int:
        """Exit code of the app; minus the signal when it was killed."""
        env = {
            **os.environ,
            "WORLD": str(self.file),
            "TRACEKIT_HOME": str(self.folder / "home"),
            **(kill or {}),
        }
        env["TRACEKIT_STORE"] = self.url
        done = subprocess.run(
            [sys.executable, str(APP), *args], env=env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode in (0, 3, 4, 5, -signal.SIGKILL), done.stderr
        self.said = done.stdout + done.stderr
        self.kills += done.returncode == -signal.SIGKILL
        return done.returncode

    def state(self) -> TaskState | None:
        """The task as it stands."""
        if self.url.startswith("sqlite:") and not (self.folder / "home" / "state.db").exists():
            return None
        store = open_store(self.url)
        try:
            return store.load("t", with_bodies=True)
        finally:
            store.close()

    def happened(self) -> list[dict[str, Any]]:
        """Every effect, in order."""
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def answer_reviews(self) -> None:
        """Look into the world as a person would, and say what is true."""
        keys = {(line["what"], line.get("key")) for line in self.happened()}
        for review in pending_reviews(store=self.url):
            done = any(key == review.effect_key for _, key in keys)
            decision = "done" if review.reason == "effect.unknown" and done else "retry"
            decide(review.review_id, decision, by="ann", result="gone", store=self.url)
        close_all()


def finished(state: TaskState | None) -> dict[str, tuple[str | None, str]]:
    """Place to result and status of every step that ended."""
    rows = state.steps if state is not None else ()
    return {row.place: (row.result, row.status.value) for row in rows if row.status is StepStatus.OK}


def drive_to_the_end(
    world: World, flavour: str, *, first_kill: dict[str, str], later_kill: dict[str, str]
) -> list[dict[str, tuple[str | None, str]]]:
    """Start, then resume until the task is done, the first three goes under a kill; what was finished after each."""
    seen = []
    code = world.run("start", flavour, kill=first_kill)
    seen.append(finished(world.state()))
    for go in range(MOST_RESUMES):
        if code == 0:
            return seen
        if code == 5:
            world.answer_reviews()
        code = (
            world.run("start", flavour)
            if code == 4
            else world.run("resume", kill=later_kill if go < 2 else None)
        )
        if code == 4 or (code == 3 and world.state() is None):
            code = world.run("start", flavour)
        seen.append(finished(world.state()))
    raise AssertionError(f"not done after {MOST_RESUMES} resumes: {world.said}")


@pytest.mark.parametrize(("kill", "flavour"), FLAVOURS)
def test_a_killed_task_ends_with_each_effect_once(tmp_path: Path, kill: str, flavour: str) -> None:
    check_killed(World(tmp_path), kill, flavour)


@pytest.mark.postgres
@pytest.mark.parametrize("kill", KILLS if PASSINGS else SAMPLE[3:6])
def test_the_same_on_a_database_server(tmp_path: Path, kill: str, postgres_url: str) -> None:
    check_killed(World(tmp_path, postgres_url), kill, "sync")


def at(kill: str) -> dict[str, str]:
    """Environment that kills at `point#nth`."""
    point, _, nth = kill.partition("#")
    return killing(point, int(nth or 1))


def check_killed(world: World, kill: str, flavour: str) -> None:
    """Kill at *kill* until the task is done, then compare the world with the promise."""
    first, _, later = kill.partition(">")

    seen = drive_to_the_end(world, flavour, first_kill=at(first), later_kill=at(later or first))

    state = world.state()
    assert state is not None
    assert state.task.status is TaskStatus.DONE
    counts = Counter(line["what"] for line in world.happened())
    assert (counts["refund"], counts["notify"], counts["shred"]) == (1, 1, 1)
    assert PASSINGS or world.kills > 0, f"{kill} was never passed"
    last = finished(state)
    for earlier in seen:
        assert earlier.items() <= last.items(), "a step whose end was committed was done again"


UNDO_KILLS = (
    "before_commit:undo_planned",
    "after_commit:undo_planned",
    "before_commit:before_effect",
    "after_commit:before_effect",
    "after_dispatch",
    "after_commit:after_effect",
    "before_commit:undone",
    "after_commit:undone",
    "before_commit:task_failed",
)


@pytest.mark.parametrize("kill", UNDO_KILLS if PASSINGS else UNDO_KILLS[1::3])
def test_a_killed_rollback_takes_everything_back_once_in_reverse_order(tmp_path: Path, kill: str) -> None:
    world = World(tmp_path)
    assert world.run("start", "journey") == 5
    (review,) = pending_reviews(store=world.url)
    decide(review.review_id, "rollback", by="ann", store=world.url)
    close_all()

    assert world.run("resume", kill=killing(kill)) == -signal.SIGKILL
    assert world.run("resume") == 3

    assert "rolled_back" in world.said
    cancelled = [line["key"] for line in world.happened() if line["what"] == "cancel"]
    assert cancelled == ["hotel", "flight"]
    state = world.state()
    assert state is not None
    assert state.task.status is TaskStatus.FAILED
    assert {row.status.value for row in state.effects if row.tool == "reserve"} == {"compensated"}


def test_killed_before_the_answer_was_recorded_the_plan_names_the_payment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)

    code = world.run("start", "sync", kill=killing("before_commit:after_effect"))
    monkeypatch.setenv("WORLD", str(world.file))
    found = plan("t", store=world.url, app=str(APP))
    close_all()

    assert code == -signal.SIGKILL
    assert found.action == "settle"
    assert [(each.tool, each.status) for each in found.at_risk] == [("refund", "pending")]
    assert found.kept_model_calls == 1


def test_a_sample_of_the_chaos_of_everything_keeps_every_promise() -> None:
    """`make chaos` kills at all of some 190 places; here at every sixtieth."""
    command = [sys.executable, "-m", "benchmarks.chaos", "--store", "sqlite", "--every", "60"]

    done = subprocess.run(command, cwd=APP.parents[2], capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stdout
    (total,) = [line.split() for line in done.stdout.splitlines() if line.startswith("all ")]
    cases, kills, repeated, lost, stuck = (int(total[column]) for column in (1, 2, 5, 6, 7))
    assert cases == 4
    assert kills >= cases
    assert (repeated, lost, stuck) == (0, 0, 0)
