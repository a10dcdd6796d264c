"""
The short way for a query that needs nothing but `steps` of native files: only the fields that it names are read.

The first answer over a gigabyte takes about two seconds, and damage is counted as the whole reading counts it. What the
short way can't answer exactly (other formats, other relations, places within a trace) is left to the long one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers.asking import console
from tracekit_analyzers.model import InputFile
from tracekit_analyzers.reading import database, files, registry
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import statement
from tracekit_analyzers.shortcuts import index
from tracekit_analyzers.shortcuts.naming import named
from tracekit_analyzers.shortcuts.narrow import COLUMNS, Narrow
from tracekit_analyzers.views import Table

MEMORY_LIMIT_MB = 260
"""With 200 the engine fills a table with one thread alone."""
_IN_ORDER = frozenset(("seq", "line", "record_index", "trace_index", "bucket", "first_n", "last_n"))
"""Columns that only the whole reading knows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, and how many damaged pieces the log has that they come from."""

    table: Table
    damaged: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """One query on its way: the connection, the columns of `steps` that it names, and a folder for what does not last."""

    con: duckdb.DuckDBPyConnection
    columns: Collection[str]
    folder: Path


def answer(paths: Sequence[str], query: str, *, reader: str | None, limit: int) -> Answer | None:
    """The rows of *query*, or None when the short way can't answer it; raises what the console raises for a bad query."""
    columns = _columns(query) if reader in (None, registry.NATIVE) and files.STDIN not in paths else None
    if columns is None:
        return None
    with Workplace() as folder:
        found = [file for file in files.find(paths, Path(folder)) if file.head]
        if not found or not all(_is_plain_native(file) for file in found):
            return None
        large = sum(file.path.stat().st_size for file in found) > database.IN_MEMORY_BYTES
        with duckdb.connect(f"{folder}/lines" if large else ":memory:", config=_config(folder)) as con:
            con.execute("set timezone = 'UTC'")
            con.execute("pragma disable_checkpoint_on_shutdown")
            con.execute(statement("macros"))
            asked = _Asked(con, columns, Path(folder))
            damaged = _show_steps(asked, found)
            if damaged is None:
                return None
            # The index is open already, and the query gets no further.
            console.close_doors(con)
            try:
                return Answer(console.run(con, query, limit=limit), damaged)
            except TracekitError as error:
                # Such as one that needs more memory than there is here.
                if error.code == "sql.failed":
                    return None
                raise


def _config(folder: str) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "memory_limit": f"{MEMORY_LIMIT_MB}MB",
        "temp_directory": folder,
    }


def _is_plain_native(file: InputFile) -> bool:
    chosen = registry.choose(file)
    return chosen is not None and chosen.name == registry.NATIVE and not files.packed(file.path)


def _columns(query: str) -> frozenset[str] | None:
    """The columns of `steps` that *query* names, with those that tell steps apart; None where it asks for more than we can give."""
    # Naming the tables of a statement plans it, and planning an export makes its folder.
    with duckdb.connect() as con:
        console.close_doors(con)
        console.check(con, query)
        try:
            words = named(con, query) if con.get_table_names(query) == {"steps"} else None
        except duckdb.Error:
            return None
    if words is None or words & _IN_ORDER:
        return None
    return (words & COLUMNS) | {"trace_id", "step_id"}


def _show_steps(asked: _Asked, found: Sequence[InputFile]) -> int | None:
    """Make the relation `steps` and count the damage of the logs; None where the long way has to be gone."""
    try:
        if len(found) == 1:
            damaged = _by_index(asked, found[0])
            if damaged is not None:
                return damaged
        reading = Narrow(asked.con, asked.columns, asked.folder, Damage())
        if not reading.read(found):
            return None
        reading.show()
    except duckdb.Error:
        return None
    return reading.damage.bad_count


def _by_index(asked: _Asked, log: InputFile) -> int | None:
    """Make `steps` of the index of *log*, which is made when it is missing; None when there is none for these columns."""
    if not index.holds(asked.columns) or log.path.stat().st_size < index.WORTH_BYTES:
        return None
    found = index.find(log.path, asked.columns)
    damaged = None if found is None else _show_index(asked, log, found)
    if damaged is None:
        # Steps that were open when the index was made may have gone on: only the whole log says how.
        found = _make_index(asked, log)
        damaged = None if found is None else _show_index(asked, log, found)
    return damaged


def _show_index(asked: _Asked, log: InputFile, found: index.Index) -> int | None:
    """Make `steps` of an index and of what stands behind its end; None when they can't be put together."""
    newer = InputFile(asked.folder / "newer.jsonl", log.name, b"")
    if not _copy_newer(log.path, found.covered_bytes, newer.path):
        return None
    con, held = asked.con, ", ".join(found.columns)
    con.execute("detach database if exists log_index")
    con.execute(f"attach {index.quoted(found.path)} as log_index (read_only)")
    if newer.path.stat().st_size == 0:
        con.execute(f"create or replace view steps as select {held} from log_index.steps")
        return found.damaged
    reading = Narrow(con, found.columns, asked.folder, Damage())
    if not reading.read([newer]):
        return None
    reading.show("newer_steps")
    both = "select exists (select 1 from newer_steps join log_index.steps using (trace_id, step_id))"
    if con.execute(both).fetchall()[0][0]:
        return None
    con.execute(
        f"create or replace view steps as select {held} from log_index.steps union all select {held} from newer_steps"
    )
    return found.damaged + reading.damage.bad_count


def _make_index(asked: _Asked, log: InputFile) -> index.Index | None:
    """Make the index of *log*, with the columns that it had before; None where it can't be made."""
    with log.path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) != b"\n":
            return None
    columns = {*asked.columns, *index.columns_before(log.path)}
    kept = tuple(name for name in index.KEPT if name in columns)
    reading = Narrow(asked.con, kept, asked.folder, Damage())

    def fill(table: str) -> int | None:
        if not reading.read([log]):
            return None
        reading.show("whole_steps")
        asked.con.execute(f"create table {table} as select {', '.join(kept)} from whole_steps")
        return reading.damage.bad_count

    return index.make(asked.con, log.path, kept, fill)


def _copy_newer(log: Path, start: int, target: Path) -> bool:
    """Copy what stands in *log* from *start* on; False when it ends in the middle of a line."""
    with log.open("rb") as stream, target.open("wb") as out:
        stream.seek(start)
        last = b"\n"
        while chunk := stream.read(1 << 20):
            out.write(chunk)
            last = chunk[-1:]
    return last == b"\n"
