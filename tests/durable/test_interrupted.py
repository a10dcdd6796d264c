"""Interruptions of a task by what is no exception of its code: forked children, Ctrl-C, exits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tracekit
from tracekit.durable.owning import ownership
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.testing.faults import Faults

begun: list[str] = []


@pytest.fixture(autouse=True)
def nothing_begun() -> None:
    begun.clear()


@tracekit.tool(effect="write")
def put_down(what: str) -> str:
    begun.append(what)
    return what


FORKING = """
import os, sys
import tracekit

@tracekit.tool(effect="write")
def put(what: str) -> str:
    return what

@tracekit.task
def job(run):
    put("before")
    if os.fork() == 0:
        {child}
    os.wait()
    return put("after")

if __name__ == "__main__":
    print(job.start(task_id="t"))
"""


@pytest.mark.parametrize("child", ["return 'child'", "raise ValueError('child')", "sys.exit(0)"])
def test_a_forked_child_that_leaves_the_task_takes_nothing_from_its_parent(
    child: str, tmp_path: Path
) -> None:
    script = tmp_path / "app.py"
    script.write_text(FORKING.format(child=child))

    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout) == (0, "after\n"), ran.stderr
    state = ownership().store.load("t")
    assert state is not None
    assert state.task.status is TaskStatus.DONE
    assert state.reviews == ()
    if child != "sys.exit(0)":
        assert "task.forked" in ran.stderr or "forked child" in ran.stderr


def test_ctrl_c_in_a_commit_ends_the_attempt_although_the_agent_catches_it(faults: Faults) -> None:
    faults.raise_at("after_commit:before_effect", KeyboardInterrupt())

    @tracekit.task
    def job(run: tracekit.Run) -> str:
        with contextlib.suppress(KeyboardInterrupt):
            put_down("first")
        return put_down("second")

    with pytest.raises(TracekitError, match="KeyboardInterrupt came while") as caught:
        job.start(task_id="t")

    assert caught.value.code == "task.interrupted"
    assert begun == []
    state = ownership().store.load("t")
    assert state is not None
    assert [row.status.value for row in state.effects] == ["pending"]  # nobody says that it was not sent
    with pytest.raises(tracekit.RequiresReview):
        tracekit.resume("t")


def test_nothing_more_is_sent_once_the_store_was_deleted(own_home: Path) -> None:
    @tracekit.task
    def job(run: tracekit.Run) -> str:
        put_down("before")
        for each in own_home.glob("state.db*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        with contextlib.suppress(TracekitError):
            put_down("after")
        return put_down("later")

    with pytest.raises(TracekitError, match="deleted or replaced"):
        job.start(task_id="t")

    assert begun == ["before"]
    assert not (own_home / "state.db").exists()


@pytest.mark.parametrize("timeout_s", [None, 60.0])
def test_an_exit_inside_a_tool_ends_the_attempt_at_once_with_or_without_a_time_limit(
    timeout_s: float | None,
) -> None:
    @tracekit.tool(effect="write", timeout_s=timeout_s)
    def leave() -> None:
        sys.exit(3)

    @tracekit.task
    def job(run: tracekit.Run) -> None:
        leave()

    began_s = time.monotonic()
    with pytest.raises(SystemExit) as caught:
        job.start(task_id="t")

    assert caught.value.code == 3
    assert time.monotonic() - began_s < 30
    state = ownership().store.load("t")
    assert state is not None
    assert [row.status.value for row in state.effects] == ["executed_unknown"]


released = threading.Event()


@tracekit.tool(effect="write", timeout_s=0.2)
def hang(what: str) -> None:
    released.wait(60)


@tracekit.task
async def hangs(run: tracekit.AsyncRun) -> None:
    await run.tool(hang, "x")


def test_a_call_that_hangs_past_its_time_limit_does_not_keep_an_async_task_from_returning() -> None:
    began_s = time.monotonic()
    with pytest.raises(tracekit.RequiresReview):
        hangs.start(task_id="t")

    assert time.monotonic() - began_s < 30
    released.set()


def test_the_time_of_a_call_does_not_run_while_others_are_made() -> None:
    together = 3 * (os.cpu_count() or 1) + 40  # more than the threads of any loop
    all_here = threading.Barrier(together)

    @tracekit.tool(effect="write", timeout_s=50)
    def meet(number: int) -> int:
        all_here.wait(40)
        return number

    @tracekit.task
    async def job(run: tracekit.AsyncRun) -> list[int]:
        return await asyncio.gather(*(run.tool(meet, number) for number in range(together)))

    assert job.start(task_id="t") == list(range(together))


def _first_of_none() -> str:
    return next(iter(()))


def test_a_plain_function_that_raises_stop_iteration_hangs_nobody() -> None:
    @tracekit.task
    async def job(run: tracekit.AsyncRun) -> str:
        try:
            return await run.step("first", _first_of_none)
        except RuntimeError as error:
            return type(error.__cause__).__name__

    assert asyncio.run(asyncio.wait_for(job.start_async(task_id="t"), 30)) == "StopIteration"
