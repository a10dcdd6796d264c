"""One true run in a terminal: the command in tmux, 100 by 30, keys only, from the list to the ended task."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.killed import AGENT, environment, killed_agent, moved

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PATIENCE_S = 60.0


class Terminal:
    """A tmux server of its own with one window."""

    def __init__(self, folder: Path, command: list[str], variables: dict[str, str]) -> None:
        self.socket = str(folder / "tmux")
        given = [f"{name}={value}" for name, value in variables.items()]
        line = shlex.join(["env", "-u", "COLUMNS", "-u", "LINES", *given, *command])
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", line)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=True)
        return done.stdout

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def shows(self, words: str) -> str:
        """The screen, once *words* stand on it."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            screen = self._tmux("capture-pane", "-p")
            if words in screen:
                return screen
            time.sleep(0.05)
        pytest.fail(f"{words!r} never came; the screen shows\n{screen}")

    def end(self) -> None:
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    home = tmp_path / "home"
    killed_agent(home, at="after_dispatch#4")
    variables = environment(home, TERM="tmux-256color", COLORTERM="truecolor")
    names = ("PATH", "HOME", "PYTHONPATH", "TRACEKIT_HOME", "AGENT_WORLD", "TERM", "COLORTERM")
    command = [sys.executable, "-m", "tracekit.cli", "tui", str(home), "--app", str(AGENT)]
    opened = Terminal(tmp_path, command, {name: variables[name] for name in names if name in variables})
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
