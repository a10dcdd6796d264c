"""Limits survive crashes: they are counted before the work, and at a limit a person is asked."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import tracekit
from tracekit.durable.api import decide, plan
from tracekit.durable.owning import close_all, ownership
from tracekit.errors import TracekitError
from tracekit.store.rows import TaskState
from tracekit.testing.faults import Faults
from tracekit.testing.settable_clock import SettableClock

begun: list[str] = []


class Died(BaseException):
    """Stands for the end of the process: like it, it is no Exception."""


@pytest.fixture(autouse=True)
def nothing_begun() -> None:
    begun.clear()


def state_of(task_id: str) -> TaskState:
    found = ownership().store.load(task_id)
    assert found is not None
    return found


def deadly(*args: Any) -> str:
    begun.append("x")
    if len(begun) <= 3:
        raise Died
    return "survived"


@tracekit.tool
def deadly_read() -> str:
    return deadly()


@tracekit.task
def by_tool(run: tracekit.Run) -> str:
    return deadly_read()


@tracekit.task
def by_step(run: tracekit.Run) -> str:
    return str(run.step("work", deadly))


@tracekit.task
def by_model(run: tracekit.Run) -> str:
    return str(run.model(deadly, [{"role": "user", "content": "x"}]).text)


@pytest.mark.parametrize("job", [by_tool, by_step, by_model])
def test_a_step_that_ends_its_process_is_not_begun_without_end(job: Any) -> None:
    with pytest.raises(Died):
        job.start(task_id="t")
    for _ in range(2):
        with pytest.raises(Died):
            tracekit.resume("t")

    with pytest.raises(tracekit.RequiresReview, match="3 times and never ended") as stop:
        tracekit.resume("t")
    assert len(begun) == 3
    decide(stop.value.review_id, "retry", by="ann")

    assert tracekit.resume("t") == "survived"
    assert [row.status for row in state_of("t").reviews] == ["used"]


def test_a_task_that_loses_its_process_too_often_is_laid_before_a_person() -> None:
    @tracekit.task(max_recoveries=2)
    def job(run: tracekit.Run) -> str:
        return "done"

    job.submit(task_id="t")
    store = ownership().store
    for number in range(3):
        assert store.acquire("t", owner=f"lost{number}", ttl_s=60, dead=[f"lost{number - 1}"])
    ownership().acquire("t", recover=True)

    row = state_of("t").task
    assert row.recoveries == 2
    assert store.acquire("t", owner="next", ttl_s=60, dead=["lost2"]) is None
    assert plan("t").action == "review"


def test_a_used_up_recovery_limit_asks_and_a_person_may_allow_more(faults: Faults) -> None:
    @tracekit.task(max_recoveries=0)
    def job(run: tracekit.Run) -> str:
        return "done"

    job.submit(task_id="t")
    store = ownership().store
    store.acquire("t", owner="lost", ttl_s=-1)

    with pytest.raises(tracekit.RequiresReview, match="its process was lost") as stop:
        tracekit.resume("t")
    decide(stop.value.review_id, "retry", by="ann")

    assert tracekit.resume("t") == "done"


def test_cost_is_counted_over_all_attempts() -> None:
    def ask(messages: list[Any]) -> Any:
        begun.append("asked")
        message = {"role": "assistant", "content": "x"}
        return {
            "choices": [{"message": message}],
            "usage": {"cost": 0.4, "prompt_tokens": 1, "completion_tokens": 1},
        }

    @tracekit.task(cost=0.5)
    def job(run: tracekit.Run) -> None:
        for number in range(5):
            run.model(ask, [{"role": "user", "content": str(number)}])
            if len(begun) == 1:
                begun.append("died")
                raise Died

    with pytest.raises(Died):
        job.start(task_id="t")
    with pytest.raises(tracekit.RequiresReview, match=r"0\.8 of 0\.5 cost"):
        tracekit.resume("t")
    assert begun == ["asked", "died", "asked"]


def test_time_is_counted_over_the_steps(settable_clock: SettableClock) -> None:
    @tracekit.tool
    def slow() -> None:
        settable_clock.move(40)

    @tracekit.task(wall_s=60)
    def job(run: tracekit.Run) -> None:
        for _ in range(5):
            slow()

    with pytest.raises(tracekit.RequiresReview, match="80 of 60 seconds"):
        job.start(task_id="t")


async def test_a_child_task_that_waits_for_ever_does_not_hold_the_end_up() -> None:
    @tracekit.tool(effect="payment")
    async def lost() -> None:
        raise TimeoutError("no answer")

    @tracekit.tool(effect="write")
    async def slow() -> str:
        await asyncio.sleep(0.2)
        begun.append("written")
        return "ok"

    @tracekit.task
    async def job(run: tracekit.Run) -> None:
        never = asyncio.Event()
        await asyncio.gather(run.tool(slow), never.wait(), run.tool(lost))

    with pytest.raises(tracekit.RequiresReview):
        await asyncio.wait_for(job.start_async(task_id="t"), 10)

    assert begun == ["written"]
    assert {row.tool: row.status.value for row in state_of("t").effects} == {
        "slow": "success",
        "lost": "executed_unknown",
    }


def test_an_async_task_in_a_running_loop_is_refused_before_it_is_admitted() -> None:
    @tracekit.task
    async def job(run: tracekit.Run) -> None:
        return None

    async def main() -> None:
        with pytest.raises(TracekitError, match="start_async"):
            job.start(task_id="t")

    asyncio.run(main())
    assert ownership().store.load("t") is None


def test_a_tool_whose_parameter_json_has_no_word_for_can_still_be_declared() -> None:
    class Client:
        pass

    @tracekit.tool
    def fetch(url: str, client: Client | None = None) -> str:
        return url

    assert set(fetch.definition()["function"]["parameters"]["properties"]) == {"url", "client"}

    @tracekit.task
    def job(run: tracekit.Run) -> str:
        return fetch("here")

    assert job.start(task_id="t") == "here"


def test_the_store_is_left_in_order_when_the_process_goes_on_with_other_tasks() -> None:
    @tracekit.task
    def job(run: tracekit.Run, number: int) -> int:
        return number

    assert [job.start(number, task_id=f"t{number}") for number in range(5)] == list(range(5))
    assert ownership().sessions == set()
    close_all()
    assert ownership().store.workers() == []


def test_a_forked_child_can_not_write_under_its_parents_lease() -> None:
    @tracekit.tool(effect="write")
    def put() -> str:
        begun.append("put")
        return "put"

    @tracekit.task
    def job(run: tracekit.Run) -> str:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run.tool(put)
            except TracekitError as error:
                code = 42 if error.code == "task.forked" else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 42
        return put()

    assert job.start(task_id="t") == "put"
    assert begun == ["put"]


@pytest.mark.parametrize(
    "limit",
    [{"max_attempts": 0}, {"max_recoveries": -1}, {"tokens": 0}, {"wall_s": float("nan")}, {"cost": "1"}],
)
def test_a_limit_that_no_work_could_keep_is_refused_where_the_task_is_declared(limit: dict[str, Any]) -> None:
    with pytest.raises(TracekitError, match=next(iter(limit))):
        tracekit.task(**limit)


def test_a_limit_that_no_work_could_keep_is_refused_where_a_scope_is_entered() -> None:
    with pytest.raises(TracekitError, match="max_recoveries"), tracekit.task_scope("s", max_recoveries=-1):
        pass
