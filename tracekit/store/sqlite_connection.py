"""
One connection to a store file: how it is made safe, opened, upgraded and spoken to.

Creation runs under `synchronous=EXTRA`: with FULL, SQLite deletes the journal of the switch to WAL without syncing
the folder, and a journal that comes back after a power cut undoes the whole file.
"""

from __future__ import annotations

import ctypes
import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from tracekit.errors import TracekitError
from tracekit.folders import make_private
from tracekit.store import queries

APPLICATION_ID = 0x746B7374
"""Marks a SQLite file as a store of tracekit."""

_READ = apsw.SQLITE_OPEN_READONLY
_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE

_PRAGMAS = """
PRAGMA foreign_keys=ON;
PRAGMA wal_autocheckpoint=1000;
PRAGMA journal_size_limit=67108864;
PRAGMA mmap_size=0;
PRAGMA cache_size=-16000;
PRAGMA trusted_schema=OFF;
"""


class Connection:
    """A connection whose errors are those of the store."""

    def __init__(self, path: Path, *, writable: bool, vfs: str | None, busy_s: float) -> None:
        self._path = path
        self._synchronous = ""
        self._statements = queries.statements("sqlite")
        if writable:
            _make_file(path)
        with self.translated():
            self._db = apsw.Connection(str(path), flags=_WRITE if writable else _READ, vfs=vfs)
            self._db.set_busy_handler(_patience(busy_s))
            if writable:
                self._prepare()
            else:
                self._db.execute("PRAGMA query_only=ON")

    def execute(self, statement: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """All rows of the named statement."""
        sql = self._statements[statement]
        try:
            return self._db.execute(sql, params).fetchall()
        except UnicodeDecodeError:
            return self._execute_leniently(sql, params)

    def _execute_leniently(self, sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """
        As `execute`, with replacement characters for what is no UTF-8.

        A changed byte can make a text unreadable; its checksum then fails, which tells the row it stands in.
        """
        columns = _columns(sql)
        kinds = ", ".join(f"typeof({column})" for column in columns)
        values = ", ".join(
            f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) ELSE {column} END"
            for column in columns
        )
        return [
            tuple(
                value.decode(errors="replace") if kind == "text" else value
                for kind, value in zip(row[: len(columns)], row[len(columns) :], strict=True)
            )
            for row in self._db.execute(f"SELECT {kinds}, {values} FROM ({sql})", params)
        ]

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of *sql*."""
        return self._db.execute(sql).fetchall()

    @property
    def changes(self) -> int:
        """Rows that the last statement changed."""
        return self._db.changes()

    def sync_on_commit(self, durable: bool) -> None:
        """Let the next commits reach the disk before they return, or not; between transactions only."""
        wanted = "FULL" if durable else "NORMAL"
        if wanted != self._synchronous:
            self._db.execute(f"PRAGMA synchronous={wanted}")
            self._synchronous = wanted

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Begin, and commit at the end of the block; roll back when anything is raised, also by the commit."""
        with self.translated():
            self._db.execute(begin)
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def check_there(self) -> None:
        """Close and raise `store.gone` where another file stands at the path now, or none: nobody would read what is written."""
        has_moved = ctypes.c_int(0)
        self._db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(has_moved))
        if has_moved.value:
            self.close()
            raise gone(self._path)

    def close(self) -> None:
        """Close; the last one to close the file moves the log into it."""
        self._db.close()

    def _prepare(self) -> None:
        """Create or upgrade the file, and set what holds for this connection."""
        self._check_ours()
        # On macOS an ordinary sync stops at the drive's cache; elsewhere these two do nothing.
        self._db.execute("PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON")
        self._db.execute("PRAGMA synchronous=EXTRA; PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL")
        mode = self._db.pragma("journal_mode", "wal")
        if mode != "wal":
            raise TracekitError(
                "store.no_wal",
                f"expected {self._path} to switch to a write-ahead log, but it stays in mode {mode!r}; "
                "put the store on a local disk, not on a network share",
            )
        if self._db.pragma("user_version") < queries.schema_version("sqlite"):
            self._upgrade()
            _sync_folder(self._path.parent)
        self._db.execute(_PRAGMAS)
        self._synchronous = "EXTRA"

    def _check_ours(self) -> None:
        """Refuse a file of another program, or of a newer tracekit, before anything in it is changed."""
        application, version = self._db.pragma("application_id"), self._db.pragma("user_version")
        is_empty = not self._db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        if application != APPLICATION_ID and not (is_empty and application == 0 and version == 0):
            raise TracekitError(
                "store.not_a_store",
                f"expected a store of tracekit at {self._path}, found a SQLite file of another program; "
                "name another path",
            )
        if version > (known := queries.schema_version("sqlite")):
            raise TracekitError(
                "store.newer_schema",
                f"the store {self._path} has schema {version}, this tracekit knows up to {known}; "
                "upgrade tracekit-agents to open it",
            )

    def _upgrade(self) -> None:
        with self.transaction("BEGIN IMMEDIATE"):
            version = self._db.pragma("user_version")  # another process may have been first
            if version == 0:
                self._db.execute(queries.schema("sqlite"))
            for step in queries.migrations("sqlite"):
                if 0 < version < step.version:
                    self._db.execute(step.sql)
            self._db.pragma("application_id", APPLICATION_ID)
            self._db.pragma("user_version", queries.schema_version("sqlite"))

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the errors of SQLite into those of the store."""
        try:
            yield
        except (apsw.Error, UnicodeDecodeError) as error:
            raise _translate(error, self._path) from error


def _columns(sql: str) -> list[str]:
    """Names that a statement of queries.sql selects."""
    selected = sql.removeprefix("SELECT").partition("FROM ")[0]
    return [column.strip() for column in selected.split(",")]


def _translate(error: Exception, path: Path) -> TracekitError:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return TracekitError(
            "store.busy",
            f"expected to get the store {path} to write, but another process keeps it locked; "
            "nothing was written, try again",
        )
    if isinstance(error, apsw.NotADBError):
        return TracekitError(
            "store.not_a_store",
            f"expected a store of tracekit at {path}, but the file is no SQLite file; name another path",
        )
    if isinstance(error, apsw.CorruptError | UnicodeDecodeError):
        return TracekitError(
            "store.damaged",
            f"expected an intact store at {path}, but SQLite finds it damaged ({error}); "
            "copy it away, then restore it from a backup",
        )
    if isinstance(error, apsw.CantOpenError):
        return TracekitError(
            "store.unreachable",
            f"expected to open the store {path}: {error}; check that its folder can be written",
        )
    if isinstance(error, apsw.FullError | apsw.IOError | apsw.ReadOnlyError):
        return TracekitError(
            "store.unwritable",
            f"expected to write to the store {path}: {error}; nothing of this commit was kept. "
            "Check free space and permissions",
        )
    return TracekitError("store.failed", f"the store {path} refused a statement: {error}")


def gone(path: Path) -> TracekitError:
    """The error of a store whose file was taken away under a running process."""
    return TracekitError(
        "store.gone",
        f"expected the store {path} as it was opened, but the file was deleted or replaced meanwhile; nothing more is "
        "written. Restore it from a backup. What its tasks have done outside stands only there: look at the services "
        "behind them before you start one of them anew",
    )


def _patience(busy_s: float) -> Any:
    """
    A busy handler that asks again after a few milliseconds until *busy_s* are over.

    SQLite's own doubles its waits up to 100 ms, so that the one who waits longest asks least: four processes
    that write all the time then leave one waiting for seconds.
    """
    deadline_s = 0.0

    def wait(calls: int) -> bool:
        nonlocal deadline_s
        now_s = time.monotonic()
        if calls == 0:
            deadline_s = now_s + busy_s
        if now_s >= deadline_s:
            return False
        time.sleep(random.uniform(0.0003, 0.003))
        return True

    return wait


def _make_file(path: Path) -> None:
    """Create the file for its owner's eyes only; SQLite gives its side files the same mode."""
    try:
        make_private(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise TracekitError(
            "store.unreachable",
            f"expected to create the store {path}: {error.strerror}; check that its folder can be written",
        ) from error


def _sync_folder(folder: Path) -> None:
    """Make the file's own entry in its folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
