"""At most once: what is booked, what is dispatched again, and what only a person may allow."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import tracekit
from tracekit.durable.api import decide, pending_reviews, plan
from tracekit.durable.bodies import blob
from tracekit.durable.owning import ownership
from tracekit.durable.reply import ToolCall
from tracekit.errors import Conflict, Divergence, NotStorable, TracekitError
from tracekit.model import EffectStatus, StepStatus, TaskStatus
from tracekit.store.rows import TaskState
from tracekit.testing.faults import Faults
from tracekit.testing.settable_clock import SettableClock

world: list[Any] = []


@pytest.fixture(autouse=True)
def empty_world() -> None:
    world.clear()


def state_of(task_id: str) -> TaskState:
    found = ownership().store.load(task_id, with_bodies=True)
    assert found is not None
    return found


def lookup(idempotency_key: str) -> Any:
    return next((entry for entry in world if entry[1] == idempotency_key), None)


@tracekit.tool(effect="payment")
def pay(amount: int, *, idempotency_key: str) -> str:
    world.append(("pay", idempotency_key, amount))
    return f"paid {amount}"


@tracekit.tool(effect="payment", probe=lookup, settle_s=5)
def pay_probed(amount: int, *, idempotency_key: str) -> str:
    world.append(("pay_probed", idempotency_key, amount))
    return f"paid {amount}"


@tracekit.tool(effect="payment", idempotent=True)
def pay_keyed(amount: int, *, idempotency_key: str) -> str:
    if lookup(idempotency_key) is None:
        world.append(("pay_keyed", idempotency_key, amount))
    return f"paid {amount}"


@tracekit.task
def once(run: tracekit.Run, tool_name: str) -> Any:
    return run.tool({"pay": pay, "probed": pay_probed, "keyed": pay_keyed}[tool_name], 5)


def test_an_answered_effect_is_booked_as_success_with_its_key() -> None:
    assert once.start("pay", task_id="t") == "paid 5"

    (effect,) = state_of("t").effects
    assert (effect.status, effect.attempt) == (EffectStatus.SUCCESS, 1)
    assert world == [("pay", effect.key, 5)]


def test_a_finished_task_started_again_gives_its_result_and_does_nothing() -> None:
    once.start("pay", task_id="t")

    assert once.start("pay", task_id="t") == "paid 5"
    assert len(world) == 1


def test_an_id_with_other_arguments_is_refused() -> None:
    once.start("pay", task_id="t")

    with pytest.raises(TracekitError, match="other arguments"):
        once.start("keyed", task_id="t")


def test_an_unknown_effect_without_probe_waits_for_a_person(faults: Faults) -> None:
    faults.drop_answer(pay)

    with pytest.raises(tracekit.RequiresReview):
        once.start("pay", task_id="t")

    state = state_of("t")
    assert state.task.status is TaskStatus.REQUIRES_REVIEW
    assert [row.status for row in state.effects] == [EffectStatus.EXECUTED_UNKNOWN]
    assert plan("t").action == "review"
    with pytest.raises(tracekit.RequiresReview):
        tracekit.resume("t")
    assert len(world) == 1


def test_a_person_says_done_and_the_task_goes_on_with_their_result(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")

    decide(stop.value.review_id, "done", by="ann", result="paid by hand")

    assert tracekit.resume("t") == "paid by hand"
    assert len(world) == 1
    (effect,) = state_of("t").effects
    assert (effect.status, effect.approval_id) == (EffectStatus.SUCCESS, stop.value.review_id)


def test_a_person_says_retry_and_the_dispatch_names_the_decision(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")

    decide(stop.value.review_id, "retry", by="ann")

    assert tracekit.resume("t") == "paid 5"
    (effect,) = state_of("t").effects
    assert (effect.attempt, effect.approval_id) == (2, stop.value.review_id)
    assert [key for _, key, _ in world] == [effect.key, effect.key]


def test_a_decision_is_used_once(faults: Faults) -> None:
    faults.drop_answer(pay, times=2)
    with pytest.raises(tracekit.RequiresReview) as first:
        once.start("pay", task_id="t")
    decide(first.value.review_id, "retry", by="ann")

    with pytest.raises(tracekit.RequiresReview) as second:
        tracekit.resume("t")

    assert second.value.review_id != first.value.review_id
    assert len(world) == 2


def test_a_person_skips_the_step(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")

    decide(stop.value.review_id, "skip", by="ann")

    assert tracekit.resume("t") is None
    assert [row.status for row in state_of("t").effects] == [EffectStatus.SKIPPED]


def test_edited_arguments_are_dispatched_under_a_key_of_their_own(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")

    decide(stop.value.review_id, "edit", by="ann", arguments={"amount": 7})

    assert tracekit.resume("t") == "paid 7"
    old, new = sorted(state_of("t").effects, key=lambda row: row.call_no)
    assert (old.status, new.status) == (EffectStatus.SKIPPED, EffectStatus.SUCCESS)
    assert old.key != new.key


@tracekit.task
def told_by_a_model(run: tracekit.Run) -> Any:
    call = ToolCall("call-1", "pay", '{"amount": 5}')
    (answer,) = run.tools([call])
    return answer


@pytest.mark.parametrize(
    "start", [lambda: once.start("pay", task_id="t"), lambda: told_by_a_model.start(task_id="t")]
)
def test_edited_arguments_that_do_not_fit_are_laid_before_a_person_again(
    faults: Faults, start: Callable[[], Any]
) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        start()
    store, unfit = ownership().store, blob({"amount": "five"})
    store.decide(stop.value.review_id, decision="edit", by="ann", args_digest=state_of("t").reviews[0].args_digest, payload=unfit, now_ms=1)  # fmt: skip

    with pytest.raises(
        tracekit.RequiresReview, match="ann decided `edit`, but the arguments of tool 'pay'"
    ) as again:
        tracekit.resume("t")

    assert again.value.review_id != stop.value.review_id
    assert [entry[2] for entry in world] == [5]
    decide(again.value.review_id, "edit", by="ann", arguments={"amount": 7})
    tracekit.resume("t")
    assert [entry[2] for entry in world] == [5, 7]


def test_a_rollback_tells_what_nobody_knows_about_and_the_plan_says_where_to_look(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")
    decide(stop.value.review_id, "rollback", by="ann")

    with pytest.raises(TracekitError, match="rolled back by ann; nobody knows whether it happened: pay"):
        tracekit.resume("t")

    (left,) = plan("t").at_risk
    assert left.next_move.startswith("left as it is, the task has ended: look for its key")


def test_an_aborted_task_never_runs_again(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")
    decide(stop.value.review_id, "abort", by="ann")

    with pytest.raises(TracekitError, match="ended by ann"):
        tracekit.resume("t")

    assert state_of("t").task.status is TaskStatus.CANCELLED
    with pytest.raises(TracekitError, match="cancelled"):
        tracekit.resume("t")


def test_two_people_decide_and_the_first_one_stands(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")
    decide(stop.value.review_id, "retry", by="ann")

    with pytest.raises(Conflict, match="ann"):
        decide(stop.value.review_id, "abort", by="bob")


def test_a_decision_about_other_arguments_is_refused(faults: Faults) -> None:
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        once.start("pay", task_id="t")

    with pytest.raises(Conflict):
        decide(stop.value.review_id, "retry", by="ann", args_digest="what I saw yesterday")


def test_a_probe_that_finds_it_gives_the_result_without_a_second_dispatch(
    faults: Faults, settable_clock: SettableClock
) -> None:
    faults.drop_answer(pay_probed)

    assert once.start("probed", task_id="t")[0] == "pay_probed"

    (effect,) = state_of("t").effects
    assert (effect.status, effect.probe_verdict, len(world)) == (EffectStatus.SUCCESS, "found", 1)
    assert settable_clock.slept_s == [5.0]


def test_a_probe_looks_twice_before_not_found_is_believed(
    faults: Faults, settable_clock: SettableClock
) -> None:
    faults.fail(pay_probed, tracekit.OutcomeUnknown("lost on the way"))

    assert once.start("probed", task_id="t") == "paid 5"

    (effect,) = state_of("t").effects
    assert (effect.attempt, effect.probe_verdict, len(world)) == (2, "not_found", 1)
    assert settable_clock.slept_s[:2] == [5.0, 5.0]
    assert "unknown.probe" in [row.rule_id for row in state_of("t").decisions]


def test_a_probe_that_fails_leaves_it_to_a_person(faults: Faults, settable_clock: SettableClock) -> None:
    world.append(None)  # the probe breaks on it
    faults.fail(pay_probed, tracekit.OutcomeUnknown("lost"))

    with pytest.raises(tracekit.RequiresReview, match="its probe failed"):
        once.start("probed", task_id="t")


def test_a_server_that_honours_keys_is_asked_again_under_the_same_key(
    faults: Faults, settable_clock: SettableClock
) -> None:
    faults.drop_answer(pay_keyed, times=2)

    assert once.start("keyed", task_id="t") == "paid 5"

    (effect,) = state_of("t").effects
    assert (effect.attempt, len(world)) == (3, 1)
    assert [round(each) for each in settable_clock.slept_s] in ([1, 2], [1, 3])


def test_a_key_is_not_trusted_after_the_servers_window(faults: Faults, settable_clock: SettableClock) -> None:
    @tracekit.tool(effect="payment", idempotent=True)
    def slow_pay() -> None:
        settable_clock.move(25 * 3600)
        raise tracekit.OutcomeUnknown("a day later")

    @tracekit.task
    def pays(run: tracekit.Run) -> None:
        run.tool(slow_pay)

    with pytest.raises(tracekit.RequiresReview):
        pays.start(task_id="t")


def test_a_refused_effect_is_failed_and_not_unknown(faults: Faults) -> None:
    faults.fail(pay, tracekit.Rejected("no such account"))

    with pytest.raises(tracekit.Rejected):
        once.start("pay", task_id="t")

    assert [row.status for row in state_of("t").effects] == [EffectStatus.FAILED]


def test_an_effect_that_never_left_is_tried_again(faults: Faults, settable_clock: SettableClock) -> None:
    faults.fail(pay, ConnectionRefusedError(111, "refused"))

    assert once.start("pay", task_id="t") == "paid 5"
    assert len(world) == 1


def test_any_other_exception_of_an_effect_is_unknown(faults: Faults) -> None:
    faults.fail(pay, ValueError("who knows"))

    with pytest.raises(tracekit.RequiresReview):
        once.start("pay", task_id="t")


def test_retry_after_is_waited_for(faults: Faults, settable_clock: SettableClock) -> None:
    faults.rate_limit(pay, retry_after_s=17)

    assert once.start("pay", task_id="t") == "paid 5"
    assert settable_clock.slept_s == [17.0]


def test_the_outcome_is_on_record_even_if_the_result_can_not_be_stored() -> None:
    @tracekit.tool(effect="payment")
    def odd() -> Any:
        world.append("odd")
        return {"file": open("/dev/null")}

    @tracekit.task
    def pays(run: tracekit.Run) -> None:
        run.tool(odd)

    with pytest.raises(NotStorable, match=r"\$\.file"):
        pays.start(task_id="t")

    (effect,) = state_of("t").effects
    assert (effect.status, effect.result) == (EffectStatus.SUCCESS, None)
    assert world == ["odd"]


def test_arguments_that_can_not_be_stored_are_refused_before_anything_happens() -> None:
    @tracekit.tool(effect="payment")
    def takes(thing: Any) -> None:
        world.append("ran")

    @tracekit.task
    def pays(run: tracekit.Run) -> None:
        run.tool(takes, thing=object())

    with pytest.raises(NotStorable, match=r"\$\.thing"):
        pays.start(task_id="t")
    assert world == []


def test_a_full_disk_at_the_booking_stops_before_the_effect(faults: Faults) -> None:
    faults.disk_full_at("before_commit:before_effect")

    with pytest.raises(OSError, match="No space left"):
        once.start("pay", task_id="t")
    assert world == []


def test_a_full_disk_at_the_outcome_leaves_an_honest_unknown(faults: Faults) -> None:
    faults.disk_full_at("before_commit:after_effect")

    with pytest.raises(OSError, match="No space left"):
        once.start("pay", task_id="t")

    assert [row.status for row in state_of("t").effects] == [EffectStatus.PENDING]
    with pytest.raises(tracekit.RequiresReview):
        tracekit.resume("t")
    assert [row.status for row in state_of("t").effects] == [EffectStatus.EXECUTED_UNKNOWN]
    assert len(world) == 1


def test_code_that_swallows_the_stop_can_begin_nothing_new(faults: Faults) -> None:
    @tracekit.task
    def stubborn(run: tracekit.Run) -> None:
        for _ in range(3):
            try:
                run.tool(pay, 5)
            except Exception:
                world.append("swallowed")

    faults.drop_answer(pay)

    with pytest.raises(tracekit.RequiresReview):
        stubborn.start(task_id="t")
    assert [entry for entry in world if entry != "swallowed"] == [("pay", state_of("t").effects[0].key, 5)]


def test_equal_amounts_written_differently_are_the_same_call() -> None:
    steps: list[Any] = [Decimal("10.0"), Decimal("10.00")]

    @tracekit.tool(effect="payment")
    def pay_decimal(amount: Decimal) -> str:
        world.append(amount)
        return "ok"

    @tracekit.task
    def pays(run: tracekit.Run) -> str:
        result = run.tool(pay_decimal, steps[0])
        if len(steps) > 1:
            steps.pop(0)
            raise RuntimeError("breaks once")
        return str(result)

    with pytest.raises(RuntimeError):
        pays.start(task_id="t")

    assert tracekit.resume("t") == "ok"
    assert world == [Decimal("10.0")]


def test_other_arguments_at_the_same_place_stop_for_review() -> None:
    amounts = [5, 6]

    @tracekit.task
    def drifts(run: tracekit.Run) -> None:
        run.tool(pay, amounts.pop(0))
        raise RuntimeError("breaks")

    with pytest.raises(RuntimeError):
        drifts.start(task_id="t")

    with pytest.raises(Divergence, match="call 1"):
        tracekit.resume("t")
    assert len(world) == 1
    assert [row.reason for row in pending_reviews(task_id="t")] == ["divergence"]


def test_a_fallback_runs_when_the_first_is_proved_not_done(
    faults: Faults, settable_clock: SettableClock
) -> None:
    @tracekit.tool(effect="payment", fallback=[pay])
    def pay_first(amount: int) -> str:
        raise ConnectionRefusedError(111, "refused")

    @tracekit.task
    def pays(run: tracekit.Run) -> Any:
        return run.tool(pay_first, 5)

    assert pays.start(task_id="t") == "paid 5"
    assert sorted(row.status for row in state_of("t").effects) == [EffectStatus.FAILED, EffectStatus.SUCCESS]


def test_no_fallback_runs_while_the_first_may_have_happened() -> None:
    @tracekit.tool(effect="payment", fallback=[pay])
    def pay_first(amount: int) -> str:
        raise TimeoutError("read timed out")

    @tracekit.task
    def pays(run: tracekit.Run) -> Any:
        return run.tool(pay_first, 5)

    with pytest.raises(tracekit.RequiresReview):
        pays.start(task_id="t")
    assert world == []


def test_a_step_that_is_not_critical_is_skipped_and_put_on_the_to_do_list(
    settable_clock: SettableClock,
) -> None:
    @tracekit.tool(effect="notify", critical=False)
    def tell() -> None:
        raise ConnectionRefusedError(111, "refused")

    @tracekit.task
    def tells(run: tracekit.Run) -> Any:
        return run.tool(tell)

    assert tells.start(task_id="t") is None
    assert [row.status for row in state_of("t").steps] == [StepStatus.SKIPPED]
    assert plan("t").todo == ("call 1 (tell)",)


def test_undo_runs_in_reverse_order_and_lists_what_is_left_in_place(faults: Faults) -> None:
    @tracekit.tool(effect="write", undo=lambda result: world.append(f"undo {result}"))
    def book(name: str) -> str:
        world.append(f"book {name}")
        return name

    @tracekit.tool(effect="notify")
    def tell() -> None:
        world.append("tell")

    @tracekit.task
    def trip(run: tracekit.Run) -> None:
        run.tool(book, "flight")
        run.tool(tell)
        run.tool(book, "hotel")
        run.tool(pay, 5)

    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        trip.start(task_id="t")
    decide(stop.value.review_id, "rollback", by="ann")

    with pytest.raises(TracekitError, match="rolled back"):
        tracekit.resume("t")

    assert world[-2:] == ["undo hotel", "undo flight"]
    state = state_of("t")
    assert state.task.status is TaskStatus.FAILED
    assert "left in place: tell" in str(state.task.error)
    assert "nobody knows whether it happened: pay" in str(state.task.error)
    assert [row.status.value for row in state.compensations] == ["success", "skipped", "success"]


def test_effects_of_the_same_millisecond_are_undone_in_reverse_order_too(settable_clock: Any) -> None:
    @tracekit.tool(effect="write", undo=lambda result: world.append(f"undo {result}"))
    def book(name: str) -> str:
        return name

    @tracekit.task
    def trip(run: tracekit.Run) -> None:
        for name in ("train", "flight", "hotel"):
            run.tool(book, name)
        run.ask("Right?")

    with pytest.raises(tracekit.RequiresReview) as stop:
        trip.start(task_id="t")
    decide(stop.value.review_id, "rollback", by="ann")
    with pytest.raises(TracekitError, match="rolled back"):
        tracekit.resume("t")

    assert world == ["undo hotel", "undo flight", "undo train"]


@tracekit.tool(effect="write")
def cancel(name: str) -> None:
    world.append(f"undo {name}")


@tracekit.tool(effect="write", undo=cancel)
def reserve(name: str) -> str:
    world.append(f"book {name}")
    return name


@tracekit.task
def journey(run: tracekit.Run) -> None:
    reserve("flight")
    reserve("hotel")
    pay(5)


def begin_rollback(faults: Faults) -> None:
    """A journey that a person wants to be rolled back."""
    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as stop:
        journey.start(task_id="t")
    decide(stop.value.review_id, "rollback", by="ann")


@pytest.mark.parametrize(
    "point", ["after_commit:undo_planned", "before_commit:undone", "before_commit:before_effect"]
)
def test_a_rollback_that_broke_goes_on_where_it_was(faults: Faults, point: str) -> None:
    begin_rollback(faults)
    faults.disk_full_at(point)
    with pytest.raises(OSError, match="No space left"):
        tracekit.resume("t")

    with pytest.raises(TracekitError, match="rolled back"):
        tracekit.resume("t")

    assert world[-2:] == ["undo hotel", "undo flight"]
    assert world.count("undo hotel") == 1
    assert state_of("t").task.status is TaskStatus.FAILED


def test_an_undo_of_unknown_outcome_waits_for_a_person_and_the_task_does_not_run_again(
    faults: Faults,
) -> None:
    begin_rollback(faults)
    faults.drop_answer(cancel)

    with pytest.raises(tracekit.RequiresReview, match="cancel was sent") as stop:
        tracekit.resume("t")
    decide(stop.value.review_id, "done", by="ann")
    with pytest.raises(TracekitError, match="rolled back"):
        tracekit.resume("t")

    assert [entry for entry in world if "undo" in entry] == ["undo hotel", "undo flight"]
    assert [entry for entry in world if "book" in entry] == ["book flight", "book hotel"]
    assert state_of("t").task.status is TaskStatus.FAILED


def test_an_expired_question_is_asked_anew(faults: Faults, settable_clock: SettableClock) -> None:
    @tracekit.task(review_expires_s=60)
    def pays(run: tracekit.Run) -> Any:
        return run.tool(pay, 5)

    faults.drop_answer(pay)
    with pytest.raises(tracekit.RequiresReview) as first:
        pays.start(task_id="t")
    settable_clock.move(61)
    with pytest.raises(Conflict, match="expired"):
        decide(first.value.review_id, "retry", by="ann")

    with pytest.raises(tracekit.RequiresReview) as second:
        tracekit.resume("t")

    assert second.value.review_id != first.value.review_id
    assert len(world) == 1
