"""Lines of one bucket as one value, which Spark moves without a look inside: an Arrow stream of the columns that hold anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

PARCEL_BYTES = 4 << 20
"""Lines in one parcel, unless a single line is longer: a row of Spark stands whole in Java's memory."""

_SORTED_BYTES = 64 << 20
"""Lines that are held in memory to be sorted by bucket."""

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def packed(rows: Any) -> bytes:
    """The parcel of *rows* (an Arrow table)."""
    held = [name for name in rows.column_names if rows[name].null_count < rows.num_rows]
    some = rows.select(held).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, some.schema, options=_OPTIONS) as stream:
        stream.write_table(some)
    return bytes(sink.getvalue())


def unpacked(parcel: bytes) -> Any:
    """The rows of a parcel as an Arrow table."""
    with pa.ipc.open_stream(parcel) as stream:
        return stream.read_all()


def cut(batches: Iterable[Any], by: str) -> Iterator[tuple[int | None, Any]]:
    """
    The rows of *batches* as tables for one parcel each, which have one value of column *by*; with that value.

    Rows of one value keep their order, also from one table to the next.
    """
    held: list[Any] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _SORTED_BYTES:
            yield from _cut(held, by)
            held, size = [], 0
    if held:
        yield from _cut(held, by)


def _cut(held: list[Any], by: str) -> Iterator[tuple[int | None, Any]]:
    rows = pa.Table.from_batches(held)
    place = pa.array(range(rows.num_rows), pa.int64())
    keys = pa.table({"by": rows[by], "place": place})
    order = pc.sort_indices(keys, sort_keys=[("by", "ascending"), ("place", "ascending")])
    rows = rows.take(order).combine_chunks()
    at = 0
    # The values come in the order of their first rows, so one after the other.
    for counted in rows[by].value_counts().to_pylist():
        for piece in _small(rows.slice(at, counted["counts"])):
            yield counted["values"], piece
        at += counted["counts"]


def _small(rows: Any) -> Iterator[Any]:
    """*rows* halved until they are small enough for a parcel, or one."""
    if rows.nbytes <= PARCEL_BYTES or rows.num_rows == 1:
        yield rows
        return
    middle = rows.num_rows // 2
    yield from _small(rows.slice(0, middle))
    yield from _small(rows.slice(middle))
