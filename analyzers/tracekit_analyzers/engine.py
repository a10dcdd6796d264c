"""Files in, verdicts out: reads, makes the relations, runs the failure classes, and keeps whole traces together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reading import database, files, fold
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.ingest import Ingest, Tell, nothing_read
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import facts, statement
from tracekit_analyzers.relations.relate import Relations, store_verdicts
from tracekit_analyzers.verdicts.diagnose import Diagnosing
from tracekit_analyzers.views import Progress


def silent(_: Progress) -> None:
    """Tell nobody."""


class Engine:
    """
    One analysis of a set of files; `con` holds the relations of relations/README.md after `load`.

    Args:
        paths: Files, folders, glob patterns, or `-`.
        reader: Name of the reader for all files; by default each file is asked which format it is.
        tell: Called as reading goes on.
        diagnose: False leaves the failure classes out: the relations alone.
        memory_mb: What the query engine may take; with less, the work is cut into smaller pieces.
        places: Keep where each line stands (`log.places`), so that what is written later can be taken in by itself.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        reader: str | None = None,
        tell: Tell = silent,
        diagnose: bool = True,
        memory_mb: int = database.MEMORY_LIMIT_MB,
        places: bool = False,
    ) -> None:
        self.paths = tuple(paths)
        self.damage = Damage()
        self.skipped: tuple[str, ...] = ()
        self.verdicts: dict[str, TraceVerdict] = {}
        self.buckets = 1
        self._memory_mb, self._places = memory_mb, places
        self._reader, self._tell, self._diagnosing = reader, tell, diagnose
        self._folder = Workplace()
        self._con: duckdb.DuckDBPyConnection | None = None

    @property
    def folder(self) -> Path:
        """Where temporary files of this analysis stand."""
        return Path(self._folder.name)

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The connection; `load` has to have been called."""
        if self._con is None:
            raise RuntimeError("Engine.load() first")
        return self._con

    def load(self) -> None:
        """Read and diagnose everything; a second call does it afresh. Raises `TracekitError("input.*")`."""
        try:
            self._load()
        except duckdb.OutOfMemoryException as error:
            raise TracekitError(
                "input.too_large",
                f"one trace of the log has more values than can be related within {self._memory_mb} MB; read its file by "
                "itself with `tracekit sql`, or leave it out",
            ) from error

    def _load(self) -> None:
        self._fresh()
        spool = Path(self._folder.name)
        found = files.find(self.paths, spool)
        size = sum(file.path.stat().st_size for file in found)
        self._con = database.connect(spool, size, memory_mb=self._memory_mb)
        ingest = Ingest(self.con, self.damage, spool, reader=self._reader, tell=self._tell)
        ingest.add(found)
        self.skipped = tuple(ingest.skipped)
        if len(self.skipped) == len(found) and not all(file.head == b"" for file in found):
            raise nothing_read(found, self.skipped)
        self._tell(Progress("", size, size, "relations"))
        self._fold()
        # Rows without verdicts first: a person looks at them while the rest goes on.
        store_verdicts(self.con, spool, ())
        self.con.execute(statement("trace_rows"))
        self._tell(Progress("", size, size, "diagnosing"))
        self.verdicts = self._in_log_order({verdict.trace_id: verdict for verdict in self._diagnose()})
        store_verdicts(self.con, Path(self._folder.name), self.verdicts.values())
        self.con.execute(statement("trace_rows"))
        self._tell(Progress("", size, size, "done"))

    def close(self) -> None:
        """Let go of the database and its temporary files."""
        if self._con is not None:
            self._con.close()
            self._con = None
        self._folder.cleanup()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fresh(self) -> None:
        self.damage = Damage()
        self.verdicts = {}
        if self._con is not None:
            self._con.close()
            self._con = None
            self._folder.cleanup()
            self._folder = Workplace()

    def _fold(self) -> None:
        """Lines to processes, steps and traces; the lines themselves are let go of."""
        fold.settle_lines(self.con, self.damage)
        if self._places:
            self.con.execute(statement("places"))
            self.con.execute(statement("spans"))
        fold.processes(self.con)
        self.buckets = fold.steps_and_traces(self.con)
        facts.learn(self.con)

    def _in_log_order(self, verdicts: dict[str, TraceVerdict]) -> dict[str, TraceVerdict]:
        """The same verdicts; traces whose lines lie far apart come in a bucket of their own, out of their order."""
        if self.buckets == 1:
            return verdicts
        rows = self.con.execute("select trace_id from log.traces order by first_n").fetchall()
        return {trace_id: verdicts[trace_id] for (trace_id,) in rows if trace_id in verdicts}

    def _diagnose(self) -> Iterator[TraceVerdict]:
        return judged(self.con, Path(self._folder.name), self.buckets, diagnose=self._diagnosing)


def judged(
    con: duckdb.DuckDBPyConnection, folder: Path, buckets: int, *, diagnose: bool = True
) -> Iterator[TraceVerdict]:
    """The verdicts over all traces, bucket by bucket; when the last one is out, the relations show all traces."""
    relations = Relations(con, folder, buckets)
    for bucket in range(buckets):
        relations.make(bucket)
        if diagnose:
            yield from Diagnosing(con).verdicts()
        relations.keep(first=bucket == 0)
    relations.show_all()
