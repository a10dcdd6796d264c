"""A store that is opened without its logs: its tasks are the list, and the recovery opens from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, type_text
from tests.tui.waiting import waiting_store
from tracekit.cli.command import UsageError
from tracekit_analyzers.session import Session
from tracekit_tui.command import _paths
from tracekit_tui.controller import Controller
from tracekit_tui.recoveries import Recoveries


async def test_its_tasks_are_listed_and_enter_opens_the_recovery(tmp_path: Path) -> None:
    recoveries = Recoveries(waiting_store(tmp_path))
    async with explorer(lambda: Controller(Session([]), recoveries, "ada")) as (app, pilot):
        text = screen_text(app)
        assert "1 task" in text
        assert "ticket-0" in text
        assert "waits for a person" in text
        assert "effect.unknown" in text

        await press(pilot, "enter")

        assert "look at the payment service, then retry or skip" in screen_text(app)


async def test_it_is_filtered_by_words_and_says_what_it_cannot_answer(tmp_path: Path) -> None:
    recoveries = Recoveries(waiting_store(tmp_path))
    async with explorer(lambda: Controller(Session([]), recoveries, "ada")) as (app, pilot):
        for words, found in (("status=done", "0 of 0"), ("!status=done refund", "1 of 1")):
            await press(pilot, "slash")
            app.screen.query_one("#prompt").value = ""  # type: ignore[attr-defined]
            await type_text(pilot, words.replace("!", ""))
            app.screen.query_one("#prompt").value = words  # type: ignore[attr-defined]
            await press(pilot, "enter")
            assert found in screen_text(app)

        app.screen.set_filter("cost>1")  # type: ignore[attr-defined]
        await press(pilot, "z")

        assert any("filtered by words" in said.message for said in app._notifications)


def test_a_store_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no .*nothing\.db"):
        _paths([], f"sqlite:{tmp_path / 'nothing.db'}")


def test_of_the_folder_of_a_store_only_the_traces_are_read(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    (tmp_path / "other.jsonl").touch()
    assert _paths([], f"sqlite:{tmp_path / 'state.db'}") == []

    (tmp_path / "traces").mkdir()

    assert _paths([], f"sqlite:{tmp_path / 'state.db'}") == [tmp_path / "traces"]
