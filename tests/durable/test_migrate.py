"""Changed code: a user's function says with which arguments, and from which step on, the new code goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tracekit
from tracekit.durable import task as tasks
from tracekit.durable.migrate import Migration, OldRun
from tracekit.durable.owning import ownership
from tracekit.model import TaskStatus

calls: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    calls.clear()
    yield
    tasks._registry.pop("migrating:job", None)


@tracekit.tool
def look(what: str) -> str:
    calls.append(("look", what))
    return f"saw {what}"


@tracekit.tool(effect="payment")
def pay(cents: int) -> str:
    calls.append(("pay", cents))
    return f"paid {cents}"


def old_job() -> None:
    def job(run: tracekit.Run, cents: int) -> str:
        look("a")
        pay(cents)
        raise RuntimeError("old code is wrong here")

    with pytest.raises(RuntimeError):
        tracekit.task(name="migrating:job")(job).start(10, task_id="t")


def test_new_code_goes_on_with_new_arguments_from_a_step_and_pays_nothing_twice() -> None:
    old_job()
    seen: list[OldRun] = []

    def migrate(old: OldRun) -> Migration:
        seen.append(old)
        return Migration(args=(*old.args, "b"), continue_from="2")

    def job(run: tracekit.Run, cents: int, more: str) -> list[str]:
        return [look("a"), look(more), pay(cents)]

    tracekit.task(name="migrating:job", migrate=migrate)(job)

    assert tracekit.resume("t") == ["saw a", "saw b", "paid 10"]
    assert calls == [("look", "a"), ("pay", 10), ("look", "b")]
    assert seen[0].args == (10,)
    assert [(step.place, step.name, step.result) for step in seen[0].steps] == [
        ("1", "look", "saw a"),
        ("2", "pay", "paid 10"),
    ]
    rows = {row.task_id: row for row in ownership().store.tasks()}
    assert rows.pop("t").status is TaskStatus.CANCELLED
    (went_on,) = rows.values()
    assert (went_on.status, went_on.parent_task) == (TaskStatus.DONE, "t")


def test_none_replays_the_old_journal_as_it_is() -> None:
    old_job()

    def job(run: tracekit.Run, cents: int) -> str:
        look("a")
        return pay(cents)

    tracekit.task(name="migrating:job", migrate=lambda old: None)(job)

    assert tracekit.resume("t") == "paid 10"
    assert calls == [("look", "a"), ("pay", 10)]
    assert [row.task_id for row in ownership().store.tasks()] == ["t"]
