"""A real terminal: a tmux server of its own with one window, keys pressed and the screen read."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tui.killed import environment

PATIENCE_S = 60.0
NAMES = ("PATH", "HOME", "PYTHONPATH", "TRACEKIT_HOME", "AGENT_WORLD", "TERM", "COLORTERM", "EDITOR", "PAGER")


class Terminal:
    """A window of *size* in which *command* runs."""

    def __init__(
        self,
        folder: Path,
        command: list[str],
        variables: dict[str, str],
        *,
        size: tuple[int, int] = (100, 30),
    ) -> None:
        self.socket = str(folder / "tmux")
        given = [f"{name}={value}" for name, value in variables.items()]
        line = shlex.join(["env", "-u", "COLUMNS", "-u", "LINES", *given, *command])
        width, height = map(str, size)
        self._tmux("-f", os.devnull, "new-session", "-d", "-x", width, "-y", height, line)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=True)
        return done.stdout

    def press(self, *keys: str) -> None:
        """Press *keys*, named as tmux names them."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Send *text* as it is, codes included."""
        self._tmux("send-keys", "-l", text)

    def click(self, column: int, row: int) -> None:
        """Press and release the left button at a cell, counted from 1."""
        self.type(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")

    def screen(self) -> str:
        """What the window shows now."""
        return self._tmux("capture-pane", "-p")

    def shows(self, words: str) -> str:
        """The screen, once *words* stand on it."""
        end = time.monotonic() + PATIENCE_S
        screen = ""
        while time.monotonic() < end:
            screen = self.screen()
            if words in screen:
                return screen
            time.sleep(0.05)
        pytest.fail(f"{words!r} never came; the screen shows\n{screen}")

    def end(self) -> None:
        """Close the window and what runs in it."""
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)


def explorer_command(home: Path, *more: str) -> list[str]:
    """The command that opens the explorer on *home*."""
    return [sys.executable, "-m", "tracekit.cli", "tui", str(home), *more]


def variables_for(home: Path, **more: str) -> dict[str, str]:
    """The environment of a window, as small as it can be."""
    known = environment(home, TERM="tmux-256color", COLORTERM="truecolor", **more)
    return {name: known[name] for name in NAMES if name in known}
