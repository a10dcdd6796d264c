"""Whether the process that wrote a log still lives: it holds a lock on its file for as long as it does."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable
from pathlib import Path


def lock_held(path: Path) -> bool:
    """Whether some process holds the lock on *path*; a file that is gone or can't be opened is held by nobody."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def any_held(files: Iterable[str]) -> bool:
    """Whether one of *files* is locked by its writer."""
    return any(lock_held(Path(file)) for file in files)
