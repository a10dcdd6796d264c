"""Folders for one person's eyes; `Path.mkdir(parents=True)` gives its mode to the last folder alone."""

from __future__ import annotations

from pathlib import Path


def make_private(folder: Path) -> None:
    """
    Make *folder* and the folders above it that are missing, all with mode 0700.

    A folder that is there stays as it is: its owner may have shared it on purpose.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
