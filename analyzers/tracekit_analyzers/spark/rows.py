"""The rows that travel between executors: lines of the log as text, with their bucket and their place in the whole log."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import tracekit
from tracekit.errors import TracekitError
from tracekit_analyzers import database
from tracekit_analyzers.relations import statement

BATCH_ROWS = 2_000
DAMAGE, COUNTED, CONTEXT = "tracekit.damage", "tracekit.counted", "tracekit.context"
"""What `record` is in rows that are no lines: a bad piece, how many lines were looked at, a context of another trace."""

_ON_DISK = database.IN_MEMORY_BYTES + 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may use on its executor."""

    memory_mb: int
    threads: int
    version: str = tracekit.__version__
    """Of the driver; executors have to have the same."""


def line_columns() -> tuple[str, ...]:
    """Columns of `lines`, in their order."""
    with duckdb.connect() as con:
        con.execute(statement("lines_table"))
        return tuple(row[0] for row in con.execute("describe lines").fetchall())


def ddl(columns: Sequence[str]) -> str:
    """The schema of travelling lines as Spark writes it."""
    return "bucket int, n bigint, " + ", ".join(f"`{name}` string" for name in columns)


def schema(columns: Sequence[str]) -> Any:
    """The same as Arrow writes it."""
    texts = [(name, pa.string()) for name in columns]
    return pa.schema([("bucket", pa.int32()), ("n", pa.int64()), *texts])


@contextmanager
def scratch(limits: Limits) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """An empty analysis database in a folder of its own, within *limits*; on disk, so that a large trace has room."""
    if limits.version != tracekit.__version__:
        raise TracekitError(
            "spark.other_version",
            f"the driver has tracekit {limits.version}, this executor {tracekit.__version__}: install the same on both",
        )
    with tempfile.TemporaryDirectory(prefix="tracekit-") as name:
        con = database.connect(Path(name), _ON_DISK, memory_mb=limits.memory_mb)
        con.execute(f"set threads = {int(limits.threads)}")
        try:
            yield con, Path(name)
        finally:
            con.close()


def out(con: duckdb.DuckDBPyConnection, sql: str, form: Any) -> Iterator[Any]:
    """The rows of *sql* as Arrow batches of schema *form*."""
    answer: Any = con.execute(sql).to_arrow_reader(BATCH_ROWS)
    for batch in answer:
        if batch.num_rows:
            yield batch.cast(form)


def insert(
    con: duckdb.DuckDBPyConnection, table: str, batches: Iterable[Any], columns: Sequence[str]
) -> None:
    """Add the *columns* of Arrow *batches* to *table*."""
    names = ", ".join(f'"{name}"' for name in columns)
    for batch in batches:
        if batch.num_rows:
            con.register("arrived", pa.Table.from_batches([batch]))
            con.execute(f"insert into {table} ({names}) select {names} from arrived")
            con.unregister("arrived")


def take_in(
    con: duckdb.DuckDBPyConnection, batches: Iterable[Any], columns: Sequence[str], more: Iterable[Any] = ()
) -> None:
    """
    Fill `lines` with what arrived, in the order of the log; `line_places` says where each of them stands in it.

    Args:
        con: A database as `scratch` makes it.
        batches: Lines that travelled, of one bucket, in any order.
        columns: Columns of `lines` that they have.
        more: Further lines, known to the driver.
    """
    texts = ", ".join(f'"{name}" varchar' for name in columns)
    con.execute(f"create table staged (n bigint, {texts})")
    insert(con, "staged", batches, ("n", *columns))
    insert(con, "staged", more, ("n", *columns))
    names = ", ".join(f'"{name}"' for name in columns)
    chosen = f"from staged where record <> '{CONTEXT}' order by n"
    con.execute(f"insert into lines ({names}) select {names} {chosen}")
    con.execute(f"create table line_places as select n {chosen}")
    if "message" in columns:
        con.execute(
            "insert into log.contexts_elsewhere select distinct hash, cast(cast(message as json) as varchar[]) "
            f"from staged where record = '{CONTEXT}'"
        )
    con.execute("drop table staged")
