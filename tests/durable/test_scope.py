"""`task_scope`: effects of any framework's run are booked, and repeats give the recorded result."""

from __future__ import annotations

from typing import Any

import pytest

import tracekit
from tracekit.durable.api import decide
from tracekit.durable.owning import ownership
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.testing.faults import Faults

world: list[Any] = []


@pytest.fixture(autouse=True)
def empty_world() -> None:
    world.clear()


@tracekit.tool
def look(what: str) -> str:
    world.append(("look", what))
    return what


@tracekit.tool(effect="payment")
def pay(amount: int) -> str:
    world.append(("pay", amount, tracekit.idempotency_key()))
    return f"paid {amount}"


@tracekit.tool(effect="payment")
async def pay_async(amount: int) -> str:
    world.append(("pay", amount, tracekit.idempotency_key()))
    return f"paid {amount}"


def test_outside_of_a_scope_a_tool_is_the_plain_function() -> None:
    assert pay(5) == "paid 5"
    assert world == [("pay", 5, None)]


def test_a_run_that_broke_is_run_again_and_pays_once() -> None:
    def framework() -> None:
        look("x")
        assert pay(5) == "paid 5"
        raise RuntimeError("the framework broke")

    with pytest.raises(RuntimeError), tracekit.task_scope("s"):
        framework()

    with tracekit.task_scope("s"):
        look("x")
        assert pay(5) == "paid 5"

    assert [entry[0] for entry in world] == ["look", "pay", "look"]
    assert world[1][2] is not None


def test_equal_calls_are_told_apart_by_their_order_and_another_order_of_calls_does_not_matter() -> None:
    def framework() -> None:
        pay(5)
        pay(5)
        pay(7)
        raise RuntimeError("broke")

    with pytest.raises(RuntimeError), tracekit.task_scope("s"):
        framework()

    with tracekit.task_scope("s"):
        pay(7)
        pay(5)
        pay(5)
        pay(5)

    assert [entry[1] for entry in world] == [5, 5, 7, 5]


async def test_async_tools_are_guarded_too() -> None:
    for _ in range(2):
        with tracekit.task_scope("s"):
            assert await pay_async(5) == "paid 5"
    assert len(world) == 1


def test_a_scope_left_at_its_end_gives_results_and_refuses_anything_new() -> None:
    with tracekit.task_scope("s"):
        pay(5)

    with tracekit.task_scope("s"):
        assert pay(5) == "paid 5"
        with pytest.raises(TracekitError, match="left at its end"):
            pay(6)
    assert len(world) == 1


def test_an_unknown_effect_stops_the_scope_until_a_person_decides(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop, tracekit.task_scope("s"):
        pay(5)
    with pytest.raises(tracekit.RequiresReview), tracekit.task_scope("s"):
        pytest.fail("the block must not be entered")
    decide(stop.value.review_id, "done", by="ann", result="paid by hand")

    with tracekit.task_scope("s"):
        assert pay(5) == "paid by hand"
    assert len(world) == 1
    state = ownership().store.load("s")
    assert state is not None
    assert state.task.status is TaskStatus.DONE


def test_a_task_id_is_not_a_scope() -> None:
    @tracekit.task
    def job(run: tracekit.Run) -> None:
        return None

    job.start(task_id="t")
    with pytest.raises(TracekitError, match="belongs to"), tracekit.task_scope("t"):
        pass
