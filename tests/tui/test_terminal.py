"""One true run in a terminal: the command in tmux, 100 by 30, keys only, from the list to the ended task."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.killed import AGENT, killed_agent, moved
from tests.tui.tmux import Terminal, explorer_command, variables_for

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    home = tmp_path / "home"
    killed_agent(home, at="after_dispatch#4")
    opened = Terminal(tmp_path, explorer_command(home, "--app", str(AGENT)), variables_for(home))
    yield opened
    opened.end()


def test_a_person_finds_the_failure_and_recovers_by_keys_only(terminal: Terminal, tmp_path: Path) -> None:
    terminal.shows("process.killed")
    terminal.press("Enter")
    screen = terminal.shows("⟨decimal 99.50⟩")
    assert "model wrote" in screen
    assert "tool received" in screen
    assert '"99.50"' in screen

    terminal.press("v")
    terminal.shows("started and never ended")
    terminal.press("j", "j", "j", "Enter")
    terminal.shows("2 TRACE")
    terminal.press("r")
    terminal.shows("no answer was recorded")
    terminal.press("r")
    terminal.shows("resume ticket-77")
    terminal.press("Enter")
    screen = terminal.shows("ended with code 0")

    assert "The refund of A-1024 is done." in screen
    assert moved(tmp_path / "home") == 1
    # Not at once: a terminal takes Esc and a digit that follow each other for Alt and the digit.
    terminal.press("Escape")
    terminal.shows("2 TRACE")
    terminal.press("1")
    terminal.shows("1 TRACES")
