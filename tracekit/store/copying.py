"""A whole copy of a store file at one moment, beside running workers."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from tracekit.errors import TracekitError


def copy_store_file(source: Path, target: Path) -> int:
    """
    Copy the SQLite store at *source* to *target*, which must not be there; returns its size in bytes.

    It is what one reader sees at one moment: workers go on writing meanwhile, and no half of a commit gets in. The copy is
    checked and synced before this returns, for its user alone (0600), and needs no `-wal` beside it.

    Raises:
        TracekitError: `backup.exists`, `backup.failed`; nothing is left at *target* then.
    """
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise TracekitError("backup.exists", f"{target} is there already; name a file that is not") from None
    except OSError as error:
        raise TracekitError("backup.failed", f"{target} can't be written: {error.strerror}") from error
    try:
        _copy(source, target)
        _check(target)
    except apsw.Error as error:
        target.unlink()
        raise TracekitError("backup.failed", f"{source} could not be copied to {target}: {error}") from error
    except BaseException:
        target.unlink()
        raise
    return target.stat().st_size


def _copy(source: Path, target: Path) -> None:
    store = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    copy = apsw.Connection(str(target))
    try:
        store.set_busy_timeout(10_000)
        with copy.backup("main", store, "main") as running:
            running.step(-1)  # in one go: with several, a writer would make it begin again
        copy.pragma(
            "journal_mode", "delete"
        )  # one file, which can be moved alone; opening the store turns it back
    finally:
        copy.close()
        store.close()


def _check(target: Path) -> None:
    copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        said = [row[0] for row in copy.execute("PRAGMA integrity_check(5)")]
    finally:
        copy.close()
    if said != ["ok"]:
        raise TracekitError(
            "backup.failed", f"the copy is damaged, so the store is: {'; '.join(map(str, said))}"
        )
    for path in (target, target.parent):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
