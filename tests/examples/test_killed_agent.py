"""The example killed at each bad moment and resumed in a new process: the money moves once, or a person is asked."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Stage

DONE = "Done: 99.50 for order A-1024 was refunded (R-1). The customer was told."

MOMENTS = {
    "before the effect is booked": "before_commit:before_effect",
    "before the request": "after_commit:before_effect",
    "after the answer and before the commit": "before_commit:after_effect",
    "after the commit": "after_commit:after_effect",
}


def test_it_runs_through_undisturbed(stage: Stage) -> None:
    done = stage.start()

    assert (done.returncode, done.stdout.strip()) == (0, DONE), done.stderr
    assert [row["kind"] for row in stage.world.happened()] == ["refund", "notification"]


@pytest.mark.parametrize("point", MOMENTS.values(), ids=MOMENTS)
def test_killed_around_the_payment_it_pays_once(stage: Stage, point: str) -> None:
    killed = stage.start(TRACEKIT_KILL_AT=point)
    done = stage.resume()

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (done.returncode, done.stdout.strip()) == (0, DONE), done.stderr
    assert [row["kind"] for row in stage.world.happened()] == ["refund", "notification"]


def test_killed_after_booking_it_asks_by_key_and_does_not_pay_again(stage: Stage) -> None:
    stage.start_and_kill_once_booked()
    done = stage.resume()

    assert (done.returncode, done.stdout.strip()) == (0, DONE), done.stderr
    assert len(stage.world.requests("POST /refunds")) == 1
    assert len(stage.world.requests("GET /refunds")) >= 1
    assert [row["kind"] for row in stage.world.happened()] == ["refund", "notification"]


def test_killed_again_during_replay_it_still_pays_once(stage: Stage) -> None:
    stage.start_and_kill_once_booked()
    killed = [stage.resume(TRACEKIT_KILL_AT=f"replayed#{nth}") for nth in (1, 3)]
    done = stage.resume()

    assert [each.returncode for each in killed] == [-signal.SIGKILL] * 2, killed
    assert (done.returncode, done.stdout.strip()) == (0, DONE), done.stderr
    assert [row["kind"] for row in stage.world.happened()] == ["refund", "notification"]


def test_finished_model_calls_are_not_asked_again(plain_stage: Stage) -> None:
    before = len(plain_stage.model.requests("POST"))
    plain_stage.start_and_kill_once_booked()
    at_kill = len(plain_stage.model.requests("POST"))
    plain_stage.resume()

    assert at_kill - before == 3
    assert len(plain_stage.model.requests("POST")) - at_kill == 2


def test_killed_after_the_mail_it_waits_for_a_person_instead_of_writing_twice(plain_stage: Stage) -> None:
    killed = plain_stage.start(TRACEKIT_KILL_AT="before_commit:after_effect#2")
    asked = plain_stage.resume()

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert asked.returncode == 5, asked
    assert "notify" in asked.stderr
    assert [row["kind"] for row in plain_stage.world.happened()] == ["refund", "notification"]


def test_a_person_who_says_that_it_was_done_lets_it_go_on_without_paying(plain_stage: Stage) -> None:
    off = {"REFUND_PROBE": "off"}
    plain_stage.start_and_kill_once_booked(**off)
    plain_stage.resume(**off)
    review = plain_stage.tracekit("review", "list").stdout.splitlines()[1].split()[0]
    decided = plain_stage.tracekit(
        "review", "decide", review, "done", "--by", "ada", "--result", '{"refund_id": "R-1"}'
    )
    done = plain_stage.resume(**off)

    assert decided.returncode == 0, decided.stderr
    assert (done.returncode, done.stdout.strip()) == (0, DONE), done.stderr
    assert [row["kind"] for row in plain_stage.world.happened()] == ["refund", "notification"]
    assert len(plain_stage.world.requests("POST /refunds")) == 1


@pytest.mark.parametrize("booked", [False, True], ids=["before the request", "after it was booked"])
def test_without_a_probe_it_waits_for_a_person_and_names_the_payment(
    plain_stage: Stage, booked: bool
) -> None:
    off = {"REFUND_PROBE": "off"}
    if booked:
        plain_stage.start_and_kill_once_booked(**off)
    else:
        plain_stage.start(TRACEKIT_KILL_AT="after_commit:before_effect", **off)
    asked = [plain_stage.resume(**off), plain_stage.resume(**off)]
    listed = plain_stage.tracekit("review", "list")

    assert [each.returncode for each in asked] == [5, 5], asked
    assert "refund" in asked[0].stderr
    assert "refund" in listed.stdout
    assert len(plain_stage.world.happened("refund")) == int(booked)
    assert plain_stage.world.happened("notification") == []


def test_the_log_of_a_killed_agent_names_the_payment_step(stage: Stage) -> None:
    stage.start_and_kill_once_booked()
    report = json.loads(stage.tracekit("analyze", str(stage.home), "--format", "json").stdout)

    [trace] = report["traces"]
    verdict = trace["diagnoses"][trace["primary"]]
    assert trace["task_id"] == "ticket-77"
    assert verdict["code"] in ("timeout.no_answer", "process.killed")
    assert "refund" in verdict["message"]
    assert "unknown" in verdict["message"].lower()


def test_after_the_resume_the_run_is_ok_and_the_kill_is_listed_as_got_over(stage: Stage) -> None:
    stage.start_and_kill_once_booked()
    stage.resume()
    report = json.loads(stage.tracekit("analyze", str(stage.home), "--format", "json").stdout)

    [trace] = report["traces"]
    assert (trace["status"], trace["primary"]) == ("ok", None)
    assert [(each["code"], each["recovered"]) for each in trace["diagnoses"]] == [("process.killed", True)]


def test_the_plan_changes_nothing_and_names_the_payment(plain_stage: Stage) -> None:
    plain_stage.start_and_kill_once_booked()
    plans = [plain_stage.tracekit("plan", "ticket-77") for _ in range(2)]

    assert [plan.returncode for plan in plans] == [0, 0], plans
    assert "refund" in plans[0].stdout
    assert plans[0].stdout == plans[1].stdout
    assert len(plain_stage.world.requests("GET /refunds")) == 0
