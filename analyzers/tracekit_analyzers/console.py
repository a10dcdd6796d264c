"""Free queries: one statement that only reads, over the relations and nothing else of the machine."""

from __future__ import annotations

import time

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers.views import Table

_READING = frozenset(("SELECT", "EXPLAIN", "PRAGMA"))
_MOST_COUNTED = 1_000_000


def run(cursor: duckdb.DuckDBPyConnection, query: str, *, limit: int) -> Table:
    """
    The first *limit* rows of *query*.

    Raises:
        TracekitError: `sql.syntax`: the engine can't read it; `sql.not_reading`: it is no single reading statement;
            `sql.failed`: it broke while running.
    """
    _check(cursor, query)
    began = time.perf_counter()
    try:
        result = cursor.execute(query)
        columns = tuple(column[0] for column in result.description or ())
        rows = tuple(result.fetchmany(limit))
        total = len(rows)
        while total < _MOST_COUNTED and len(rows) == limit and (more := result.fetchmany(10_000)):
            total += len(more)
    except duckdb.Error as error:
        raise TracekitError("sql.failed", str(error).strip()) from error
    return Table(columns, rows, total, (time.perf_counter() - began) * 1000)


def _check(cursor: duckdb.DuckDBPyConnection, query: str) -> None:
    try:
        statements = cursor.extract_statements(query)
    except duckdb.Error as error:
        raise TracekitError("sql.syntax", str(error).strip()) from error
    kinds = [str(statement.type).rpartition(".")[2] for statement in statements]
    if len(kinds) != 1 or kinds[0] not in _READING:
        found = ", ".join(kinds) or "nothing"
        raise TracekitError(
            "sql.not_reading", f"expected one statement that only reads (select), got: {found}"
        )
