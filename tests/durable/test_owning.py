"""Leases whose granting or giving back went unheard: no task stays with a living process that does not work on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import pytest

import tracekit
from tracekit.config import settings
from tracekit.durable.api import decide, pending_reviews
from tracekit.durable.owning import Ownership, close_all, ownership
from tracekit.durable.stuck import stuck_reasons
from tracekit.durable.worker import Worker
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store.liveness import enter, survey
from tracekit.store.rows import WorkerRow

did: list[str] = []


@tracekit.tool(effect="write")
def put(name: str) -> str:
    did.append(name)
    return name


@tracekit.task
def job(run: tracekit.Run, name: str) -> str:
    return run.tool(put, name)


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    did.clear()


@pytest.fixture
def owner() -> Ownership:
    return ownership()


def answer_lost(original: Callable[..., Any], *, times: int = 1) -> Callable[..., Any]:
    """Does what it should, and says that nobody knows."""
    left = [times]

    def lost(*args: Any, **kwargs: Any) -> Any:
        value = original(*args, **kwargs)
        left[0] -= 1
        if left[0] >= 0:
            raise TracekitError("store.commit_unknown", "the line broke before the answer")
        return value

    return lost


def away(original: Callable[..., Any], *, times: int) -> Callable[..., Any]:
    """Does nothing so many times."""
    left = [times]

    def refuse(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise TracekitError("store.unreachable", "away")
        return original(*args, **kwargs)

    return refuse


def status_of(owner: Ownership, task_id: str) -> TaskStatus:
    state = owner.store.load(task_id)
    assert state is not None
    return state.task.status


def test_a_claim_whose_answer_was_lost_is_found_and_run(
    owner: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.submit("a", task_id="a")
    monkeypatch.setattr(owner.store, "claim", answer_lost(owner.store.claim))

    outcome = Worker(None).run_one()

    assert outcome is not None
    assert (outcome.task_id, outcome.word, did) == ("a", "done", ["a"])


def test_a_start_whose_lease_went_unheard_goes_on_all_the_same(
    owner: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner.store, "acquire", answer_lost(owner.store.acquire))

    assert job.start("a", task_id="a") == "a"
    state = owner.store.load("a")
    assert state is not None
    assert (state.task.attempt, state.task.recoveries) == (1, 0)


def test_a_lease_that_is_seen_only_later_is_taken_by_the_next_go(
    owner: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.submit("a", task_id="a")
    monkeypatch.setattr(owner.store, "claim", answer_lost(owner.store.claim))
    monkeypatch.setattr(owner.store, "tasks", away(owner.store.tasks, times=1))
    troubles: list[str] = []

    Worker(None, poll_s=0.0, away=lambda error: troubles.append(error.code)).run(
        told=lambda outcome: None, until_idle=True
    )

    assert (status_of(owner, "a"), did) == (TaskStatus.DONE, ["a"])
    assert troubles == ["store.unreachable"]


def test_a_lease_that_could_not_be_given_back_is_given_back_with_the_next_go(
    owner: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner.store, "commit", away(owner.store.commit, times=1))
    monkeypatch.setattr(owner.store, "release", away(owner.store.release, times=1))

    with pytest.raises(TracekitError, match="away"):
        job.start("a", task_id="a")
    assert did == []
    assert status_of(owner, "a") is TaskStatus.RUNNING

    assert tracekit.resume("a") == "a"
    assert did == ["a"]


def test_after_a_commit_of_unknown_fate_nothing_more_is_sent(
    owner: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tracekit.task
    def stubborn(run: tracekit.Run) -> None:
        for name in ("a", "b"):
            try:
                run.tool(put, name)
            except TracekitError as error:
                seen.append(error.code)

    seen: list[str] = []
    real = owner.store.commit

    def lost_booking(lease: Any, writes: Any, *, durable: bool) -> int:
        last = real(lease, writes, durable=durable)
        if durable:
            raise TracekitError("store.commit_unknown", "the line broke before the answer")
        return last

    monkeypatch.setattr(owner.store, "commit", lost_booking)
    with pytest.raises(TracekitError, match="the line broke"):
        stubborn.start(task_id="s")

    assert (seen, did) == (["store.commit_unknown"] * 2, [])


def test_a_worker_lays_a_task_that_it_can_not_read_before_a_person_and_goes_on_with_the_others(
    owner: Ownership,
) -> None:
    with pytest.raises(tracekit.RequiresReview):
        _asks.start(task_id="broken")
    (asked,) = pending_reviews()
    decide(asked.review_id, "done", by="ann", result="yes")
    _spoil("UPDATE decision SET work_done = 0.25")
    job.submit("fine", task_id="fine")
    said: list[tuple[str, str]] = []

    Worker(None).run(told=lambda outcome: said.append((outcome.task_id, outcome.word)), until_idle=True)

    assert said == [("broken", "review"), ("fine", "done")]
    assert status_of(owner, "fine") is TaskStatus.DONE
    (review,) = pending_reviews()
    assert (review.task_id, review.reason) == ("broken", "task.unopened")
    assert "expected an intact decision row" in review.panel
    rows = owner.store.tasks()
    assert "can't be read" in stuck_reasons(owner.store, rows)["broken"]


@tracekit.task
def _asks(run: tracekit.Run) -> Any:
    return run.ask("And?")


def _spoil(sql: str) -> None:
    connection = apsw.Connection(settings().store_url.removeprefix("sqlite:"))
    connection.execute(sql)
    connection.close()


def test_a_damaged_task_is_told_and_the_others_are_listed(owner: Ownership) -> None:
    for name in ("a", "b", "c"):
        job.submit(name, task_id=name)
    _spoil("UPDATE task SET goal = 'other' WHERE task_id = 'b'")
    damaged: list[TracekitError] = []

    rows = owner.store.tasks(damaged=damaged.append)

    assert [row.task_id for row in rows] == ["a", "c"]
    assert [error.code for error in damaged] == ["store.damaged"]
    assert "task_id 'b'" in str(damaged[0])
    with pytest.raises(TracekitError, match="task_id 'b'"):
        owner.store.tasks()


def test_a_process_that_begins_to_work_forgets_dead_workers_that_own_nothing(owner: Ownership) -> None:
    gone = enter(owner.store, worker_id="gone")
    gone.drop_lock()  # as the kernel does when its process ends
    here = owner.presence.worker_id

    assert [row.worker_id for row in owner.store.workers()] == [here]
    assert isinstance(owner.store.workers()[0], WorkerRow)


def test_a_process_ends_though_its_store_is_away(owner: Ownership, monkeypatch: pytest.MonkeyPatch) -> None:
    assert job.start("a", task_id="a") == "a"
    left = owner.presence.worker_id
    monkeypatch.setattr(owner.store, "forget_worker", away(owner.store.forget_worker, times=1))

    close_all()

    assert left in survey(ownership().store).dead
