"""What is carried into another thread, loop or process runs below the step that sent it, async functions too."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tracekit


@tracekit.tool
async def look_up(order_id: str) -> str:
    await asyncio.sleep(0)
    return order_id


def in_a_loop_of_its_own(function: Any, *args: Any) -> Any:
    async def main() -> Any:
        return await function(*args)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main()).result()


@pytest.mark.parametrize("way", ["as it is", "pickled"])
def test_an_async_function_is_carried_into_the_loop_of_another_thread(steps: Any, way: str) -> None:
    with tracekit.step("outer") as outer:
        carried: Any = tracekit.carry(look_up)
        if way == "pickled":
            carried = pickle.loads(pickle.dumps(carried))
    assert inspect.iscoroutinefunction(carried)

    assert in_a_loop_of_its_own(carried, "A-1024") == "A-1024"

    assert outer.ref is not None
    (step,) = [step for step in steps() if step["kind"] == "tool"]
    assert step["parent_step_id"] == outer.ref.step_id
    assert "tracekit.no_context" not in step["attributes"]


def test_calls_of_one_carried_function_run_side_by_side(steps: Any) -> None:
    with tracekit.step("outer"):
        carried: Any = tracekit.carry(look_up)

    async def both() -> list[str]:
        return list(await asyncio.gather(carried("A"), carried("B")))

    assert in_a_loop_of_its_own(both) == ["A", "B"]
    assert len({step["parent_step_id"] for step in steps() if step["kind"] == "tool"}) == 1


async def test_cancelling_the_call_cancels_what_was_carried(steps: Any) -> None:
    begun, ended = asyncio.Event(), threading.Event()

    @tracekit.tool
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    call = asyncio.ensure_future(tracekit.carry(wait)())
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert ended.is_set()
    (step,) = steps()
    assert (step["status"], step["error_type"]) == ("error", "asyncio.exceptions.CancelledError")
