"""The recovery panel over a real store: says what will run, asks once, writes the decision, one person wins."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, settle
from tests.tui.fake_analysis import FakeAnalysis
from tests.tui.waiting import ARGUMENTS, TASK, waiting_store
from tracekit.errors import Conflict, TracekitError
from tracekit.store import open_store
from tracekit_tui.app import Explorer
from tracekit_tui.dialogs import Ask, Confirm
from tracekit_tui.recoveries import Recoveries
from tracekit_tui.runner import RecoveryRun


@pytest.fixture
def url(tmp_path: Path) -> str:
    return waiting_store(tmp_path)


def decision(url: str) -> tuple[str | None, str | None]:
    store = open_store(url)
    state = store.load(TASK)
    store.close()
    assert state is not None
    return state.reviews[0].decision, state.reviews[0].decided_by


async def open_panel(pilot_app: Explorer) -> None:
    pilot_app.look_at("0" * 32, None)
    pilot_app.go("recovery")


async def test_the_panel_says_goal_break_point_reason_recommendation_and_what_is_at_risk(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await open_panel(app)
        await settle(pilot)

        text = screen_text(app)
        for words in (
            "refund A-1024",
            "call 2 (payment.refund)",
            "sent and got no answer",
            "look at the payment service",
            "payment.refund (outcome unknown)",
            "A-1024",
        ):
            assert words in text


async def test_a_choice_is_shown_word_for_word_and_asked_once_before_anything_is_written(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await open_panel(app)
        await settle(pilot)
        await press(pilot, "t")

        assert isinstance(app.screen, Confirm)
        text = screen_text(app)
        assert "'retry' on review rev-1" in text
        assert "payment.refund" in text
        assert "tracekit worker" in text
        assert decision(url) == (None, None)

        await press(pilot, "escape")
        assert decision(url) == (None, None)

        await press(pilot, "t", "enter")
        assert decision(url) == ("retry", "ada")


async def test_a_decision_is_logged_with_the_name_of_the_person(url: str, tmp_path: Path) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url), who="grace") as (app, pilot):
        await open_panel(app)
        await settle(pilot)
        await press(pilot, "S", "enter")

    lines = [
        json.loads(line) for line in (tmp_path / "recoveries" / "decisions.jsonl").read_text().splitlines()
    ]
    assert [(line["by"], line["choice"], line["review_id"]) for line in lines] == [
        ("grace", "skip", "rev-1")
    ] * 2


async def test_of_two_people_who_decide_at_once_one_wins_and_the_other_is_told(url: str) -> None:
    async with (
        explorer(FakeAnalysis(), recoveries=Recoveries(url), who="ada") as (first, first_pilot),
        explorer(FakeAnalysis(), recoveries=Recoveries(url), who="grace") as (second, second_pilot),
    ):
        for app, pilot in ((first, first_pilot), (second, second_pilot)):
            await open_panel(app)
            await settle(pilot)
        await press(first_pilot, "t")
        await press(second_pilot, "S")
        await press(first_pilot, "enter")

        await press(second_pilot, "enter")

        assert decision(url) == ("retry", "ada")
        told = [note.message for note in second._notifications]
        assert any("ada" in message for message in told), told


async def test_edited_arguments_go_with_the_decision(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await open_panel(app)
        await settle(pilot)
        await press(pilot, "E")
        assert isinstance(app.screen, Ask)
        shown = app.screen.query_one("TextArea").text  # type: ignore[attr-defined]
        assert json.loads(shown) == json.loads(ARGUMENTS)
        assert len(shown.split("\n")) == 4

        await press(pilot, "ctrl+s", "enter")

    store = open_store(url)
    state = store.load(TASK)
    assert state is not None
    assert state.reviews[0].decision == "edit"
    payload = state.reviews[0].payload
    assert payload is not None
    assert json.loads(store.blobs([payload])[payload]) == json.loads(ARGUMENTS)
    store.close()


async def test_a_result_that_is_no_json_stays_for_mending_and_typing_replaces_the_null(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await open_panel(app)
        await settle(pilot)
        await press(pilot, "D", "4", "2", "x", "ctrl+s")
        assert isinstance(app.screen, Ask)
        assert "expected JSON, got '42x'" in screen_text(app)

        await press(pilot, "backspace", "ctrl+s")

        assert isinstance(app.screen, Confirm)


def test_arguments_that_are_no_json_are_refused(url: str) -> None:
    recoveries = Recoveries(url)
    view = recoveries.view(TASK)
    assert view is not None

    with pytest.raises(TracekitError, match="JSON") as caught:
        recoveries.intend(view, "edit", "{nope", "ada")

    assert caught.value.code == "recovery.not_json"
    recoveries.close()


async def test_a_blocked_choice_says_why(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await open_panel(app)
        await settle(pilot)
        assert "no finished effect to undo" in screen_text(app)

        await press(pilot, "b")

        assert not isinstance(app.screen, Confirm)
        assert any("no finished effect" in note.message for note in app._notifications)


async def test_the_review_queue_lists_the_question_and_enter_opens_its_panel(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await press(pilot, "5")
        text = screen_text(app)
        assert "ticket-0" in text
        assert "sent and got no answer" in text
        assert "2m0" in text

        await press(pilot, "enter")

        assert getattr(app.screen, "place", "") == "recovery"
        assert "look at the payment service" in screen_text(app)


def test_a_second_decision_by_another_person_is_a_conflict_that_names_the_first(url: str) -> None:
    one, two = Recoveries(url), Recoveries(url)
    views = one.view(TASK), two.view(TASK)
    assert views[0] is not None
    assert views[1] is not None
    intents = one.intend(views[0], "retry", None, "ada"), two.intend(views[1], "abort", None, "grace")
    one.carry_out(intents[0])

    with pytest.raises(Conflict, match="ada"):
        two.carry_out(intents[1])

    one.close()
    two.close()


def test_a_recovery_process_is_heard_to_its_last_word_and_its_code(tmp_path: Path) -> None:
    run = RecoveryRun(
        [sys.executable, "-c", "import os; print('by', os.environ['TRACEKIT_PERSON']); raise SystemExit(5)"],
        "ada",
        tmp_path / "recoveries" / "run.log",
    )
    heard, code = "", None
    while code is None:
        words, code = run.news()
        heard += words

    assert (heard, code) == ("by ada\n", 5)
    assert run.log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("source", "stops", "code"),
    [
        pytest.param("try:\n say_up()\nexcept KeyboardInterrupt: raise SystemExit(7)", 1, 7, id="hears_it"),
        pytest.param("signal.signal(signal.SIGINT, signal.SIG_IGN)\nsay_up()", 2, -signal.SIGTERM, id="ignores_the_first"),
    ],
)  # fmt: skip
def test_a_recovery_process_can_be_stopped(tmp_path: Path, source: str, stops: int, code: int) -> None:
    say_up = "import signal, time\ndef say_up():\n print('up', flush=True)\n time.sleep(60)\n"
    run = RecoveryRun([sys.executable, "-c", say_up + source], "ada", tmp_path / "run.log")
    heard, ended = "", None
    while "up" not in heard:
        heard += run.news()[0]
    for _ in range(stops):
        run.stop()
    while ended is None:
        _, ended = run.news()

    assert ended == code
