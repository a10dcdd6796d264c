"""A report is a copy of what a log says: there whole or not at all, and as private as the log."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file *path*, readable by this user alone, when the block ends well; raises `OSError`."""
    if path.exists() and not path.is_file():
        # A pipe or a device takes what comes.
        with path.open("wb") as out:
            yield out
        return
    # Beside the file, under a name that nobody else can have taken.
    handle, name = tempfile.mkstemp(prefix=".tracekit-", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
