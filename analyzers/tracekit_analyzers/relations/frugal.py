"""Statements over a trace that is larger than memory: run once more in the way that lets the engine put most on disk, or in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb

_SMALLEST_PIECE = 16
"""Steps below which cutting further is of no use: then it is one step that does not fit."""


@contextmanager
def one_thread(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Context in which one thread works: each one has buffers of its own."""
    before = con.execute("select current_setting('threads')").fetchall()[0][0]
    con.execute("set threads = 1")
    try:
        yield
    finally:
        con.execute(f"set threads = {int(before)}")


@contextmanager
def settings(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Context in which the engine holds as little as it can: one thread, and rows in any order."""
    before = con.execute("select current_setting('preserve_insertion_order')").fetchall()[0][0]
    with one_thread(con):
        con.execute("set preserve_insertion_order = false")
        try:
            yield
        finally:
            con.execute(f"set preserve_insertion_order = {bool(before)}")


def run(con: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, Any] | None = None) -> list[Any]:
    """The rows of *sql*; what does not fit into memory in the usual way is run once more in the frugal one."""
    try:
        return con.execute(sql, params).fetchall()
    except duckdb.OutOfMemoryException:
        with settings(con):
            return con.execute(sql, params).fetchall()


def in_pieces(
    con: duckdb.DuckDBPyConnection,
    make: str,
    add: str,
    *,
    last_seq: int,
    params: Mapping[str, Any] | None = None,
) -> None:
    """
    Run *make*, or where that does not fit into memory, *make* over no step and then *add* over a range of them at a time.

    Args:
        con: The connection; `from_seq` and `to_seq` are its variables that say which steps a statement looks at.
        make: Makes a table over these steps, or adds their rows to it.
        add: Adds the rows of these steps to the table.
        last_seq: Highest `seq` that there is.
        params: Of both statements.
    """
    try:
        con.execute(make, params)
        return
    except duckdb.OutOfMemoryException:
        pass
    with settings(con):
        try:
            _look_at(con, 0, -1)
            con.execute(make, params)
            _add(con, add, last_seq, params)
        finally:
            con.execute("reset variable from_seq")
            con.execute("reset variable to_seq")


def _add(con: duckdb.DuckDBPyConnection, add: str, last_seq: int, params: Mapping[str, Any] | None) -> None:
    """Add range by range; one that does not fit is halved, and so are those after it."""
    at, size = 0, last_seq // 4 + 1
    while at <= last_seq:
        _look_at(con, at, at + size - 1)
        try:
            con.execute(add, params)
        except duckdb.OutOfMemoryException:
            if size <= _SMALLEST_PIECE:
                raise
            size //= 2
        else:
            at += size


def _look_at(con: duckdb.DuckDBPyConnection, first: int, last: int) -> None:
    con.execute(f"set variable from_seq = {int(first)}")
    con.execute(f"set variable to_seq = {int(last)}")
