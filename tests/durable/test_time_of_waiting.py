"""The time in which a task waits for a person, or for its next owner, is no work."""

from __future__ import annotations

import pytest

import tracekit
from tracekit.testing import SettableClock

HOURS_S = 3600


def test_the_night_until_a_person_answered_counts_neither_as_kept_nor_toward_the_limit(
    settable_clock: SettableClock,
) -> None:
    @tracekit.tool(effect="payment")
    def pay() -> str:
        settable_clock.move(2)
        raise TimeoutError("no answer")

    @tracekit.tool
    def look() -> str:
        settable_clock.move(3)
        return "seen"

    @tracekit.task(wall_s=60)
    def job(run: tracekit.Run) -> str:
        return f"{run.tool(pay)} {run.tool(look)}"

    with pytest.raises(tracekit.RequiresReview) as waiting:
        job.start(task_id="t")
    settable_clock.move(10 * HOURS_S)
    tracekit.decide(waiting.value.review_id, "done", result="paid")

    assert tracekit.resume("t") == "paid seen"
    assert tracekit.plan("t").kept_seconds == 3


def test_a_model_call_that_lost_its_process_counts_from_where_it_was_made_again(
    settable_clock: SettableClock,
) -> None:
    lost = []

    class Died(BaseException):
        pass

    def ask(messages: list[dict[str, object]]) -> str:
        settable_clock.move(4)
        if not lost:
            lost.append("died")
            raise Died
        return "hello"

    @tracekit.task(wall_s=60)
    def job(run: tracekit.Run) -> str:
        run.model(ask, [{"role": "user", "content": "hi"}])
        return run.model(ask, [{"role": "user", "content": "ho"}]).text

    with pytest.raises(Died):
        job.start(task_id="t")
    settable_clock.move(10 * HOURS_S)

    assert tracekit.resume("t") == "hello"
    assert tracekit.plan("t").kept_seconds == 8
