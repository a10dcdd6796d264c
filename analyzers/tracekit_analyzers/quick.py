"""
The short way for a query that needs nothing but `steps` of clean native files: asked of the files themselves.

Nothing is copied, so the first answer over a gigabyte takes about a second. Whatever the short way can't answer exactly
(damage, other formats, other relations, numbering within a trace) is left to the long one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers import console, files, index, registry
from tracekit_analyzers.ingest import holds_no_json_numbers
from tracekit_analyzers.model import InputFile
from tracekit_analyzers.relations import statement
from tracekit_analyzers.views import Table

MEMORY_LIMIT_MB = 512
_LINE_LIMIT = 8 << 20
"""The engine keeps buffers of twice this size for each thread; longer lines are for the long way."""

_NEEDS_ORDER = re.compile(
    r"\b(seq|line|record_index|trace_index|bucket|first_n|last_n|columns)\b|(?<!count\()\*", re.IGNORECASE
)
_COLUMNS = (
    "parent_step_id", "task_id", "attempt", "kind", "name", "agent", "tool_name", "call_id", "status", "input", "output",
    "raw", "model", "finish_reason", "context", "asked", "depends_on", "effect", "checkpoint", "tries", "reinfers",
    "error_type", "error_message", "error_stack", "usage", "tokens", "process_id", "pid", "attributes", "file", "source",
)  # fmt: skip


def answer(paths: Sequence[str], query: str, *, reader: str | None, limit: int) -> Table | None:
    """The rows of *query*, or None when the short way can't answer it; raises what the console raises for a bad query."""
    if reader not in (None, registry.NATIVE) or files.STDIN in paths or _NEEDS_ORDER.search(query):
        return None
    with TemporaryDirectory(prefix="tracekit-") as folder:
        found = [file for file in files.find(paths, Path(folder)) if file.head]
        if not found or not all(_is_clean_native(file) for file in found):
            return None
        with duckdb.connect(config=_config(folder)) as con:
            if not _reads_steps_only(con, query):
                return None
            con.execute("set timezone = 'UTC'")
            con.execute(statement("macros"))
            names = [str(file.path) for file in found]
            if len(names) == 1:
                indexed = _by_index(con, Path(names[0]), Path(folder), query, limit)
                if indexed is not None:
                    return indexed
            _prepare(con, names)
            _close_doors(con, names)
            return _answer(con, names, query, limit)


def _config(folder: str) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "memory_limit": f"{MEMORY_LIMIT_MB}MB",
        "temp_directory": folder,
        "preserve_insertion_order": "false",
    }


def _is_clean_native(file: InputFile) -> bool:
    chosen = registry.choose(file)
    return chosen is not None and chosen.name == registry.NATIVE and not files.packed(file.path)


def _reads_steps_only(con: duckdb.DuckDBPyConnection, query: str) -> bool:
    try:
        return con.get_table_names(query) == {"steps"}
    except duckdb.Error:
        return False


def _by_index(
    con: duckdb.DuckDBPyConnection, log: Path, folder: Path, query: str, limit: int
) -> Table | None:
    """The rows by way of the index of *log*, which is made when it is missing; None when there is none for this query."""
    columns = index.wanted(query)
    if columns is None or log.stat().st_size < index.WORTH_BYTES:
        return None
    found = index.find(log, columns) or _make_index(con, log, columns)
    newer = folder / "newer.jsonl"
    if found is not None and not _show_index(con, log, found, newer):
        # Steps that were open then have gone on: only the whole log says how. If it goes on meanwhile, so be it.
        _forget(con)
        found = _make_index(con, log, found.columns)
        if found is not None and not _show_index(con, log, found, newer):
            found = None
    if found is None:
        _forget(con)
        return None
    _close_doors(con, [str(newer), str(found.path)])
    return _answer(con, [str(newer)], query, limit)


def _show_index(con: duckdb.DuckDBPyConnection, log: Path, found: index.Index, newer: Path) -> bool:
    """Make the view `steps` of an index and of what stands behind its end; False when they can't be put together."""
    if not _copy_newer(log, found.covered_bytes, newer):
        return False
    held = ", ".join(found.columns)
    con.execute(f"attach {_listed([str(found.path)])} as log_index (read_only)")
    if newer.stat().st_size == 0:
        con.execute(f"create view steps as select {held} from log_index.steps")
        return True
    _prepare(con, [str(newer)], shown_as=str(log))
    con.execute("alter view steps rename to newer_steps")
    both = "select exists (select 1 from newer_steps join log_index.steps using (trace_id, step_id))"
    if _answered(con, both):
        return False
    con.execute(
        f"create view steps as select {held} from log_index.steps union all select {held} from newer_steps"
    )
    return True


