"""Calls are found again also where a loop of its own is run, and where one task runs inside another."""

from __future__ import annotations

import asyncio

import pytest

import tracekit
from tracekit.durable.owning import ownership

calls: list[int] = []
broken: list[Exception] = []
slow: list[int] = []
"""Numbers whose effect takes longer than that of the others."""


@pytest.fixture(autouse=True)
def breaks_once() -> None:
    calls.clear()
    broken[:] = [RuntimeError("power")]
    slow[:] = [1, 2]


@tracekit.tool(effect="write")
async def put(number: int) -> int:
    await asyncio.sleep(0.02 if number in slow else 0)
    calls.append(number)
    return number


@tracekit.tool(effect="write")
def put_plain(number: int) -> int:
    calls.append(number)
    return number


@tracekit.tool(effect="write")
async def put_both(number: int) -> int:
    return await put(number) + await put(number + 1)


@tracekit.tool(effect="write")
def put_in_a_loop(number: int) -> int:
    return asyncio.run(_side_by_side(number))


@tracekit.tool(effect="write")
async def put_first_in_a_thread(number: int) -> int:
    return await asyncio.to_thread(put_plain, number) + await put(number + 1)


async def _two(number: int) -> int:
    return await put(number) + await put(number + 1)


async def _side_by_side(number: int) -> int:
    return sum(await asyncio.gather(_two(number), _two(number + 2)))


def break_once() -> None:
    if broken:
        slow[:] = [3, 4]  # the other way round in the next process
        raise broken.pop()


@tracekit.task
def plain_with_async_tool(run: tracekit.SyncRun) -> int:
    found = run.tool(put_both, 1) + run.tool(put, 3)
    break_once()
    return found + run.tool(put, 4)


@tracekit.task
def plain_with_own_loop(run: tracekit.SyncRun) -> int:
    found = asyncio.run(_side_by_side(1)) + run.tool(put, 5)
    break_once()
    return found + run.tool(put, 6)


@tracekit.task
async def async_with_loop_in_a_tool(run: tracekit.AsyncRun) -> int:
    found = await run.tool(put_in_a_loop, 1)
    found += sum(await asyncio.gather(_two(5), _two(7)))
    break_once()
    return found


@tracekit.task
async def async_with_thread_first(run: tracekit.Run) -> int:
    found = await put_first_in_a_thread(1)
    break_once()
    return found


@tracekit.task
async def inner(run: tracekit.Run) -> int:
    found = await _side_by_side(1)
    break_once()
    return found


@tracekit.task
async def outer(run: tracekit.AsyncRun) -> int:
    return await run.step("inner", inner.start_async, task_id="inner")


@pytest.mark.parametrize(
    ("task", "name", "numbers"),
    [
        (plain_with_async_tool, "t", 4),
        (plain_with_own_loop, "t", 6),
        (async_with_loop_in_a_tool, "t", 8),
        (async_with_thread_first, "t", 2),
        (outer, "inner", 4),
    ],
    ids=["async tool", "own loop", "loop in a tool", "thread first", "task in a task"],
)
def test_each_call_is_made_once_over_a_resume(task: tracekit.Task[int], name: str, numbers: int) -> None:
    with pytest.raises(RuntimeError):
        task.start(task_id="t")

    result = tracekit.resume(name)

    assert result == sum(range(1, numbers + 1))
    assert sorted(calls) == list(range(1, numbers + 1))


def test_calls_in_another_loop_stand_where_the_code_stands_that_runs_it() -> None:
    broken.clear()

    plain_with_async_tool.start(task_id="in a tool")
    plain_with_own_loop.start(task_id="in the task")
    async_with_thread_first.start(task_id="in a thread")

    assert _places("in a tool") == {"1": "put_both", "1:1/1": "put", "1:1/2": "put", "2": "put", "3": "put"}
    assert _places("in the task").keys() == {"1", "2", ".1/1", ".1/2", "3", "4"}
    assert _places("in a thread").keys() == {"1", "1:1.1/1", "1:1/1"}


def _places(task_id: str) -> dict[str, str]:
    state = ownership().store.load(task_id)
    assert state is not None
    return {row.place: row.tool for row in state.effects}
