"""
The short way for a query that needs nothing but `steps` of clean native files: asked of the files themselves.

Nothing is copied, so the first answer over a gigabyte takes about a second. Whatever the short way can't answer exactly
(damage, other formats, other relations, numbering within a trace) is left to the long one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers import console, files, registry
from tracekit_analyzers.ingest import holds_no_json_numbers
from tracekit_analyzers.model import InputFile
from tracekit_analyzers.relations import statement
from tracekit_analyzers.views import Table

MEMORY_LIMIT_MB = 512
_LINE_LIMIT = 16 << 20
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
        names = [str(file.path) for file in found]
        with duckdb.connect(config=_config(folder)) as con:
            if not _reads_steps_only(con, query):
                return None
            _prepare(con, names)
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


def _prepare(con: duckdb.DuckDBPyConnection, names: list[str]) -> None:
    """Make the view `steps` over *names*, and close the door to everything else of the machine."""
    con.execute("set timezone = 'UTC'")
    con.execute(statement("macros"))
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    con.execute(f"create view said as {_lines(listed)}")
    folded = ", ".join(f"arg_max({name}, n) as {name}" for name in _COLUMNS)
    con.execute(statement("quick_folded").replace("{columns}", folded))
    # The columns of a step are those of the long way: the last select of its statement.
    last_select = statement("steps").rpartition("\n)\n")[2].replace("$buckets", "1")
    last_select = last_select.replace(" left join log.files using (file)", "").replace(
        "files.first_n", "null"
    )
    # Times are read only for the steps whose duration is not told: reading them for all costs more than the rest.
    for name in ("started_at", "finished_at"):
        last_select = last_select.replace(f"epoch_us({name})", f"epoch_us(as_time(said_{name}))")
    con.execute(f"create view steps as {last_select}")
    con.execute(f"set allowed_paths = [{listed}]")
    con.execute("set enable_external_access = false")


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
