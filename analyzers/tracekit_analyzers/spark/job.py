"""The analysis as the driver sees it: which files, how many buckets, and what is learned before the buckets are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import orjson

from tracekit.errors import TracekitError
from tracekit_analyzers.model import BadLine, TraceVerdict
from tracekit_analyzers.reading import database, fold
from tracekit_analyzers.reading.damage import MAX_LISTED
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import facts
from tracekit_analyzers.reports.result import Result
from tracekit_analyzers.spark import handing, judging, reading, rows, verdict_rows
from tracekit_analyzers.spark.inputs import Inputs, LogFile, find, for_spark, key_of
from tracekit_analyzers.spark.watch import Watch
from tracekit_analyzers.verdicts.judging import Judge, is_open, opinion_on

BUCKET_BYTES = 96 << 20
"""Bytes of the log in one bucket: what one task folds and judges."""

_SMALL_BUCKET_BYTES = 4 << 20
_BATCH_BYTES = 64 << 20
"""Bytes that pass from Java to Python at once: thousands of parcels would not fit."""


class Job:
    """One analysis on *spark* (a `SparkSession`)."""

    def __init__(self, spark: Any, watch: Watch, limits: rows.Limits, *, reader: str | None = None) -> None:
        self._spark, self._watch, self._limits, self._reader = spark, watch, limits, reader
        self._columns = rows.line_columns()

    def run(self, paths: Sequence[str], judge: Judge | None = None) -> Result:
        """The same result as that of one machine; raises `TracekitError("input.*")`."""
        inputs = find(paths, self._spark, self._reader)
        if not inputs.files:
            return Result((), 0, (), 0, inputs.skipped)
        self._buckets = self._how_many(inputs)
        with self._settled(), ExitStack() as held:
            lines = _held(self._lines(inputs), held)
            with self._watch.stage("reading"):
                told = lines.where("bucket is null").collect()
            _all_read(inputs, told)
            known = self._known(lines, told, for_judge=judge is not None)
            verdicts = self._verdicts(lines, known, judge, held)
        counted, bad, bad_count = _damage(told)
        lost = sum(piece.lost for piece in bad)
        return Result(verdicts, counted, bad, bad_count, inputs.skipped, lost=lost)

    def _how_many(self, inputs: Inputs) -> int:
        size = sum(file.size for file in inputs.files)
        parallel: int = self._spark.sparkContext.defaultParallelism
        return max(1, -(-size // BUCKET_BYTES), min(parallel, -(-size // _SMALL_BUCKET_BYTES)))

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """
        Context with the settings that the analysis rests on; those of the session come back afterwards.

        Pieces are counted in one pass and read in another: both have to be cut alike, however many executors there are.
        """
        parallel: int = self._spark.sparkContext.defaultParallelism
        wanted = {
            "spark.sql.files.minPartitionNum": str(parallel),
            "spark.sql.shuffle.partitions": str(max(self._buckets, parallel)),
            "spark.sql.execution.arrow.maxRecordsPerBatch": str(rows.BATCH_ROWS),
            "spark.sql.execution.arrow.maxBytesPerBatch": str(_BATCH_BYTES),
        }
        before = {name: self._spark.conf.get(name, None) for name in wanted}
        for name, value in wanted.items():
            self._spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    self._spark.conf.unset(name)
                else:
                    self._spark.conf.set(name, value)

    def _lines(self, inputs: Inputs) -> Any:
        files = {key_of(file.uri): file for file in inputs.files}
        split = [file for file in inputs.files if file.splittable]
        whole = [file for file in inputs.files if not file.splittable]
        pieces = self._pieces(split) if split else None
        starts = self._starts(pieces, split) if split else {}
        plan = reading.Plan(files, starts, self._buckets, self._columns, self._limits)
        shared = self._spark.sparkContext.broadcast(plan)
        frames = []
        if pieces is not None:
            frames.append(pieces.mapInArrow(reading.splits(shared), rows.DDL))
        if whole:
            source = self._spark.read.format("binaryFile").load([for_spark(file.uri) for file in whole])
            frames.append(source.select("path", "content").mapInArrow(reading.whole_files(shared), rows.DDL))
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
        _none_missing(sorted(boms.keys() - {row[0] for row in found}))
        starts: dict[tuple[str, int], reading.Start] = {}
        before: tuple[str, int, int] = ("", 0, 0)
        for key, start, lines, size in found:
            if key != before[0]:
                before = (key, 0, 0)
            starts[key, start] = reading.Start(before[1], before[2])
            before = (key, before[1] + lines, before[2] + size + (boms[key] if before[1] == 0 else 0))
        return starts

    def _known(self, lines: Any, told: Sequence[Any], *, for_judge: bool) -> judging.Known:
        processes = tuple(bytes(row.parcel) for row in told if row.what == rows.PROCESS)
        return judging.Known(
            columns=self._columns,
            facts=self._facts(lines),
            processes=processes,
            alive=self._alive(processes),
            lost=tuple((piece.file, piece.lost) for piece in _bad(told) if piece.reason.startswith("lost: ")),
            limits=self._limits,
            for_judge=for_judge,
        )

    def _facts(self, lines: Any) -> tuple[facts.Fact, ...]:
        calls = self._by_bucket(lines.where(f"what = '{rows.CALLS}'"))
        steps = calls.applyInArrow(judging.tool_steps(self._limits), rows.DDL)
        learned = steps.groupBy("bucket").applyInArrow(judging.tool_facts(self._limits), judging.FACTS)
        with self._watch.stage("learning about tools"):
            return tuple(sorted(tuple(row) for row in learned.collect()))

    def _by_bucket(self, lines: Any) -> Any:
        return lines.repartitionById(self._buckets, "bucket").groupBy("bucket")

    def _verdicts(
        self, lines: Any, known: judging.Known, judge: Judge | None, held: ExitStack
    ) -> tuple[TraceVerdict, ...]:
        with self._watch.stage("following contexts"):
            needed = _held(handing.needs(lines, self._limits), held)
            handed = handing.handed(lines, needed)
        everything = lines.where(f"what = '{rows.LINES}'").unionByName(handed)
        shared = self._spark.sparkContext.broadcast(known)
        judged = self._by_bucket(everything).applyInArrow(judging.verdicts(shared), verdict_rows.DDL)
        with self._watch.stage("diagnosing"):
            kept = _held(judged, held)
            kept.count()
        ordered = kept.orderBy("n", "place").toLocalIterator()
        runs = verdict_rows.unpacked((row.n, row.place, row.text) for row in ordered)
        # A judge is asked here: in the order of the log, once for each run, with whatever it holds or counts.
        return tuple(
            opinion_on(judge, verdict, tuple(steps)) if judge is not None and is_open(verdict) else verdict
            for verdict, steps in runs
        )

    def _alive(self, processes: tuple[bytes, ...]) -> tuple[str, ...]:
        """Processes that hold the lock on their file, as far as this machine can see them."""
        with Workplace() as folder:
            con: duckdb.DuckDBPyConnection = database.connect(Path(folder), 0)
            rows.take_in(con, processes, self._columns)
            alive = fold.processes(con)
            con.close()
        return tuple(alive)


def _held(frame: Any, held: ExitStack) -> Any:
    """*frame*, kept on the disks of the executors until *held* ends."""
    from pyspark import StorageLevel

    held.callback(frame.unpersist)
    return frame.persist(StorageLevel.DISK_ONLY)


def _all_read(inputs: Inputs, told: Sequence[Any]) -> None:
    numbers = {reading.file_of(row.n) for row in told if row.what == rows.COUNTED}
    _none_missing([file.name for file in inputs.files if file.number not in numbers])


def _none_missing(names: list[str]) -> None:
    if names:
        raise TracekitError(
            "input.unreadable",
            f"Spark passed over {names[0]} and {len(names) - 1} more: it reads no file whose name begins with _ or .",
        )


def _bad(told: Sequence[Any]) -> list[BadLine]:
    """Bad pieces in the order in which one machine meets them."""
    damaged = sorted((row for row in told if row.what == rows.DAMAGE), key=lambda row: row.n)
    return [BadLine(**orjson.loads(row.text)) for row in damaged]


def _damage(told: Sequence[Any]) -> tuple[int, tuple[BadLine, ...], int]:
    """Lines looked at, bad pieces in the order of one machine's report, and how many there are."""
    counted = [orjson.loads(row.text) for row in told if row.what == rows.COUNTED]
    listed = sorted(
        _bad(told)[:MAX_LISTED],
        key=lambda piece: (piece.file, piece.line or 0, piece.offset or 0, piece.reason),
    )
    return sum(lines for lines, _ in counted), tuple(listed), sum(bad for _, bad in counted)
