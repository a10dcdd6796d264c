"""One recovery in a process of its own, watched while it works; it goes on when the screen is closed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any


class RecoveryRun:
    """A process whose words go to a file, so that neither a slow nor a closed screen can hold it up."""

    def __init__(self, argv: Sequence[str], who: str, log: Path, home: Path | None = None) -> None:
        self.argv = tuple(argv)
        self.log = log
        self._read = 0
        self.asked_to_stop = False
        with private(log, "wb") as out:
            self._process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=_environment(who, home),
            )

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._process.pid

    def news(self) -> tuple[str, int | None]:
        """What it has said since the last look, and its exit code once it has ended."""
        # The code is taken first: what is read after it is all that there will ever be.
        code = self._process.poll()
        with self.log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        return data.decode("utf-8", "replace"), code

    def stop(self) -> None:
        """
        Ask it to stop, as Ctrl-C would; asked again, end it; nothing when it has ended.

        A process whose parent ignored SIGINT, as a server in the background does, never hears the first.
        """
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM if self.asked_to_stop else signal.SIGINT)
            self.asked_to_stop = True


def private(path: Path, mode: str) -> IO[Any]:
    """*path* opened for writing, with its folder made where it is absent; nobody else may read either."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    encoding = None if "b" in mode else "utf-8"
    return open(path, mode, encoding=encoding, opener=lambda name, flags: os.open(name, flags, 0o600))


def _environment(who: str, home: Path | None) -> dict[str, str]:
    """Our own, with the person, and the folder of the logs beside the store where none is named."""
    found = {**os.environ, "TRACEKIT_PERSON": who, "PYTHONUNBUFFERED": "1"}
    if home is not None:
        found.setdefault("TRACEKIT_HOME", str(home))
    return found
