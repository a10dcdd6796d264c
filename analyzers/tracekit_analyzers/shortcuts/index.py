"""
The index beside a large log: the columns that queries have named so far, folded to one row for each step.

`LOG.tracekit-index` is written by the first query, so that later ones answer in a fifth of a second. It holds nothing
that the log does not hold, belongs to its writer alone (0600), may be deleted at any time, and is made anew when it does
not fit the log. What was written to the log since then is read beside it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb

SUFFIX = ".tracekit-index"
SHAPE = "2"
"""Changes whenever an index of before can't be used any more."""
WORTH_BYTES = 32 << 20
"""Smaller logs are read again in no time."""
MOST_GROWN = 64 << 20
"""With more than this behind its end, an index is made anew."""
_EDGE_BYTES = 64 << 10

KEPT = (
    "trace_id", "step_id", "parent_step_id", "task_id", "attempt", "kind", "name", "agent", "tool_name", "call_id", "status",
    "model", "finish_reason", "context_digest", "context_count", "context_complete", "context_tokens", "effect_risk", "effect_key",
    "effect_status", "effect_idempotent", "checkpoint", "tries", "reinfers", "error_type", "error_message", "input_tokens",
    "output_tokens", "cost", "started_at", "finished_at", "duration_ms", "process_id", "pid", "file",
)  # fmt: skip
"""Columns of `steps` that an index may hold: those of one word or number. Long texts stay in the log."""
Fill = Callable[[str], int | None]
"""Makes the table named by its argument and returns how many damaged pieces the log has; None when it can't."""


@dataclass(frozen=True, slots=True)
class Index:
    """A usable index of one log."""

    path: Path
    columns: tuple[str, ...]
    covered_bytes: int
    damaged: int
    """Damaged pieces of the log."""


def holds(columns: Collection[str]) -> bool:
    """Whether an index may hold all *columns*."""
    return set(columns) <= set(KEPT)


def path_of(log: Path) -> Path:
    """Where the index of *log* stands."""
    return log.with_name(log.name + SUFFIX)


def find(log: Path, columns: Iterable[str]) -> Index | None:
    """The index of *log*, if there is one that fits the log as it is now and holds *columns*."""
    path = path_of(log)
    row = _about(path, "shape, engine, bytes, modified_ns, edges, columns, damaged")
    if row is None or row[0] != SHAPE or row[1] != duckdb.__version__:
        return None
    now = log.stat()
    covered, modified_ns, held = int(row[2]), int(row[3]), tuple(row[5])
    unchanged = now.st_size == covered and now.st_mtime_ns == modified_ns
    grown = covered < now.st_size <= covered + MOST_GROWN
    if not (unchanged or grown) or edges(log, covered) != row[4] or not set(columns) <= set(held):
        return None
    return Index(path, held, covered, int(row[6]))


def columns_before(log: Path) -> tuple[str, ...]:
    """Columns that the index of *log* holds, whether it still fits or not: they will be asked for again."""
    row = _about(path_of(log), "shape, columns")
    return tuple(row[1]) if row and row[0] == SHAPE else ()


def _about(path: Path, columns: str) -> tuple[Any, ...] | None:
    """What the index at *path* says of itself; None when there is none that we wrote."""
    if not _is_ours(path):
        return None
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as con:
            return con.execute(f"select {columns} from about").fetchone()
    except duckdb.Error:
        return None


def _is_ours(path: Path) -> bool:
    """Whether *path* is a file that only this user can have written: others may write into the folder of a log too."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def make(con: duckdb.DuckDBPyConnection, log: Path, columns: tuple[str, ...], fill: Fill) -> Index | None:
    """
    Write the index of *log* by *fill*; None where it can't be written (a folder that may only be read, a full disk).

    The log must not end in the middle of a line.
    """
    before = log.stat()
    try:
        # A folder of our own hides the unfinished file from others until it has its mode.
        folder = Path(tempfile.mkdtemp(prefix=".tracekit-", dir=log.parent))
    except OSError:
        return None
    try:
        made = folder / "index"
        con.execute(f"attach {quoted(made)} as made_index")
        damaged = fill("made_index.steps")
        if damaged is None:
            con.execute("detach made_index")
            return None
        con.execute(
            "create table made_index.about as select ? as shape, ? as engine, ?::bigint as bytes, ?::bigint as modified_ns, "
            "? as edges, ?::varchar[] as columns, ?::bigint as damaged",
            [
                SHAPE,
                duckdb.__version__,
                before.st_size,
                before.st_mtime_ns,
                edges(log, before.st_size),
                list(columns),
                damaged,
            ],
        )
        con.execute("checkpoint made_index")
        con.execute("detach made_index")
        if log.stat().st_size < before.st_size:
            return None
        made.chmod(0o600)
        os.replace(made, path_of(log))
    except OSError:
        return None
    except duckdb.Error:
        con.execute("detach database if exists made_index")
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Index(path_of(log), columns, before.st_size, damaged)


def edges(log: Path, size: int) -> str:
    """A digest of the first bytes of *log* and of the last ones before *size*: logs only grow at their end."""
    with log.open("rb") as stream:
        first = stream.read(min(_EDGE_BYTES, size))
        stream.seek(max(0, size - _EDGE_BYTES))
        last = stream.read(min(_EDGE_BYTES, size))
    return sha256(first + b"\0" + last).hexdigest()


def quoted(path: Path) -> str:
    """The path as a literal of SQL."""
    return "'" + str(path).replace("'", "''") + "'"
