"""
Connections to a PostgreSQL server: a few, kept open, made anew after the server was away.

A thread that asks twice gets two connections; at most `MAX_CONNECTIONS` are open at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tracekit.errors import TracekitError
from tracekit.store.base import closed

MAX_CONNECTIONS = 8

Connection = psycopg.Connection[tuple[Any, ...]]

_SETTINGS = "-c search_path=tracekit -c lock_timeout=20s -c idle_in_transaction_session_timeout=10s"
"""No transaction waits for anything outside the server, so one that idles belongs to a process that was stopped."""


class Pool:
    """Lends connections; none is open at the moment of a fork."""

    def __init__(self, url: str) -> None:
        self.url = without_password(url)
        given = conninfo_to_dict(url)
        options = f"{given.get('options') or ''} {_SETTINGS}".strip()
        self._conninfo = make_conninfo(
            url, options=options, connect_timeout=str(given.get("connect_timeout") or 10)
        )
        self._free: list[Connection] = []
        self._lent = 0
        self._closed = False
        self._changed = threading.Condition(threading.RLock())

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """One connection for the block, outside a transaction; thrown away when it is broken afterwards."""
        connection = self._take()
        try:
            yield connection
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close what is free, and what is lent when it comes back."""
        with self._changed:
            self._closed = True
            self._drop_free()

    def drop_free(self) -> None:
        """Close what is free: after one connection broke, the others are likely broken too."""
        with self._changed:
            self._drop_free()

    def before_fork(self) -> None:
        """Wait until nothing is lent, close everything, and lend nothing until `after_fork`."""
        self._changed.acquire()
        while self._lent:
            self._changed.wait()
        self._drop_free()

    def after_fork(self) -> None:
        """Lend again."""
        self._changed.release()

    def _take(self) -> Connection:
        with self._changed:
            while self._lent >= MAX_CONNECTIONS and not self._closed:
                self._changed.wait()
            if self._closed:
                raise closed(self.url)
            self._lent += 1
            if self._free:
                return self._free.pop()
        try:
            return self._connect()
        except BaseException:
            self._put_down(None)
            raise

    def _give_back(self, connection: Connection) -> None:
        usable = (
            not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        )
        if not usable:
            connection.close()
        self._put_down(connection if usable else None)

    def _put_down(self, connection: Connection | None) -> None:
        with self._changed:
            self._lent -= 1
            if connection is not None and self._closed:
                connection.close()
            elif connection is not None:
                self._free.append(connection)
            self._changed.notify_all()

    def _connect(self) -> Connection:
        return psycopg.connect(self._conninfo, autocommit=True)

    def _drop_free(self) -> None:
        while self._free:
            self._free.pop().close()


def without_password(url: str) -> str:
    """*url* as it may be shown."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise TracekitError(
            "store.bad_url", "expected postgresql://USER@HOST/DATABASE, got something that libpq can't read"
        ) from error
    user, host, port = parts.get("user"), parts.get("host"), parts.get("port")
    shown = f"{user}@" if user else ""
    where = f"{host}:{port}" if port else f"{host or ''}"
    # A folder as host is a Unix socket; it can't stand before the slash.
    query = f"?host={host}" if str(host or "").startswith("/") else ""
    return f"postgresql://{shown}{'' if query else where}/{parts.get('dbname') or ''}{query}"


def patiently(work: Callable[[], Any], *, pool: Pool, wait_s: float) -> Any:
    """
    What *work* gives; done again while the server is away or undid it, for at most *wait_s*.

    *work* raises a psycopg error only when nothing of it was kept.
    """
    deadline_s = time.monotonic() + wait_s
    pause_s = 0.0
    while True:
        try:
            return work()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, psycopg.errors.LockNotAvailable) or time.monotonic() >= deadline_s:
                raise
            if not isinstance(error, psycopg.errors.DeadlockDetected):
                pool.drop_free()
        time.sleep(pause_s)
        pause_s = min(0.5, pause_s * 2 + 0.02)
