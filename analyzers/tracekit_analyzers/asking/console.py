"""Free queries: one statement that only reads, over the relations and nothing else of the machine."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers.views import Table

_READING = frozenset(("SELECT", "EXPLAIN", "PRAGMA"))
_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\s+(?:analyze\b\s*)?(?:\([^)]*\))?", re.IGNORECASE | re.DOTALL
)
_MOST_COUNTED = 1_000_000


def close_doors(
    con: duckdb.DuckDBPyConnection, allowed: Sequence[str] = (), *, folders: Sequence[str] = ()
) -> None:
    """From here on *con* and its cursors reach no file but *allowed* and those in *folders*, and no setting can be changed."""
    for setting, names in (("allowed_paths", allowed), ("allowed_directories", folders)):
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        con.execute(f"set {setting} = [{listed}]")
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")


def run(cursor: duckdb.DuckDBPyConnection, query: str, *, limit: int) -> Table:
    """
    The first *limit* rows of *query*.

    Raises:
        TracekitError: `sql.syntax`: the engine can't read it; `sql.not_reading`: it is no single reading statement;
            `sql.failed`: it broke while running.
    """
    check(cursor, query)
    began = time.perf_counter()
    try:
        with _changing_nothing(cursor):
            result = cursor.execute(query)
            columns = tuple(column[0] for column in result.description or ())
            rows = tuple(result.fetchmany(limit))
            total = len(rows)
            while total < _MOST_COUNTED and len(rows) == limit and (more := result.fetchmany(10_000)):
                total += len(more)
    except duckdb.Error as error:
        raise TracekitError("sql.failed", str(error).strip()) from error
    return Table(columns, rows, total, (time.perf_counter() - began) * 1000)


@contextmanager
def reading(cursor: duckdb.DuckDBPyConnection, query: str) -> Iterator[None]:
    """A block in which *query*, checked to be one reading statement, may be run and changes nothing."""
    check(cursor, query)
    with _changing_nothing(cursor):
        yield


@contextmanager
def _changing_nothing(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """A block in which the engine itself refuses to write: `with x as (insert ...) select` is a select too."""
    cursor.execute("begin transaction read only")
    try:
        yield
    finally:
        cursor.execute("rollback")


def check(cursor: duckdb.DuckDBPyConnection, query: str) -> None:
    """Raise `sql.syntax` or `sql.not_reading` for what `run` would refuse."""
    kinds = _kinds(cursor, query)
    if kinds == ["EXPLAIN"]:
        # `explain analyze` does what it explains.
        kinds = _kinds(cursor, _EXPLAIN.sub("", query, count=1))
    if len(kinds) != 1 or kinds[0] not in _READING:
        found = ", ".join(kinds) or "nothing"
        raise TracekitError(
            "sql.not_reading", f"expected one statement that only reads (select), got: {found}"
        )


def _kinds(cursor: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """What kinds of statements *query* consists of."""
    try:
        statements = cursor.extract_statements(query)
    except duckdb.Error as error:
        raise TracekitError("sql.syntax", str(error).strip()) from error
    return [str(statement.type).rpartition(".")[2] for statement in statements]
