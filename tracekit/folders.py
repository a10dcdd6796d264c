"""Folders and files for one person's eyes; `Path.mkdir(parents=True)` gives its mode to the last folder alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO


def make_private(folder: Path) -> None:
    """
    Make *folder* and the folders above it that are missing, all with mode 0700.

    A folder that is there stays as it is: its owner may have shared it on purpose.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def open_private(path: Path, mode: str = "wb") -> BinaryIO:
    """*path* to write (`wb`) or to append (`ab`); a file that is made has mode 0600, one that is there keeps its own."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))  # type: ignore[return-value]
