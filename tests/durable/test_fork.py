"""Forks and restores: the prefix is kept, and what happened after the cut is not made again without a decision."""

from __future__ import annotations

from typing import Any

import pytest

import tracekit
from tracekit.durable.api import decide, pending_reviews
from tracekit.durable.fork import fork, restore
from tracekit.durable.owning import ownership
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store.rows import TaskState

world: list[Any] = []
breaks: list[Exception] = []
price = [10]


@pytest.fixture(autouse=True)
def fresh_world() -> None:
    world.clear()
    breaks.clear()
    price[:] = [10]


@tracekit.tool
def look(what: str) -> int:
    world.append(("look", what))
    return price[0]


@tracekit.tool(effect="payment", retry=tracekit.Retry(attempts=1))
def pay(cents: int) -> str:
    world.append(("pay", cents))
    return f"paid {cents}"


@tracekit.task
def job(run: tracekit.Run) -> str:
    """Look, pay, tell."""
    cents = look("price")
    receipt = pay(cents)
    if breaks:
        raise breaks.pop()
    return receipt


def state_of(task_id: str) -> TaskState:
    state = ownership().store.load(task_id)
    assert state is not None
    return state


def paid() -> list[int]:
    return [cents for what, cents in world if what == "pay"]


def test_the_same_call_after_the_cut_gets_the_result_that_the_parent_got() -> None:
    job.start(task_id="t")

    assert fork("t", at="1", new_id="t2", run=True) == "paid 10"

    assert paid() == [10]
    assert [(row.place, row.status.value) for row in state_of("t2").effects] == [("2", "skipped")]
    (kept,) = [row for row in state_of("t2").decisions if row.action == "keep"]
    assert kept.rule_id == "fork.keep"


def test_another_call_of_a_tool_that_already_acted_after_the_cut_waits_for_a_person() -> None:
    job.start(task_id="t")
    price[0] = 7

    with pytest.raises(tracekit.RequiresReview, match="with other arguments"):
        fork("t", at="1", new_id="t2", run=True)
    assert paid() == [10]

    (review,) = pending_reviews(task_id="t2")
    decide(review.review_id, "retry", by="ann")
    assert tracekit.resume("t2") == "paid 7"
    assert paid() == [10, 7]
    (row,) = [row for row in state_of("t2").effects if row.status.value == "success"]
    assert row.approval_id == review.review_id


def test_an_effect_that_nobody_knows_about_is_asked_about_in_the_fork_too(faults: Any) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview):
        job.start(task_id="t")

    with pytest.raises(tracekit.RequiresReview, match="nobody knows whether it happened"):
        fork("t", at="1", new_id="t2", run=True)

    (review,) = pending_reviews(task_id="t2")
    decide(review.review_id, "done", by="ann", result="paid by hand")
    assert tracekit.resume("t2") == "paid by hand"
    assert paid() == [10]
    assert [row.status.value for row in state_of("t2").effects] == ["skipped"]


def test_repeat_is_a_named_decision_and_the_only_way_to_act_twice() -> None:
    job.start(task_id="t")

    assert fork("t", at="1", new_id="t2", effects="repeat", by="ann", run=True) == "paid 10"

    assert paid() == [10, 10]
    (why,) = [row for row in state_of("t2").decisions if row.action == "restore"]
    assert '"by":"ann"' in why.evidence
    assert '"tool":"pay"' in why.evidence


def test_restoring_ends_the_parent_and_goes_on_in_its_place() -> None:
    breaks.append(RuntimeError("broken"))
    with pytest.raises(RuntimeError):
        job.start(task_id="t")
    step_id = state_of("t").steps[1].step_id

    name = restore("t", at=step_id, new_id="t2", by="ann")

    assert name == "t2"
    assert state_of("t").task.status is TaskStatus.CANCELLED
    assert pending_reviews(task_id="t") == []
    with pytest.raises(TracekitError, match="can't go on"):
        tracekit.resume("t")
    assert tracekit.resume("t2") == "paid 10"
    assert world == [("look", "price"), ("pay", 10)]


def test_a_task_that_a_process_works_on_is_not_restored() -> None:
    codes = []

    @tracekit.task
    def busy(run: tracekit.Run) -> None:
        look("a")
        with pytest.raises(TracekitError) as refused:
            restore("t", at="1")
        codes.append(refused.value.code)

    busy.start(task_id="t")
    assert codes == ["task.held"]
    assert state_of("t").task.status is TaskStatus.DONE


def test_a_fork_whose_process_died_before_the_journal_was_there_is_never_run(faults: Any) -> None:
    job.start(task_id="t")
    faults.raise_at("before_acquire", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fork("t", at="2", new_id="t2")
    world.clear()

    with pytest.raises(TracekitError, match="no journal"):
        tracekit.resume("t2")
    assert world == []
    assert state_of("t2").task.status is TaskStatus.CANCELLED


@pytest.mark.parametrize("given", ["", "  ", 5])
def test_an_empty_id_is_refused_since_a_made_up_one_would_let_the_same_work_be_done_twice(given: Any) -> None:
    with pytest.raises(TracekitError, match="text that names the task"):
        job.start(task_id=given)
    with pytest.raises(TracekitError, match="text that names the task"), tracekit.task_scope(given):
        pass
    assert world == []
