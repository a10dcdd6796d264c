"""
The store in one SQLite file, for all processes of one machine.

One writer connection per process behind a lock, and one read-only connection. Every write is a `BEGIN IMMEDIATE`:
a transaction that reads first and writes later would fail at once when another process was faster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from tracekit import clock
from tracekit.errors import Damaged
from tracekit.store import forking
from tracekit.store.base import Result, closed
from tracekit.store.retention import Retention, prune
from tracekit.store.sealed import Bodies
from tracekit.store.sql_store import SqlStore
from tracekit.store.sql_transaction import Execute, SqlTransaction
from tracekit.store.sqlite_connection import Connection, gone
from tracekit.store.transaction import Transaction


class SqliteStore(SqlStore):
    """A store in the file *path*; created, private to its owner, when it is not there."""

    def __init__(
        self,
        path: str | Path,
        *,
        bodies: Bodies | None = None,
        vfs: str | None = None,
        busy_s: float = 20.0,
    ) -> None:
        """
        Args:
            vfs: Name of a registered SQLite VFS, for tests that watch or break the disk.
            busy_s: How long to wait for other processes before `store.busy`.
        """
        self.path = Path(path).absolute()
        self.url = f"sqlite:{self.path}"
        self._bodies = bodies or Bodies()
        self._vfs = vfs
        self._busy_s = busy_s
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()  # taken before the other one by whoever needs both
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self._closed = False
        self._was_open = False
        with self._write_lock:
            self._open_writer()
        forking.watch(self)

    @property
    def lock_folder(self) -> Path:
        """Beside the file, so that all who share the file share the locks."""
        return self.path.with_name(f"{self.path.name}-workers")

    def _write(self, work: Callable[[Transaction], Result], *, durable: bool) -> Result:
        with self._write_connection(durable=durable) as connection:
            return work(
                SqlTransaction(connection.execute, self._bodies, to_list=self._to_list, clock=clock.now_ms)
            )

    def _change(self, statement: str, params: Mapping[str, Any]) -> int:
        with self._write_connection(durable=False) as connection:
            connection.execute(statement, params)
            return connection.changes

    @contextmanager
    def _write_connection(self, *, durable: bool) -> Iterator[Connection]:
        with self._write_lock:
            connection = self._open_writer()
            connection.sync_on_commit(durable)
            with connection.transaction("BEGIN IMMEDIATE"):
                yield connection

    def _read(self, work: Callable[[Execute], Result]) -> Result:
        with self._read_lock:
            reader = self._open_reader()
            with reader.transaction("BEGIN"):
                return work(reader.execute)

    @staticmethod
    def _to_list(values: Sequence[str]) -> str:
        return orjson.dumps(list(values)).decode()

    def prune(
        self,
        *,
        before_ms: int,
        keep_every: int = 10,
        forget_before_ms: int | None = None,
        damaged: Damaged | None = None,
    ) -> Mapping[str, int]:
        retention = Retention(before_ms, keep_every, forget_before_ms, clock.now_ms())
        counts = prune(self._change, retention, self._to_list(self._untrusted(damaged)))
        with self._write_lock:
            writer = self._open_writer()
            with writer.translated():
                writer.run("PRAGMA incremental_vacuum")
        return counts

    def close(self) -> None:
        with self._read_lock, self._write_lock:
            self._closed = True
            self._disconnect()

    def before_fork(self) -> None:
        self._read_lock.acquire()
        self._write_lock.acquire()
        self._disconnect()

    def after_fork(self) -> None:
        self._write_lock.release()
        self._read_lock.release()

    def _open_writer(self) -> Connection:
        if self._closed:
            raise closed(self.url)
        self._writer, there = None, self._writer
        if there is not None:
            there.check_there()
        elif self._was_open and not self.path.exists():
            raise gone(self.path)  # a new one would be empty, and its tasks would do all their effects anew
        self._writer = there or self._connect(writable=True)
        self._was_open = True
        return self._writer

    def _open_reader(self) -> Connection:
        if self._closed:
            raise closed(self.url)
        self._reader, there = None, self._reader
        if there is not None:
            there.check_there()
        else:
            with self._write_lock:
                self._open_writer()  # makes the side files without which a reader can't open the log
        self._reader = there or self._connect(writable=False)
        return self._reader

    def _connect(self, *, writable: bool) -> Connection:
        return Connection(self.path, writable=writable, vfs=self._vfs, busy_s=self._busy_s)

    def _disconnect(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None
