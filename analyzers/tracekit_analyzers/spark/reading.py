"""What an executor does with files: the ingestion of one machine over a piece of a file, and its lines sent on their way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tracekit_analyzers.engine import silent
from tracekit_analyzers.model import InputFile
from tracekit_analyzers.reading import fold, parquet
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.files import head
from tracekit_analyzers.reading.ingest import Ingest
from tracekit_analyzers.spark import parcels, rows
from tracekit_analyzers.spark.inputs import LogFile, key_of
from tracekit_analyzers.spark.judging import for_facts

_FILE_BITS = 40
"""A line's place in the whole log is the number of its file and, below it, at least its byte in the file."""

_BOM = b"\xef\xbb\xbf"
Lines = list[bytes]


@dataclass(frozen=True, slots=True)
class Start:
    """What stands in a file before one of its pieces."""

    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What executors have to know to read pieces of files."""

    files: Mapping[str, LogFile]
    """By key of their path."""
    starts: Mapping[tuple[str, int], Start]
    """By key and byte at which Spark begins a piece."""
    buckets: int
    columns: tuple[str, ...]
    limits: rows.Limits


def splits(plan: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task that reads pieces of native files; its input has `path`, `start` and `value` (a line) in the order of the file."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        known: Plan = plan.value
        runs = (run for batch in batches for run in _runs(batch))
        for (path, start), group in groupby(runs, key=itemgetter(0)):
            file = known.files[key_of(path)]
            begin = known.starts[key_of(path), start]
            yield from _read(known, file, begin, (lines for _, lines in group))

    return read


def whole_files(plan: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task that reads whole files in any format; its input has `path` and `content`."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        known: Plan = plan.value
        for batch in batches:
            for path, content in zip(batch.column(0), batch.column(1), strict=True):
                file = known.files[key_of(path.as_py())]
                yield from _read(known, file, Start(0, 0), iter([[content.as_py()]]), whole=True)

    return read


def _runs(batch: Any) -> Iterator[tuple[tuple[str, int], Lines]]:
    """The lines of a batch, by the piece that they belong to."""
    if not batch.num_rows:
        return
    paths, starts, values = batch.columns
    last = batch.num_rows - 1
    if paths[0] == paths[last] and starts[0] == starts[last]:
        yield (paths[0].as_py(), starts[0].as_py()), values.to_pylist()
        return
    marks = zip(paths.to_pylist(), starts.to_pylist(), values.to_pylist(), strict=True)
    for mark, group in groupby(marks, key=itemgetter(0, 1)):
        yield mark, [line for _, _, line in group]


def _read(
    plan: Plan, file: LogFile, begin: Start, pieces: Iterator[Lines], *, whole: bool = False
) -> Iterator[Any]:
    with rows.scratch(plan.limits) as (con, folder):
        # Formats are told by content and by name: the copy keeps the name.
        (folder / "in").mkdir()
        path = folder / "in" / Path(file.name).name
        _spool(path, pieces, bom=file.bom and begin.bytes == 0 and not whole, whole=whole)
        path = parquet.unpacked(path, folder) if whole else path
        damage = Damage()
        piece = InputFile(path, file.name, head(path), begin.lines, begin.bytes)
        Ingest(con, damage, folder, reader=file.reader, tell=silent).add([piece])
        fold.settle_lines(con, damage)
        leaving = rows.out(con, _leaving(plan, file, begin), rows.schema(plan.columns))
        for bucket, lines in parcels.cut(leaving, "bucket"):
            yield from _rows(bucket, lines.drop_columns(["bucket"]))
        yield from _told(damage, file, begin)


def _rows(bucket: int | None, lines: Any) -> Iterator[Any]:
    """What leaves for *lines* of one bucket, or of processes: see `rows`."""
    at = lines["n"][0].as_py()
    parcel = parcels.packed(lines)
    if bucket is None:
        yield rows.travelling(rows.PROCESS, 1, n=at, parcel=parcel)
        return
    yield rows.travelling(rows.LINES, 1, bucket=bucket, n=at, at=at, parcel=parcel)
    calls = for_facts(lines)
    if calls.num_rows:
        yield rows.travelling(rows.CALLS, 1, bucket=bucket, n=at, at=at, parcel=parcels.packed(calls))
    said = lines.filter(pc.and_(pc.equal(lines["record"], "message"), pc.is_valid(lines["hash"])))
    if said.num_rows:
        yield rows.travelling(
            rows.MESSAGE,
            said.num_rows,
            bucket=bucket,
            n=said["n"],
            at=at,
            file=said["file"],
            hash=said["hash"],
        )
    sent = lines.filter(pc.and_(pc.equal(lines["record"], "step"), pc.is_valid(lines["context"])))
    if sent.num_rows:
        yield rows.travelling(
            rows.CONTEXT,
            sent.num_rows,
            bucket=bucket,
            n=sent["n"],
            at=at,
            file=sent["file"],
            text=sent["context"],
        )


def _spool(path: Path, pieces: Iterator[Lines], *, bom: bool, whole: bool) -> None:
    with path.open("wb", buffering=1 << 20) as target:
        if bom:
            target.write(_BOM)
        for lines in pieces:
            target.write(b"\n".join(lines))
            if not whole:
                target.write(b"\n")


def _leaving(plan: Plan, file: LogFile, begin: Start) -> str:
    """The lines with bucket, place and, in `source`, the line of the file."""
    names = [f'cast(l."{name}" as varchar) as "{name}"' for name in plan.columns if name != "source"]
    at = plan.columns.index("source")
    names.insert(
        at,
        "cast(case when f.first_n is null or l.source ->> '$.line' is not null then l.source else json_merge_patch("
        "coalesce(l.source, '{}'::json), json_object('line', l.rowid - f.first_n + 1)) end as varchar) as source",
    )
    # Salted, so that another cut by the plain hash of a trace is independent of this one.
    return (
        f"select cast(case when l.record <> 'process' then hash('spark' || l.trace_id) % {plan.buckets} end as integer) as bucket, "
        f"{place(file.number, begin.bytes)} + l.rowid as n, {', '.join(names)} "
        "from lines l left join log.files f using (file) where l.record in ('step', 'message', 'process')"
    )


def place(number: int, byte: int) -> int:
    """Where a piece that begins at *byte* of file *number* stands in the whole log."""
    return (number << _FILE_BITS) + byte


def file_of(n: int) -> int:
    """The number of the file in which the line at *n* stands."""
    return n >> _FILE_BITS


def _told(damage: Damage, file: LogFile, begin: Start) -> Iterator[Any]:
    """How many lines of a piece were looked at, and what was damaged in it."""
    at = place(file.number, begin.bytes)
    counted = orjson.dumps([damage.lines, damage.bad_count]).decode()
    yield rows.travelling(rows.COUNTED, 1, n=at, text=counted)
    bad = [orjson.dumps(piece).decode() for piece in damage.listed()]
    if bad:
        yield rows.travelling(rows.DAMAGE, len(bad), n=at, text=pa.array(bad, pa.string()))
