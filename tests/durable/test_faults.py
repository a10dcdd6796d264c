"""Each fault does what its name says, and none outlives its block."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

import tracekit
from tracekit.durable.owning import ownership
from tracekit.testing.faults import POINTS, Faults, killing
from tracekit.testing.settable_clock import SettableClock

done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


@tracekit.tool(effect="write")
def put(name: str) -> str:
    done.append(name)
    return name


@tracekit.tool
async def get_async(name: str) -> str:
    done.append(name)
    return name


@tracekit.task
def job(run: tracekit.Run) -> Any:
    return put("x")


def test_there_are_more_than_forty_points_and_each_has_its_own_name() -> None:
    assert len(POINTS) == len(set(POINTS)) > 40


def test_a_point_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="POINTS"):
        killing("somewhere")
    with pytest.raises(ValueError, match="POINTS"), Faults() as faults:
        faults.raise_at("somewhere", RuntimeError())


def test_a_fault_ends_with_its_block() -> None:
    with Faults() as faults:
        faults.fail(put, RuntimeError("planted"), times=9)
        faults.raise_at("before_commit:task_done", RuntimeError("planted"))
    assert job.start(task_id="t") == "x"


def test_a_delivery_may_be_repeated(faults: Faults) -> None:
    faults.duplicate(put)

    assert job.start(task_id="t") == "x"
    assert done == ["x", "x"]


def test_an_answer_may_be_malformed(faults: Faults) -> None:
    faults.malformed(put, {"half": None})

    assert job.start(task_id="t") == {"half": None}
    assert done == ["x"]


def test_an_answer_may_be_late(faults: Faults, settable_clock: SettableClock) -> None:
    faults.delay(put, 3.0)
    faults.delay_at("before_commit:task_done", 4.0)

    job.start(task_id="t")
    assert settable_clock.slept_s == [3.0, 4.0]


def test_a_named_passing_of_a_point_is_hit(faults: Faults) -> None:
    passed: list[int] = []
    faults.call_at("before_dispatch", lambda: passed.append(len(done)), nth=2)

    @tracekit.task
    def two(run: tracekit.Run) -> None:
        put("a")
        put("b")

    two.start(task_id="t")
    assert passed == [1]


async def test_an_asynchronous_answer_may_be_dropped(faults: Faults) -> None:
    faults.drop_answer(get_async, times=1)

    with pytest.raises(tracekit.OutcomeUnknown):
        await get_async("x")
    assert await get_async("y") == "y"
    assert done == ["x", "y"]


def test_a_process_is_killed_for_real(tmp_path: Any) -> None:
    code = "import tracekit.durable.points as p; p.point('replayed'); p.point('replayed'); print('alive')"
    env = {**os.environ, **killing("replayed", nth=2)}

    dead = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, timeout=60)

    assert (dead.returncode, dead.stdout) == (-signal.SIGKILL, b"")


def test_a_settable_clock_gives_ids_that_count_up_and_repeat() -> None:
    first, second = SettableClock(), SettableClock()
    ids = [first.random_hex(16) for _ in range(100)]

    assert len(set(ids)) == 100
    assert ids == [second.random_hex(16) for _ in range(100)]


def test_what_a_full_disk_stopped_goes_on_when_there_is_room(faults: Faults) -> None:
    faults.disk_full_at("before_commit:task_done")
    with pytest.raises(OSError, match="No space"):
        job.start(task_id="t")

    assert tracekit.resume("t") == "x"
    assert done == ["x"]
    assert asyncio.run(_status()) == "done"


async def _status() -> str:
    state = ownership().store.load("t")
    assert state is not None
    return state.task.status.value
