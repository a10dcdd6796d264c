"""Several processes on one store: each task has one owner, a lost one is followed at once, a living one is not robbed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit.durable.owning import close_all, ownership
from tracekit.durable.stuck import stuck_reasons
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store.rows import TaskRow

APP = Path(__file__).with_name("worker_app.py")


class Workers:
    """Worker processes of one test."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.world = folder / "world.txt"
        self.started: list[subprocess.Popen[str]] = []

    def start(
        self, *more: str, until_idle: bool = False, home: Path | None = None, output: Any = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """A worker; one with a home of its own can't see the locks of the others, like one of another machine."""
        command = [sys.executable, "-m", "tracekit.cli", "worker", "--app", str(APP), "--store", self.url]
        env = {**os.environ, "WORLD": str(self.world)}
        if home is not None:
            env["TRACEKIT_HOME"] = str(home)
        options = ["--poll-s", "0.05", *(["--until-idle"] if until_idle else []), *more]
        worker = subprocess.Popen([*command, *options], env=env, stdout=output, stderr=output, text=True)
        self.started.append(worker)
        return worker

    def lines(self) -> list[str]:
        return self.world.read_text().splitlines() if self.world.exists() else []

    def submit(self, name: str, gate: Path | None = None) -> None:
        from tests.durable.worker_app import job

        job.submit(name, str(gate) if gate else "", task_id=name, store=self.url)

    def row(self, name: str) -> TaskRow:
        state = ownership(self.url).store.load(name)
        assert state is not None
        return state.task


def wait_until(true: Callable[[], bool], *, s: float = 20.0) -> None:
    end = time.monotonic() + s
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def workers(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workers]:
    url = f"sqlite:{tmp_path / 'jobs.db'}"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    made = Workers(tmp_path, url)
    monkeypatch.setenv("WORLD", str(made.world))
    monkeypatch.syspath_prepend(str(APP.parents[2]))
    yield made
    for worker in made.started:
        if worker.poll() is None:
            os.kill(worker.pid, signal.SIGKILL)
        worker.communicate()
    close_all()


def test_two_workers_share_the_tasks_and_run_each_once(workers: Workers) -> None:
    for number in range(12):
        workers.submit(f"job{number:02}")
    ends = [workers.start(until_idle=True), workers.start(until_idle=True)]
    for worker in ends:
        worker.wait(60)

    puts = [line.split()[1] for line in workers.lines()]
    assert sorted(puts) == sorted(f"job{number:02}-{half}" for number in range(12) for half in (1, 2))
    assert {workers.row(f"job{number:02}").status for number in range(12)} == {TaskStatus.DONE}


def test_a_killed_owner_is_followed_at_once_and_nothing_is_done_twice(
    workers: Workers, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    workers.submit("job", gate)
    first = workers.start()
    wait_until(lambda: any(line.startswith("waiting") for line in workers.lines()))

    os.kill(first.pid, signal.SIGKILL)
    workers.start()
    wait_until(lambda: sum(line.startswith("waiting") for line in workers.lines()) == 2)
    gate.touch()
    wait_until(lambda: workers.row("job").status is TaskStatus.DONE)

    assert [line.split()[1] for line in workers.lines() if line.startswith("put")] == ["job-1", "job-2"]
    assert (workers.row("job").recoveries, workers.row("job").attempt) == (1, 2)


def test_a_stopped_owner_on_this_machine_is_not_robbed(workers: Workers, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    workers.submit("job", gate)
    first = workers.start()
    wait_until(lambda: any(line.startswith("waiting") for line in workers.lines()))

    os.kill(first.pid, signal.SIGSTOP)
    owner = ownership(workers.url)
    try:
        assert owner.acquire("job", recover=True) is None
    finally:
        os.kill(first.pid, signal.SIGCONT)
    gate.touch()
    wait_until(lambda: workers.row("job").status is TaskStatus.DONE)
    assert workers.row("job").recoveries == 0


def test_an_owner_that_lost_its_lease_while_stopped_writes_nothing_more(
    workers: Workers, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    workers.submit("job", gate)
    first = workers.start()
    wait_until(lambda: any(line.startswith("waiting") for line in workers.lines()))
    os.kill(first.pid, signal.SIGSTOP)
    old = workers.row("job")

    # Another machine can't see the lock and goes by the lease: it is told that the owner is dead.
    store = ownership(workers.url).store
    lease = store.acquire("job", owner="elsewhere", ttl_s=60, dead=[str(old.owner)])
    assert lease is not None
    before = store.load("job")
    os.kill(first.pid, signal.SIGCONT)
    gate.touch()
    out = ""
    wait_until(lambda: first.stdout is not None and bool(first.stdout.readable()))
    assert first.stdout is not None
    out = first.stdout.readline()

    assert out.split("\t")[:2] == ["job", "lost"]
    assert store.load("job") == before
    assert [line.split()[1] for line in workers.lines() if line.startswith("put")] == ["job-1"]


def test_a_task_held_by_a_living_process_can_not_be_resumed_or_started_here(
    workers: Workers, tmp_path: Path
) -> None:
    import tracekit
    from tests.durable.worker_app import job

    gate = tmp_path / "gate"
    workers.submit("job", gate)
    workers.start()
    wait_until(lambda: any(line.startswith("waiting") for line in workers.lines()))

    with pytest.raises(TracekitError, match="is held by"):
        tracekit.resume("job", store=workers.url)
    with pytest.raises(TracekitError, match="is alive and works on it"):
        job.start("job", str(gate), task_id="job", store=workers.url)
    gate.touch()
    wait_until(lambda: workers.row("job").status is TaskStatus.DONE)


def test_a_task_without_any_worker_is_listed_as_stuck(workers: Workers) -> None:
    workers.submit("job")
    store = ownership(workers.url).store

    assert "no worker" in stuck_reasons(store, store.tasks())["job"]


def test_a_task_that_exits_or_cancels_itself_ends_no_worker_and_waits_for_a_person(workers: Workers) -> None:
    from tests.durable.worker_app import cancels, leaves

    leaves.submit(task_id="leaves", store=workers.url)
    cancels.submit(task_id="cancels", store=workers.url)
    workers.submit("job")

    worker = workers.start(until_idle=True)

    assert worker.wait(60) == 0
    assert workers.row("job").status is TaskStatus.DONE
    for name, error in (("leaves", "SystemExit"), ("cancels", "CancelledError")):
        row = workers.row(name)
        assert (row.status, row.attempt) == (TaskStatus.REQUIRES_REVIEW, 1)
        assert error in (row.error or "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_worker_whose_output_can_not_be_written_goes_on_working(workers: Workers) -> None:
    for number in range(3):
        workers.submit(f"job{number}")

    with open("/dev/full", "w") as full:
        worker = workers.start(until_idle=True, output=full)
        code = worker.wait(60)

    assert code == 0
    assert {workers.row(f"job{number}").status for number in range(3)} == {TaskStatus.DONE}
