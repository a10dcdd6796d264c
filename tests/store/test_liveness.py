"""Locks tell the living from the dead: real processes, really killed and really stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.store.samples import started
from tracekit import machine
from tracekit.store import liveness, open_store
from tracekit.store.contract import Store
from tracekit.store.rows import WorkerRow

WORKER = """
import sys
from tracekit.store import liveness, open_store
store = open_store(sys.argv[1])
presence = liveness.enter(store, worker_id="other")
if len(sys.argv) > 2:
    assert store.acquire(sys.argv[2], owner="other", ttl_s=0, recover=True)
print("ready", flush=True)
sys.stdin.read()
presence.leave()
"""


@contextmanager
def other_process(url: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A worker named `other` in a process of its own; told to leave by closing its input."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, url, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "state.db")
    yield store
    store.close()


def test_a_worker_is_alive_until_it_leaves(store: Store) -> None:
    presence = liveness.enter(store)
    assert liveness.survey(store) == liveness.Survey(dead=(), alive=(presence.worker_id,))
    presence.leave()

    assert store.workers() == []
    assert liveness.survey(store) == liveness.Survey(dead=(), alive=())


def test_two_workers_of_one_process_are_told_apart(file_store: Store) -> None:
    first, second = liveness.enter(file_store), liveness.enter(file_store)
    first.drop_lock()

    assert liveness.survey(file_store) == liveness.Survey((first.worker_id,), (second.worker_id,))


def test_a_killed_worker_is_dead_at_once_and_its_task_is_had(file_store: Store) -> None:
    file_store.release(started(file_store))
    with other_process(file_store.url, "t1") as process:
        assert liveness.survey(file_store).alive == ("other",)
        process.send_signal(signal.SIGKILL)
        process.wait()

        assert liveness.dead_workers(file_store) == ["other"]
    lease = file_store.acquire("t1", owner="me", ttl_s=60, dead=liveness.dead_workers(file_store))
    assert lease is not None


def test_a_stopped_worker_is_not_robbed_though_its_lease_is_over(file_store: Store) -> None:
    file_store.release(started(file_store))
    with other_process(file_store.url, "t1") as process:
        process.send_signal(signal.SIGSTOP)
        seen = liveness.survey(file_store)

        assert file_store.acquire("t1", owner="me", ttl_s=60, dead=seen.dead, alive=seen.alive) is None
        process.send_signal(signal.SIGCONT)


def test_a_worker_that_leaves_is_forgotten(file_store: Store) -> None:
    with other_process(file_store.url) as process:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()

    assert file_store.workers() == []
    assert list((file_store.lock_folder or Path()).iterdir()) == []


def test_a_child_does_not_keep_its_dead_parent_alive(file_store: Store) -> None:
    presence = liveness.enter(file_store)
    arrived, gone = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(arrived[1], b"x")
        os.read(gone[0], 1)
        os._exit(0)
    os.read(arrived[0], 1)
    assert liveness.survey(file_store).alive == (presence.worker_id,)
    presence.drop_lock()

    assert liveness.dead_workers(file_store) == [presence.worker_id]
    os.write(gone[1], b"x")
    os.waitpid(child, 0)


def test_a_worker_of_another_machine_is_not_judged(file_store: Store) -> None:
    file_store.register_worker(WorkerRow("far", "another-host", "another-boot", 1, 1, 1))

    assert liveness.survey(file_store) == liveness.Survey((), ())


def test_a_worker_from_before_a_restart_of_this_machine_is_dead(file_store: Store) -> None:
    presence = liveness.enter(file_store, worker_id="before")
    presence.drop_lock()
    file_store.register_worker(WorkerRow("before", machine.host(), "an-earlier-boot", 1, 1, 1))

    assert liveness.dead_workers(file_store) == ["before"]


def test_dead_workers_are_forgotten_once_they_own_nothing(file_store: Store) -> None:
    liveness.enter(file_store, worker_id="idle").drop_lock()
    liveness.enter(file_store, worker_id="w1").drop_lock()
    lease = started(file_store)

    assert liveness.forget_dead(file_store) == 1
    assert [row.worker_id for row in file_store.workers()] == ["w1"]
    file_store.release(lease)
    assert liveness.forget_dead(file_store) == 1
