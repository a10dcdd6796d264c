"""A task and the one inside it that both wait: the inner one is settled, and one key goes on with the outer one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, screen_words, settle
from tests.tui.killed import environment
from tests.tui.watching import use_environment, watched_to_the_end
from tracekit.store import open_store
from tracekit.store.rows import TaskRow
from tracekit_tui.controller import open_controller
from tracekit_tui.dialogs import Confirm
from tracekit_tui.screens.recovery import RecoveryScreen

APP = Path(__file__).with_name("nested_app.py")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the program ran until both of its tasks waited."""
    ended = subprocess.run(
        [sys.executable, str(APP)], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert "RequiresReview" in ended.stderr, ended.stderr
    use_environment(monkeypatch, tmp_path)
    return tmp_path


def task(home: Path, task_id: str) -> TaskRow:
    store = open_store(f"sqlite:{home / 'state.db'}")
    state = store.load(task_id)
    store.close()
    assert state is not None
    return state.task


async def test_from_the_outer_task_to_the_inner_one_and_on_by_one_key_each(home: Path) -> None:
    async with explorer(lambda: open_controller([home], store=None, app=str(APP), reader=None)) as (
        app,
        pilot,
    ):
        app.look_at(task(home, "outer").trace_id, None)
        app.go("recovery")
        await settle(pilot)
        assert "first inner, which it started and which waits for a person" in screen_text(app)

        await press(pilot, "n")
        assert "then on with outer, which stopped for this task" in screen_words(app)
        await press(pilot, "D", "ctrl+s", "enter")
        screen = await watched_to_the_end(app, pilot)
        assert screen.code == 0, screen.output
        assert "on with outer, which stopped for this task" in screen_text(app)

        await press(pilot, "n")
        assert isinstance(app.screen, Confirm)
        assert "tracekit.cli resume outer" in screen_text(app)
        await press(pilot, "enter")
        screen = await watched_to_the_end(app, pilot)

        assert screen.code == 0, screen.output
        assert task(home, "outer").status == "done"
    assert (home / "world.jsonl").read_text() == "A-1024 5\n"


async def test_the_outer_task_does_not_go_on_before_the_inner_one_is_done(home: Path) -> None:
    async with explorer(lambda: open_controller([home], store=None, app=str(APP), reader=None)) as (
        app,
        pilot,
    ):
        app.look_at(task(home, "inner").trace_id, None)
        app.go("recovery")
        await settle(pilot)

        await press(pilot, "n")

        assert isinstance(app.screen, RecoveryScreen)
        assert any("not done yet" in note.message for note in app._notifications)


async def test_without_an_app_the_answer_is_written_and_the_panel_says_who_carries_it_out(home: Path) -> None:
    async with explorer(lambda: open_controller([home], store=None, app=None, reader=None)) as (app, pilot):
        app.look_at(task(home, "outer").trace_id, None)
        app.go("recovery")
        await settle(pilot)

        # Nothing runs here, and a worker leaves a task with an open question alone: to resume would do nothing.
        await press(pilot, "r")
        assert isinstance(app.screen, RecoveryScreen)
        assert any("answer it instead" in note.message for note in app._notifications)

        await press(pilot, "t")
        assert isinstance(app.screen, Confirm)
        assert "(digest )" not in screen_words(app)
        await press(pilot, "enter")

        text = screen_words(app)
        assert "outer is answered, and waits for its worker" in text
        assert "decided 'retry' by" in text
        assert f"worker none is alive now; start one: tracekit worker --store sqlite:{home}" in text
        assert "not now: nothing runs here without --app" in text
        assert "waits for a person 2 traces" not in text
