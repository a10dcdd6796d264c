"""Run the blocks of a page as a reader would: files are saved, lines are typed, in the order of the page."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import Block

LINE_LIMIT_S = 120
SCREEN_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Desk:
    """The folder in which a page is followed, and the services that its lines talk to."""

    folder: Path
    env: dict[str, str]

    def follow(self, block: Block) -> None:
        """Do what *block* says; raises `AssertionError` with what was typed and what came out."""
        match block.language:
            case "python":
                self._python(block)
            case "console":
                for line in block.text.splitlines():
                    if line.startswith("$ "):
                        self._typed(line[2:], block)
            case "json":
                json.loads(block.text)
            case "toml":
                tomllib.loads(block.text)
            case "sql":
                said = self._typed(f'tracekit sql sample_traces "{block.text.strip()}"', block)
                assert "(no rows)" not in said, f"{block.page}:{block.line}: finds nothing\n{block.text}"
            case other:
                raise AssertionError(
                    f"{block.page}:{block.line}: nobody knows how to run {other!r}; mark it `not run`"
                )

    def _python(self, block: Block) -> None:
        """A block whose first line names a file is saved; any other is run."""
        named = re.match(r"# ([\w/]+\.py)\n", block.text)
        path = self.folder / (named[1] if named else f"block_{block.line}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
        if named is None:
            self._typed(f"python {path.name}", block)

    def _typed(self, line: str, block: Block) -> str:
        """What the line prints; of a screen nothing."""
        command, _, wanted = line.partition("  # exit ")
        if re.match(r"(\S+=\S+ )*tracekit tui\b", command):
            self._screen(command, block)
            return ""
        # `exec`, so that a process killed by a signal is seen as one and not as a code of the shell.
        simple = not re.search(r"[|;&<>]", command)
        script = (
            re.sub(r"^((?:[A-Z_]+=\S+ )*)", r"\1exec ", command) if simple else f"set -o pipefail; {command}"
        )
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LINE_LIMIT_S,
        )
        assert done.returncode == int(wanted or 0), (
            f"{block.page}:{block.line}: {line}\n[exit {done.returncode}]\n{done.stdout}\n{done.stderr}"
        )
        return done.stdout

    def _screen(self, command: str, block: Block) -> None:
        """Open the explorer in a real terminal, and leave it by its key once it shows something."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "-c", f"exec {command}"], self.env | {"TERM": "xterm-256color"})
        seen, until, code = b"", time.monotonic() + SCREEN_LIMIT_S, None
        while code is None and time.monotonic() < until:
            if select.select([terminal], [], [], 0.5)[0]:
                # A closed other end is no error here: its exit code tells how it went.
                with contextlib.suppress(OSError):
                    seen += os.read(terminal, 65536)
            elif b"TRACES" in seen:
                os.write(terminal, b"q")
            ended, status = os.waitpid(child, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
        if code is None:
            os.kill(child, 9)
            os.waitpid(child, 0)
        os.close(terminal)
        assert code == 0, f"{block.page}:{block.line}: {command}\n[exit {code}]\n{seen[-2000:]!r}"


def reader_env(home: Path) -> dict[str, str]:
    """The environment of a reader: nothing of tracekit is set, `python` and `tracekit` are those of the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT_")}
    return kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
    }
