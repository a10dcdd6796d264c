"""
The store in a PostgreSQL database, for workers on many machines.

READ COMMITTED is enough: whatever a rule reads before it writes is locked by the statement that reads it. A commit is
two round trips: `BEGIN` with the locking read that checks the fence, then all writes with `COMMIT` in one pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import psycopg

from tracekit import clock
from tracekit.config import settings
from tracekit.errors import Damaged, TracekitError
from tracekit.store import forking, queries
from tracekit.store.base import Result
from tracekit.store.postgres_pool import Connection, Pool, patiently
from tracekit.store.retention import Retention, prune
from tracekit.store.sealed import Bodies
from tracekit.store.sql_store import SqlStore
from tracekit.store.sql_transaction import Execute, SqlTransaction
from tracekit.store.transaction import Transaction

_UPGRADE_LOCK = 0x746B7374
"""Only one process at a time makes or upgrades the tables."""


class PostgresStore(SqlStore):
    """A store in the schema `tracekit` of the database at *url*."""

    def __init__(self, url: str, *, bodies: Bodies | None = None, wait_s: float = 20.0) -> None:
        """
        Args:
            wait_s: How long to wait for a server that is away before `store.unreachable`.
        """
        self._pool = Pool(url)
        self.url = self._pool.url
        self._bodies = bodies or Bodies()
        self._wait_s = 0.0
        self._run(self._upgrade)
        self._wait_s = wait_s
        forking.watch(self._pool)

    @property
    def lock_folder(self) -> Path:
        """In the home of this machine: workers of other machines are judged by their leases."""
        return settings().home / "locks"

    def _write(self, work: Callable[[Transaction], Result], *, durable: bool) -> Result:
        return self._run(lambda connection: self._in_transaction(connection, work))

    def _in_transaction(self, connection: Connection, work: Callable[[Transaction], Result]) -> Result:
        is_sent = False
        try:
            with connection.pipeline():
                connection.execute("BEGIN")
                began_at = connection.execute(_sql("now"))
                tx = SqlTransaction(
                    _executor(connection),
                    self._bodies,
                    to_list=self._to_list,
                    clock=lambda: int(began_at.fetchall()[0][0]),
                )
                result = work(tx)
                is_sent = True
                connection.execute("COMMIT")
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if is_sent and connection.closed:
                raise _commit_unknown(self.url) from error
            raise
        finally:
            _end_transaction(connection)
        return result

    def _change(self, statement: str, params: Mapping[str, Any]) -> int:
        return self._run(lambda connection: connection.execute(_sql(statement), params).rowcount)

    def _read(self, work: Callable[[Execute], Result]) -> Result:
        return self._run(lambda connection: self._in_snapshot(connection, work))

    def _in_snapshot(self, connection: Connection, work: Callable[[Execute], Result]) -> Result:
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return work(_executor(connection))
        finally:
            _end_transaction(connection)

    @staticmethod
    def _to_list(values: Sequence[str]) -> list[str]:
        return list(values)

    def prune(
        self,
        *,
        before_ms: int,
        keep_every: int = 10,
        forget_before_ms: int | None = None,
        damaged: Damaged | None = None,
    ) -> Mapping[str, int]:
        retention = Retention(before_ms, keep_every, forget_before_ms, clock.now_ms())
        return prune(self._change, retention, self._to_list(self._untrusted(damaged)))

    def close(self) -> None:
        self._pool.close()

    def _run(self, work: Callable[[Connection], Result]) -> Result:
        def once() -> Result:
            with self._pool.connection() as connection:
                return work(connection)

        try:
            return cast(Result, patiently(once, pool=self._pool, wait_s=self._wait_s))
        except psycopg.Error as error:
            raise _translate(error, self.url) from error

    def _upgrade(self, connection: Connection) -> None:
        known = queries.schema_version("postgres")
        if (version := _version(connection)) < known:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [_UPGRADE_LOCK])
                version = _version(connection)  # another process may have been first
                for sql in _steps_from(version):
                    connection.execute(cast(Any, sql))
                connection.execute("DELETE FROM store_version")
                connection.execute("INSERT INTO store_version (version) VALUES (%s)", [known])
        if version > known:
            raise TracekitError(
                "store.newer_schema",
                f"the store {self.url} has schema {version}, this tracekit knows up to {known}; "
                "upgrade tracekit-agents to open it",
            )


def _version(connection: Connection) -> int:
    """Version of the tables; 0 when there are none."""
    # Not to_regclass: it may answer from a cache that is older than the lock which was just waited for.
    found = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_tables"
        " WHERE schemaname = 'tracekit' AND tablename = 'store_version')"
    ).fetchall()
    if not found[0][0]:
        return 0
    return int(connection.execute("SELECT MAX(version) FROM store_version").fetchall()[0][0])


def _steps_from(version: int) -> list[str]:
    if version == 0:
        return ["CREATE SCHEMA IF NOT EXISTS tracekit", queries.schema("postgres")]
    return [step.sql for step in queries.migrations("postgres") if step.version > version]


@cache
def _sql(statement: str) -> Any:
    """The statement as psycopg takes it: percent signs doubled, `%(name)s` for parameters."""
    sql = queries.statements("postgres")[statement].replace("%", "%%")
    return queries.with_parameters(sql, lambda name: f"%({name})s")


def _executor(connection: Connection) -> Execute:
    """Runs statements; one that gives no rows is not waited for inside a pipeline."""

    def execute(statement: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        sql = _sql(statement)
        cursor = connection.execute(sql, params)
        return cursor.fetchall() if sql.startswith("SELECT") or "RETURNING" in sql else []

    return execute


def _end_transaction(connection: Connection) -> None:
    """Roll back what is still open; a broken connection has nothing left to roll back."""
    with suppress(psycopg.Error):
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")


def _commit_unknown(url: str) -> TracekitError:
    return TracekitError(
        "store.commit_unknown",
        f"expected {url} to confirm a commit, but the connection broke before its answer: it may have been kept. "
        "Stop working on this task and resume it: what is in the store then is the truth",
    )


def _translate(error: psycopg.Error, url: str) -> TracekitError:
    told = str(error).strip().split("\n")[0]
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return TracekitError(
            "store.busy", f"expected to get a row of {url}, but another process keeps it locked; try again"
        )
    if isinstance(error, psycopg.errors.DiskFull | psycopg.errors.ReadOnlySqlTransaction):
        return TracekitError(
            "store.unwritable",
            f"expected to write to the store {url}: {told}; nothing of this commit was kept",
        )
    if isinstance(error, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted):
        return TracekitError(
            "store.damaged", f"expected an intact store at {url}: {told}; restore it from a backup"
        )
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return TracekitError(
            "store.unreachable",
            f"expected a PostgreSQL server at {url}: {told}; check that it runs and lets you in",
        )
    return TracekitError("store.failed", f"the store {url} refused a statement: {told}")
