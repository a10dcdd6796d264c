"""The DuckDB connection of an analysis: bounded memory, no network, no extension loaded by itself."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tracekit_analyzers.relations import statement

MEMORY_LIMIT_MB = 1200
SCREEN_MEMORY_MB = 340
"""Where a person looks on, memory counts more than the time of the whole reading."""
IN_MEMORY_BYTES = 64 << 20
"""Inputs up to this size are analysed in memory; larger ones in a temporary database file."""


def connect(folder: Path, input_bytes: int, *, memory_mb: int = MEMORY_LIMIT_MB) -> duckdb.DuckDBPyConnection:
    """A connection with our macros and empty base tables; what does not fit into memory goes to *folder*."""
    place = ":memory:" if input_bytes <= IN_MEMORY_BYTES else str(folder / "analysis.duckdb")
    con = duckdb.connect(
        place,
        config={
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(folder),
        },
    )
    # Those who cut the work into pieces have to know how much fits.
    con.execute(f"set variable memory_share = {min(1.0, memory_mb / MEMORY_LIMIT_MB)}")
    # Global, so that connections to the same engine have it too: they may not set it once queries are let in.
    con.execute("set global timezone = 'UTC'")
    prepare(con)
    return con


def prepare(con: duckdb.DuckDBPyConnection) -> None:
    """Make our macros and the empty base tables in the database that *con* uses."""
    con.execute("create schema if not exists log")
    con.execute(statement("macros"))
    con.execute(statement("lines_table"))
    con.execute("create table if not exists log.files (file varchar, first_n bigint)")
    con.execute("create table if not exists log.lost (file varchar, lines bigint)")
    # Whole contexts of traces that are not in this database, where an analysis is spread over several.
    con.execute("create table if not exists log.contexts_elsewhere (digest varchar, hashes varchar[])")
