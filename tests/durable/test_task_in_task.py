"""A task that starts another one waits with it: it is no task that runs and has no owner."""

from __future__ import annotations

import pytest

import tracekit
from tracekit.durable.api import decide, pending_reviews, plan
from tracekit.durable.owning import ownership
from tracekit.model import TaskStatus
from tracekit.testing.faults import Faults

paid: list[int] = []


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


@tracekit.tool(effect="payment")
def pay(amount: int) -> str:
    paid.append(amount)
    return f"paid {amount}"


@tracekit.task
def inner(run: tracekit.SyncRun) -> str:
    return run.tool(pay, 5)


@tracekit.task
def outer(run: tracekit.SyncRun) -> str:
    return "outer: " + inner.start(task_id="inner")


@tracekit.task
def outer_by_a_step(run: tracekit.SyncRun) -> str:
    return "outer: " + run.step("inner", lambda: inner.start(task_id="inner"))


@pytest.mark.parametrize("task", [outer, outer_by_a_step], ids=["called", "in a step"])
def test_both_wait_for_a_person_and_the_outer_one_says_for_which_task(
    task: tracekit.Task[str], faults: Faults
) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        task.start(task_id="outer")

    assert stop.value.task_id == "inner"
    waiting = {row.task_id: row for row in pending_reviews()}
    assert sorted(waiting) == ["inner", "outer"]
    assert plan("outer").status == TaskStatus.REQUIRES_REVIEW.value
    assert "RequiresReview: task 'inner' waits for a person" in plan("outer").reason
    assert plan("outer").recommendation.startswith("answer what task 'inner' waits for")

    decide(waiting["inner"].review_id, "done", result="paid 5")
    assert tracekit.resume("inner") == "paid 5"
    assert tracekit.resume("outer") == "outer: paid 5"
    assert paid == [5]
    state = ownership().store.load("outer")
    assert state is not None
    assert state.task.status is TaskStatus.DONE
