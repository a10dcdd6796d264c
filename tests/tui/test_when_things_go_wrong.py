"""What the world does to an explorer that is open: logs that go, stores that are locked, files without rights, tiny windows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, settle
from tests.tui.fake_analysis import FakeAnalysis
from tests.tui.waiting import waiting_store
from tracekit_analyzers.views import Progress, Table
from tracekit_tui import app as explorer_app
from tracekit_tui.recoveries import Recoveries


class LogThatWent(FakeAnalysis):
    """The first look finds that a log is gone that it has just listed."""

    def load(self, progress: Callable[[Progress], None] | None = None) -> None:
        super().load(progress)
        if self.loads == 1:
            raise FileNotFoundError(2, "No such file or directory", "run.jsonl")


class NoRights(FakeAnalysis):
    def sql(self, query: str, *, limit: int = 1000) -> Table:
        raise PermissionError(13, "Permission denied", "run.jsonl")


async def test_a_log_that_goes_while_it_is_read_is_left_out_by_another_look() -> None:
    async with explorer(LogThatWent()) as (app, _):
        assert "3 of 3 shown" in screen_text(app)
        assert app.gave_up == ""


async def test_what_the_system_refuses_is_told_in_words_and_is_no_defect() -> None:
    async with explorer(NoRights()) as (app, pilot):
        await press(pilot, "6", "f5")

        assert any("Permission denied: run.jsonl" in note.message for note in app._notifications)


LOCKING = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
"""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A block in which another process lets nobody write: locks of one process do not hold it up itself."""
    words = [sys.executable, "-c", LOCKING, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            other.stdin.close()


async def test_while_a_store_is_locked_the_top_line_says_that_an_answer_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer_app, "SLOW_S", 0.3)
    url = waiting_store(tmp_path)
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await press(pilot, "5")
        with locked(tmp_path / "state.db"):
            await pilot.press("c")
            for _ in range(200):
                if "waiting for an answer" in screen_text(app):
                    break
                await pilot.pause(0.05)
            assert "waiting for an answer" in screen_text(app)
            assert "mine" not in screen_text(app)

        await settle(pilot)

        assert "waiting 1 · mine 1" in screen_text(app)


@pytest.mark.parametrize("keys", [(), ("5",), ("4",)], ids=["traces", "review", "recovery"])
async def test_in_a_window_of_a_few_lines_each_list_shows_a_row(
    keys: tuple[str, ...], tmp_path: Path
) -> None:
    recoveries = Recoveries(waiting_store(tmp_path))
    async with explorer(FakeAnalysis(), recoveries=recoveries, size=(40, 10)) as (app, pilot):
        await press(pilot, "G", *keys)

        text = screen_text(app)
        assert " 0 of " not in text
        assert "shown" in text
        assert "help" in text.split("\n")[-1]


async def test_while_a_line_is_asked_for_the_keys_below_are_its_own() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "slash")
        assert screen_text(app).split("\n")[-1].split() == ["Enter", "done", "Esc", "leave", "it"]

        await press(pilot, "escape")
        assert screen_text(app).split("\n")[-1].startswith(" Enter open")
