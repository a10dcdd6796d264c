"""The programs around the screen, in a real terminal: editor, pager, the shell behind Ctrl-Z, the mouse."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.killed import killed_agent
from tests.tui.tmux import Terminal, explorer_command, variables_for

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PROGRAM = """#!/bin/sh
cp "$1" "{copy}"
ls -l "$1" | cut -c1-10 > "{copy}.mode"
echo "{name} HAS THE TERMINAL"
read answer
echo "$answer" > "{copy}.answer"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed") / "home"
    killed_agent(folder, at="after_dispatch#4")
    return folder


def program(folder: Path, name: str) -> Path:
    """A program that copies what it is given, takes the terminal, and waits for a line."""
    path = folder / name
    path.write_text(PROGRAM.format(copy=folder / f"{name}.copy", name=name.upper()))
    path.chmod(0o700)
    return path


@pytest.fixture
def terminal(home: Path, tmp_path: Path) -> Iterator[Terminal]:
    programs = {"EDITOR": str(program(tmp_path, "editor")), "PAGER": str(program(tmp_path, "pager"))}
    shell = ["bash", "--norc", "--noprofile", "-i"]
    opened = Terminal(tmp_path, shell, variables_for(home, **programs))
    opened.type(" ".join(explorer_command(home)) + "\n")
    opened.shows("another go")
    yield opened
    opened.end()


def written(path: Path) -> str:
    """What stands in *path*, once it is there."""
    end = time.monotonic() + 30
    while not (path.is_file() and path.read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    return path.read_text()


@pytest.mark.parametrize(("key", "name"), [("e", "editor"), ("o", "pager")])
def test_the_persons_own_program_gets_the_original_value_and_the_terminal(
    terminal: Terminal, tmp_path: Path, key: str, name: str
) -> None:
    terminal.press("Enter")
    terminal.shows("⟨decimal 99.50⟩")
    terminal.press(key)
    terminal.shows(f"{name.upper()} HAS THE TERMINAL")
    terminal.type("typed by a person\n")
    terminal.shows("2 TRACE")

    value = json.loads((tmp_path / f"{name}.copy").read_text())
    assert value["amount"] == {"$tk": {"type": "decimal", "value": "99.50"}}
    assert written(tmp_path / f"{name}.copy.answer") == "typed by a person\n"
    assert (tmp_path / f"{name}.copy.mode").read_text() == "-rw-------\n"


def test_ctrl_z_gives_the_shell_back_and_fg_the_explorer(terminal: Terminal) -> None:
    terminal.press("C-z")
    terminal.shows("Stopped")
    terminal.type("echo $((40 + 2)) from the shell\n")
    terminal.shows("42 from the shell")
    terminal.type("fg\n")
    terminal.shows("1 TRACES")
    terminal.press("Enter")

    terminal.shows("2 TRACE")


def test_the_mouse_moves_the_cursor_and_opens_but_is_never_needed(terminal: Terminal) -> None:
    terminal.press("Enter")
    screen = terminal.shows("⟨decimal 99.50⟩")
    row = next(at for at, line in enumerate(screen.split("\n"), 1) if "order.query" in line)
    terminal.click(20, row)

    terminal.shows("order.query  step 3 · ok")
