"""
The folder for the temporary files of one piece of work.

It may hold gigabytes, and a process that is killed takes nothing along: whoever makes the next one removes what such
a process left. A lock on a file in it is held for as long as its process lives, so no living one loses anything.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

_PREFIX = "tracekit-work-"
_LOCK = "owner.lock"
_YOUNG_S = 60.0
"""A lock file is made a moment before it is locked."""


class Workplace(tempfile.TemporaryDirectory[str]):
    """A private folder, removed with all that is in it when the work ends, or by another process when its own was killed."""

    def __init__(self) -> None:
        super().__init__(prefix=_PREFIX)
        self._held = (Path(self.name) / _LOCK).open("wb")
        fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _sweep_once()

    def cleanup(self) -> None:
        """Remove the folder and all that is in it."""
        self._held.close()
        super().cleanup()


def sweep(folder: Path) -> list[Path]:
    """Remove the workplaces in *folder* whose process was killed; returns those that were removed."""
    return [lock.parent for lock in folder.glob(f"{_PREFIX}*/{_LOCK}") if _is_left(lock) and _removed(lock)]


@cache
def _sweep_once() -> None:
    sweep(Path(tempfile.gettempdir()))


def _is_left(lock: Path) -> bool:
    """Whether the folder of *lock* is one of this user's own, and not just being made."""
    try:
        found, inside = lock.parent.lstat(), lock.lstat()
    except OSError:
        return False  # somebody else removed it
    is_own = (
        found.st_uid == inside.st_uid == os.getuid()
        and not lock.parent.is_symlink()
        and not lock.is_symlink()
    )
    return is_own and inside.st_mtime < time.time() - _YOUNG_S


def _removed(lock: Path) -> bool:
    try:
        with lock.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
    except OSError:
        return False  # its process lives
    return True
