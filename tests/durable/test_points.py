"""Every named point is really passed: a point that nothing passes would make a kill there prove nothing."""

from __future__ import annotations

from typing import Any

import pytest

import tracekit
from tracekit.durable import points
from tracekit.durable.api import decide
from tracekit.errors import TracekitError
from tracekit.testing.faults import Faults
from tracekit.testing.settable_clock import SettableClock


class TooLong(Exception):
    """What a client raises when the context does not fit."""

    status_code = 400


@tracekit.tool
def look() -> str:
    return "seen"


@tracekit.tool(effect="write", undo=lambda result: None)
def put() -> str:
    return "put"


@tracekit.tool(effect="payment", probe=lambda: None)
def pay() -> str:
    return "paid"


@tracekit.tool(effect="notify", critical=False)
def tell() -> None:
    raise ConnectionRefusedError(111, "refused")


def test_every_point_is_passed(faults: Faults, settable_clock: SettableClock) -> None:
    passed: set[str] = set()
    off = points.add_hook(passed.add)
    answers: list[Any] = [TimeoutError("slow"), TooLong("context_length_exceeded"), "fine"]
    faults.fail(look, TimeoutError("slow"))
    faults.fail(put, tracekit.NotExecuted("down"))
    faults.fail(pay, tracekit.OutcomeUnknown("lost"))
    talk = [{"role": "user", "content": "go"}] + [{"role": "assistant", "content": str(n)} for n in range(9)]

    def ask(messages: list[Any]) -> Any:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    @tracekit.task
    def everything(run: tracekit.Run) -> Any:
        run.plan(["all of it"])
        run.note(order="A-1")
        run.model(ask, talk)
        run.step("work", lambda: 1)
        look(), put(), pay(), tell()
        return run.ask("And now?")

    @tracekit.task
    def short(run: tracekit.Run) -> None:
        run.note(only="this")
        raise KeyboardInterrupt

    with pytest.raises(tracekit.RequiresReview) as stop:
        everything.start(task_id="t")
    decide(stop.value.review_id, "rollback", by="ann")
    with pytest.raises(TracekitError, match="rolled back"):
        tracekit.resume("t")
    with pytest.raises(KeyboardInterrupt):
        short.start(task_id="s")

    @tracekit.task
    def asks(run: tracekit.Run) -> Any:
        return run.ask("Yes?")

    with pytest.raises(tracekit.RequiresReview) as stop:
        asks.start(task_id="a")
    decide(stop.value.review_id, "done", by="ann", result="yes")
    assert tracekit.resume("a") == "yes"

    broken = [RuntimeError("once")]

    @tracekit.task
    def twice(run: tracekit.Run) -> str:
        seen = look()
        if broken:
            raise broken.pop()
        return seen

    with pytest.raises(RuntimeError):
        twice.start(task_id="r")
    assert tracekit.resume("r") == "seen"
    off()

    assert set(points.POINTS) - passed == set()
