"""The programs around the screen: clipboard, editor, pager."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

CLIPBOARD_TOOLS = (
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "-ib"),
    ("pbcopy",),
    ("clip.exe",),
)

OSC52_BYTES = 74_000
"""Terminals drop longer sequences in silence; such a value goes to a tool or a file."""


def by_terminal(text: str, environment: dict[str, str]) -> bool:
    """Whether the terminal itself should be given *text*: over SSH it is the only way to the person's clipboard."""
    remote = any(name in environment for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"))
    return (remote or not _tool(environment)) and len(text.encode("utf-8", "replace")) <= OSC52_BYTES


def _tool(environment: dict[str, str]) -> tuple[str, ...] | None:
    for command in CLIPBOARD_TOOLS:
        needs_display = command[0] in ("xclip", "xsel") and "DISPLAY" not in environment
        needs_wayland = command[0] == "wl-copy" and "WAYLAND_DISPLAY" not in environment
        if not needs_display and not needs_wayland and shutil.which(command[0]):
            return command
    return None


def by_tool(text: str, environment: dict[str, str]) -> str | None:
    """Name of the tool that took *text*; None when there is none or it failed."""
    command = _tool(environment)
    if command is None:
        return None
    try:
        subprocess.run(
            command,
            input=text.encode("utf-8", "surrogatepass"),
            check=True,
            timeout=5,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return command[0]


def to_file(text: str, name: str = "value", folder: str | None = None) -> Path:
    """A new private file that holds *text* exactly; in the folder of the system where none is given."""
    suffix = ".json" if text[:1] in ("{", "[") else ".txt"
    handle, path = tempfile.mkstemp(prefix=f"tracekit-{name}-", suffix=suffix, dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode("utf-8", "surrogatepass"))
    return Path(path)


@cache
def lent_folder() -> str:
    """A private folder for what an editor or a pager is lent; it goes when the explorer ends."""
    folder = tempfile.mkdtemp(prefix="tracekit-lent-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def editor_command(path: Path, line: int | None = None) -> list[str]:
    """What opens *path* in the person's editor, at *line* where the editor takes one."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    words = shlex.split(editor)
    knows_lines = Path(words[0]).name in ("vi", "vim", "nvim", "nano", "emacs", "micro", "kak", "hx")
    return [*words, *([f"+{line}"] if line is not None and knows_lines else []), str(path)]


def pager_command(path: Path) -> list[str]:
    """What shows *path* in the person's pager; control codes stay visible (`less` without `-r`)."""
    return [*shlex.split(os.environ.get("PAGER") or "less"), str(path)]
