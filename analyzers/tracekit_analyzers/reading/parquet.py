"""A Parquet file as input: its rows are taken as JSON lines, which any reader may then know."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers.relations import statement

_MAGIC = b"PAR1"
_OF_STEPS = frozenset(("trace_id", "step_id", "input", "output_text", "context_digest"))
"""Columns by which the relation `steps` is known, as `tracekit convert ... steps.parquet` writes it."""


def unpacked(path: Path, spool: Path) -> Path:
    """
    *path* itself, or for a Parquet file one in *spool* with its rows as JSON lines.

    Raises:
        TracekitError: `input.unreadable`: it begins like Parquet and is none.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                return path
    except OSError:
        return path  # Whoever reads it says so.
    target = spool / f"parquet-{sha256(str(path.absolute()).encode()).hexdigest()[:12]}.jsonl"
    try:
        with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as con:
            con.execute("set timezone = 'UTC'")
            con.execute(f"create temp view stored as select * from read_parquet({_quoted(path)})")
            columns = {str(row[0]) for row in con.execute("describe stored").fetchall()}
            rows = statement("steps_as_records") if columns >= _OF_STEPS else "select * from stored"
            con.execute(f"copy ({rows}) to {_quoted(target)} (format json)")
    except duckdb.Error as error:
        raise TracekitError("input.unreadable", f"expected a Parquet file in {path}, but: {error}") from error
    return target


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
