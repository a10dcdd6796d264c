"""The analysis as the driver sees it: which files, how many buckets, and what is learned before the buckets are judged."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from tracekit.errors import TracekitError
from tracekit_analyzers import database, facts, fold
from tracekit_analyzers.damage import MAX_LISTED
from tracekit_analyzers.model import BadLine
from tracekit_analyzers.reports.result import Result
from tracekit_analyzers.spark import handing, judging, reading, rows
from tracekit_analyzers.spark.inputs import Inputs, LogFile, find, for_spark, key_of
from tracekit_analyzers.spark.watch import Watch

BUCKET_BYTES = 96 << 20
"""Bytes of the log in one bucket: what one task folds and judges."""

_SMALL_BUCKET_BYTES = 4 << 20
_FACT_PARTS = 32


class Job:
    """One analysis on *spark* (a `SparkSession`)."""

    def __init__(self, spark: Any, watch: Watch, limits: rows.Limits, *, reader: str | None = None) -> None:
        self._spark, self._watch, self._limits, self._reader = spark, watch, limits, reader
        self._columns = rows.line_columns()

    def run(self, paths: Sequence[str]) -> Result:
        """The same result as that of one machine; raises `TracekitError("input.*")`."""
        inputs = find(paths, self._spark, self._reader)
        if not inputs.files:
            return Result((), 0, (), 0, inputs.skipped)
        self._buckets = self._how_many(inputs)
        self._settle()
        lines = self._lines(inputs).persist(_disk())
        with self._watch.stage("reading"):
            told = lines.where("bucket is null").collect()
        processes = [row for row in told if row["record"] == "process"]
        counted, bad, bad_count = _damage(told)
        known = judging.Known(
            self._columns,
            self._facts(lines),
            self._packed(processes),
            self._alive(processes),
            tuple((piece.file, piece.lost) for piece in bad if piece.reason.startswith("lost: ")),
            self._limits,
        )
        verdicts = self._verdicts(lines, known)
        lines.unpersist()
        lost = sum(piece.lost for piece in bad)
        return Result(verdicts, counted, bad, bad_count, inputs.skipped, lost=lost)

    def _how_many(self, inputs: Inputs) -> int:
        size = sum(file.size for file in inputs.files)
        parallel: int = self._spark.sparkContext.defaultParallelism
        return max(1, -(-size // BUCKET_BYTES), min(parallel, -(-size // _SMALL_BUCKET_BYTES)))

    def _settle(self) -> None:
        """Pieces are counted in one pass and read in another: both have to be cut alike, however many executors there are."""
        parallel: int = self._spark.sparkContext.defaultParallelism
        self._spark.conf.set("spark.sql.files.minPartitionNum", str(parallel))
        self._spark.conf.set("spark.sql.shuffle.partitions", str(max(self._buckets, parallel)))

    def _lines(self, inputs: Inputs) -> Any:
        files = {key_of(file.uri): file for file in inputs.files}
        split = [file for file in inputs.files if file.splittable]
        whole = [file for file in inputs.files if not file.splittable]
        pieces = self._pieces(split) if split else None
        starts = self._starts(pieces, split) if split else {}
        plan = reading.Plan(files, starts, self._buckets, self._columns, self._limits)
        shared, form = self._spark.sparkContext.broadcast(plan), rows.ddl(self._columns)
        frames = []
        if pieces is not None:
            frames.append(pieces.mapInArrow(reading.splits(shared), form))
        if whole:
            source = self._spark.read.format("binaryFile").load([for_spark(file.uri) for file in whole])
            frames.append(source.select("path", "content").mapInArrow(reading.whole_files(shared), form))
        return frames[0] if len(frames) == 1 else frames[0].union(frames[1])

    def _pieces(self, files: list[LogFile]) -> Any:
        from pyspark.sql import functions as f

        text = self._spark.read.option("lineSep", "\n").text([for_spark(file.uri) for file in files])
        return text.select(
            f.col("_metadata.file_path").alias("path"),
            f.col("_metadata.file_block_start").alias("start"),
            f.col("value").cast("binary").alias("value"),
        )

    def _starts(self, pieces: Any, files: list[LogFile]) -> dict[tuple[str, int], reading.Start]:
        """How many lines and bytes stand before each piece that Spark cuts."""
        from pyspark.sql import functions as f

        counted = pieces.groupBy("path", "start").agg(
            f.count(f.lit(1)).alias("lines"), f.sum(f.octet_length("value") + 1).alias("bytes")
        )
        with self._watch.stage("counting"):
            found = sorted((key_of(row.path), row.start, row.lines, row.bytes) for row in counted.collect())
        boms = {key_of(file.uri): 3 if file.bom else 0 for file in files}
        missing = sorted(boms.keys() - {row[0] for row in found})
        if missing:
            raise TracekitError(
                "input.unreadable",
                f"Spark passed over {missing[0]} and {len(missing) - 1} more: it reads no file whose name begins with _ or .",
            )
        starts: dict[tuple[str, int], reading.Start] = {}
        before: tuple[str, int, int] = ("", 0, 0)
        for key, start, lines, size in found:
            if key != before[0]:
                before = (key, 0, 0)
            starts[key, start] = reading.Start(before[1], before[2])
            before = (key, before[1] + lines, before[2] + size + (boms[key] if before[1] == 0 else 0))
        return starts

    def _facts(self, lines: Any) -> tuple[facts.Fact, ...]:
        from pyspark.sql import functions as f

        narrow = lines.where("record = 'step'").select(
            "bucket", "n", *(_shortened(name, f) for name in judging.FOR_FACTS)
        )
        steps = self._by_bucket(narrow).applyInArrow(judging.tool_steps(self._limits), judging.TOOL_STEPS)
        parts = steps.withColumn("part", f.pmod(f.hash("tool_name"), f.lit(_FACT_PARTS)))
        learned = parts.groupBy("part").applyInArrow(judging.tool_facts(self._limits), judging.FACTS)
        with self._watch.stage("learning about tools"):
            return tuple(sorted(tuple(row) for row in learned.collect()))

    def _by_bucket(self, lines: Any) -> Any:
        return lines.repartitionById(self._buckets, "bucket").groupBy("bucket")

    def _verdicts(self, lines: Any, known: judging.Known) -> tuple[Any, ...]:
        home = lines.where("bucket is not null").select(
            "bucket", "n", *(f"`{name}`" for name in self._columns)
        )
        everything = home.unionByName(handing.handed(lines, self._limits, self._columns))
        shared = self._spark.sparkContext.broadcast(known)
        judged = self._by_bucket(everything).applyInArrow(judging.verdicts(shared), judging.VERDICTS)
        kept = judged.persist(_disk())
        with self._watch.stage("diagnosing"):
            kept.count()
        found = sorted((row.n, row.verdict) for row in kept.toLocalIterator())
        return tuple(pickle.loads(verdict) for _, verdict in found)

    def _packed(self, processes: Sequence[Any]) -> bytes:
        form = rows.schema(self._columns)
        table = pa.Table.from_pylist([row.asDict() for row in processes], schema=form)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, form) as stream:
            stream.write_table(table)
        return bytes(sink.getvalue())

    def _alive(self, processes: Sequence[Any]) -> tuple[str, ...]:
        """Processes that hold the lock on their file, as far as this machine can see them."""
        with TemporaryDirectory(prefix="tracekit-") as folder:
            con: duckdb.DuckDBPyConnection = database.connect(Path(folder), 0)
            stream = pa.ipc.open_stream(self._packed(processes))
            rows.take_in(con, stream, self._columns)
            alive = fold.processes(con)
            con.close()
        return tuple(alive)


def _disk() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.DISK_ONLY


def _shortened(name: str, f: Any) -> Any:
    """A column for `tool_facts`: of answers and raw texts only whether there is one."""
    column = f.col(f"`{name}`")
    if name in ("output_snapshot", "asked", "model_raw_output"):
        return f.when(column.isNotNull() & (column != "null"), f.lit("true")).alias(name)
    return column


def _damage(told: Sequence[Any]) -> tuple[int, tuple[BadLine, ...], int]:
    """Lines looked at, bad pieces in the order of one machine, and how many there are."""
    counted = [row for row in told if row["record"] == rows.COUNTED]
    bad = [
        BadLine(**orjson.loads(row["message"]))
        for row in sorted((r for r in told if r["record"] == rows.DAMAGE), key=lambda r: r["n"])
    ]
    listed = sorted(
        bad[:MAX_LISTED], key=lambda piece: (piece.file, piece.line or 0, piece.offset or 0, piece.reason)
    )
    return (
        sum(int(row["count"]) for row in counted),
        tuple(listed),
        sum(int(row["reason"]) for row in counted),
    )