def _forget(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("steps", "newer_steps", "folded", "said"):
        con.execute(f"drop view if exists {name}")
    con.execute("detach database if exists log_index")


def _answered(con: duckdb.DuckDBPyConnection, query: str) -> bool:
    row = con.execute(query).fetchone()
    return bool(row and row[0])


def _make_index(con: duckdb.DuckDBPyConnection, log: Path, columns: tuple[str, ...]) -> index.Index | None:
    """Make the index of *log*, with the columns that it had before; None when the log is not clean."""
    kept = tuple(name for name in index.KEPT if name in {*columns, *index.columns_before(log)})
    with log.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) != b"\n":
            return None

    def fill(con: duckdb.DuckDBPyConnection, table: str, listed: str) -> None:
        _prepare(con, [str(log)])
        con.execute(f"create table {table} as select {listed} from steps")

    with ThreadPoolExecutor(1) as pool:
        suspicious = pool.submit(holds_no_json_numbers, log)
        made = index.make(con, log, kept, fill)
        if suspicious.result():
            index.path_of(log).unlink(missing_ok=True)
            made = None
    _forget(con)
    return made


def _copy_newer(log: Path, start: int, target: Path) -> bool:
    """Copy what stands in *log* from *start* on; False when it ends in the middle of a line."""
    with log.open("rb") as stream, target.open("wb") as out:
        stream.seek(start)
        last = b"\n"
        while chunk := stream.read(1 << 20):
            out.write(chunk)
            last = chunk[-1:]
    return last == b"\n"


def _listed(names: list[str]) -> str:
    return ", ".join("'" + name.replace("'", "''") + "'" for name in names)


def _close_doors(con: duckdb.DuckDBPyConnection, names: list[str]) -> None:
    """From here on a query reaches nothing of the machine but the files *names*."""
    con.execute(f"set allowed_paths = [{_listed(names)}]")
    con.execute("set enable_external_access = false")


def _prepare(con: duckdb.DuckDBPyConnection, names: list[str], *, shown_as: str | None = None) -> None:
    """Make the view `steps` over *names*; *shown_as* is the name of the file in its rows where that is another."""
    listed = _listed(names)
    con.execute(f"create view said as {_lines(listed)}")
    folded = ", ".join(f"{_last_of(name)} as {name}" for name in _COLUMNS)
    con.execute(statement("quick_folded").replace("{columns}", folded))
    # The columns of a step are those of the long way: the last select of its statement.
    last_select = statement("steps").rpartition("\n)\n")[2].replace("$bucket", "0")
    last_select = last_select.replace(" left join log.files using (file)", "").replace(
        "files.first_n", "null"
    )
    # Times are read only for the steps whose duration is not told: reading them for all costs more than the rest.
    for name in ("started_at", "finished_at"):
        last_select = last_select.replace(f"epoch_us({name})", f"epoch_us(as_time(said_{name}))")
    if shown_as is not None:
        last_select = last_select.replace("\n  file, ", f"\n  {_listed([shown_as])} as file, ", 1)
    con.execute(f"create view steps as {last_select}")


def _last_of(column: str) -> str:
    """What the lines of a step say in *column*, the later ones before the earlier."""
    if column == "attributes":
        return "laid_in_order(nothing_as_null(attributes), n)"
    return f"arg_max({column}, n)"


def _lines(listed: str) -> str:
    """The reading part of `lines.sql` with its columns named as in `lines`."""
    select = statement("lines").partition("insert into lines\n")[2]
    select = select.replace("$files", f"[{listed}]").replace("$line_limit", str(_LINE_LIMIT))
    select = select.replace(" end), event,", " end) as record, event,", 1)
    return select.replace(
        "coalesce(source ->> '$.file', filename)", "coalesce(source ->> '$.file', filename) as file"
    )


def _answer(con: duckdb.DuckDBPyConnection, names: list[str], query: str, limit: int) -> Table | None:
    """Ask, while another thread looks for what the engine would let pass; None when anything is not as it should be."""
    with ThreadPoolExecutor(1) as pool:
        suspicious = pool.submit(lambda: any(holds_no_json_numbers(Path(name)) for name in names))
        try:
            table = console.run(con, query, limit=limit)
        except TracekitError as error:
            if error.code == "sql.failed":
                return None
            raise
        return None if suspicious.result() else table
