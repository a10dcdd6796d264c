"""The rows that travel between executors, and the analysis database of one task that they go into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import tracekit
from tracekit.errors import TracekitError
from tracekit_analyzers.reading import database
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import statement
from tracekit_analyzers.spark import parcels, troubles

BATCH_ROWS = 2_000

LINES, CALLS, MESSAGE, CONTEXT = "lines", "calls", "message", "context"
"""
What a row with a bucket is: a parcel of lines; of the same lines what the facts about tools need; where one message
stands; a context, of a step of the log or, handed to another bucket, whole.
"""

PROCESS, DAMAGE, COUNTED = "process", "damage", "counted"
"""What a row without a bucket is: a parcel of lines of processes; a bad piece; how many lines were looked at."""

DDL = "what string, bucket int, n bigint, at bigint, file string, hash string, text string, parcel binary"
"""
One row: `n` is the place of its (first) line in the whole log, `at` that of the parcel in which the line stands.

Lines go in parcels, since each value that passes through Java, in and out of its rows, costs more than what is done
with it. Java sees only what it has to join.
"""

FORM = pa.schema(
    [
        ("what", pa.string()),
        ("bucket", pa.int32()),
        ("n", pa.int64()),
        ("at", pa.int64()),
        ("file", pa.string()),
        ("hash", pa.string()),
        ("text", pa.string()),
        ("parcel", pa.binary()),
    ]
)

_ON_DISK = database.IN_MEMORY_BYTES + 1
_STAGED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may use on its executor."""

    memory_mb: int
    threads: int
    version: str = tracekit.__version__
    """Of the driver; executors have to have the same."""


def travelling(what: str, count: int, **columns: Any) -> Any:
    """*count* rows of `FORM`: a column is an Arrow array, one value for all rows, or not given."""
    arrays = [
        _column(columns.get(field.name, what if field.name == "what" else None), field.type, count)
        for field in FORM
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=FORM)


def _column(value: Any, kind: Any, count: int) -> Any:
    if isinstance(value, pa.Array):
        return value.cast(kind)
    if isinstance(value, pa.ChunkedArray):
        return value.combine_chunks().cast(kind)
    return pa.repeat(pa.scalar(value, kind), count)


def line_columns() -> tuple[str, ...]:
    """Columns of `lines`, in their order."""
    with duckdb.connect() as con:
        con.execute(statement("lines_table"))
        return tuple(row[0] for row in con.execute("describe lines").fetchall())


def schema(columns: Sequence[str]) -> Any:
    """Lines with their bucket and place, as Arrow writes it."""
    texts = [(name, pa.string()) for name in columns]
    return pa.schema([("bucket", pa.int32()), ("n", pa.int64()), *texts])


@contextmanager
def scratch(limits: Limits) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """An empty analysis database in a folder of its own, within *limits*; on disk, so that a large trace has room."""
    with troubles.carried(limits.memory_mb), Workplace() as name:
        if limits.version != tracekit.__version__:
            raise TracekitError(
                "spark.other_version",
                f"the driver has tracekit {limits.version}, an executor {tracekit.__version__}: install the same on both",
            )
        con = database.connect(Path(name), _ON_DISK, memory_mb=limits.memory_mb)
        con.execute(f"set threads = {int(limits.threads)}")
        try:
            yield con, Path(name)
        finally:
            con.close()


def out(con: duckdb.DuckDBPyConnection, sql: str, form: Any) -> Iterator[Any]:
    """The rows of *sql* as Arrow batches of schema *form*."""
    answer: Any = con.sql(sql).to_arrow_reader(BATCH_ROWS)
    for batch in answer:
        if batch.num_rows:
            yield batch.cast(form)


def insert(con: duckdb.DuckDBPyConnection, table: str, arrived: Iterable[bytes]) -> None:
    """Add the rows of the parcels that *arrived* to *table*, which has their columns."""
    held: list[Any] = []
    for parcel in arrived:
        held.append(parcels.unpacked(parcel))
        if sum(some.nbytes for some in held) >= _STAGED_BYTES:
            _insert(con, table, held)
            held = []
    if held:
        _insert(con, table, held)


def _insert(con: duckdb.DuckDBPyConnection, table: str, held: list[Any]) -> None:
    rows = pa.concat_tables(held, promote_options="default")
    names = ", ".join(f'"{name}"' for name in rows.column_names)
    con.register("arrived", rows)
    con.execute(f"insert into {table} ({names}) select {names} from arrived")
    con.unregister("arrived")


def take_in(con: duckdb.DuckDBPyConnection, arrived: Iterable[bytes], columns: Sequence[str]) -> None:
    """
    Fill `lines` with what arrived, in the order of the log; `line_places` says where each of them stands in it.

    Args:
        con: A database as `scratch` makes it.
        arrived: Parcels of lines of one bucket, in any order.
        columns: Columns of `lines` that they may have.
    """
    texts = ", ".join(f'"{name}" varchar' for name in columns)
    con.execute(f"create table staged (n bigint, {texts})")
    insert(con, "staged", arrived)
    names = ", ".join(f'"{name}"' for name in columns)
    con.execute(f"insert into lines ({names}) select {names} from staged order by n")
    con.execute("create table line_places as select n from staged order by n")
    con.execute("drop table staged")
