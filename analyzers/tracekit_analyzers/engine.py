"""Files in, verdicts out: reads, makes the relations, runs the failure classes, and keeps whole traces together."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from tracekit_analyzers import database, facts, files
from tracekit_analyzers.damage import Damage
from tracekit_analyzers.diagnose import Diagnosing
from tracekit_analyzers.ingest import Ingest, Tell, nothing_read
from tracekit_analyzers.liveness import any_held
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.relate import Relations, store_verdicts
from tracekit_analyzers.relations import statement
from tracekit_analyzers.views import Progress

BUCKET_STEPS = 150_000
"""Traces are independent of each other: they are related and diagnosed in groups of about this many steps."""


def _word(field: str, said: str) -> str:
    """The damage code of a value that its field can't hold."""
    if field == "record":
        return "unknown_record"
    if said.lower().lstrip("-") in ("nan", "inf", "infinity"):
        return "not_finite"
    return "out_of_range" if said.lstrip("-").isdigit() else "wrong_type"


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
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        reader: str | None = None,
        tell: Tell = silent,
        diagnose: bool = True,
    ) -> None:
        self.paths = tuple(paths)
        self.damage = Damage()
        self.skipped: tuple[str, ...] = ()
        self.verdicts: dict[str, TraceVerdict] = {}
        self.buckets = 1
        self._reader, self._tell, self._diagnosing = reader, tell, diagnose
        self._folder = tempfile.TemporaryDirectory(prefix="tracekit-")
        self._con: duckdb.DuckDBPyConnection | None = None

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The connection; `load` has to have been called."""
        if self._con is None:
            raise RuntimeError("Engine.load() first")
        return self._con

    def load(self) -> None:
        """Read and diagnose everything; a second call does it afresh. Raises `TracekitError("input.*")`."""
        self._fresh()
        spool = Path(self._folder.name)
        found = files.find(self.paths, spool)
        size = sum(file.path.stat().st_size for file in found)
        self._con = database.connect(spool, size)
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
        self.verdicts = {verdict.trace_id: verdict for verdict in self._diagnose()}
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
            self._folder = tempfile.TemporaryDirectory(prefix="tracekit-")

    def _fold(self) -> None:
        """Lines to processes, steps and traces; the lines themselves are let go of."""
        self._tell_wrong_types()
        for name in ("processes", "message_lines"):
            self.con.execute(statement(name))
        self._test_liveness()
        count = self.con.execute("select count(*) from lines where record = 'step'").fetchone()
        self.buckets = max(1, -(-(count[0] if count else 0) // BUCKET_STEPS))
        for bucket in range(self.buckets):
            self._fold_steps(bucket)
        self.con.execute(statement("traces"))
        self.con.execute("drop table lines")
        facts.learn(self.con)

    def _fold_steps(self, bucket: int) -> None:
        chosen = {"bucket": None if self.buckets == 1 else bucket, "buckets": self.buckets}
        sql = statement("steps")
        if bucket > 0:
            sql = sql.replace("create or replace table log.steps as", "insert into log.steps")
        self.con.execute(sql, chosen)

    def _test_liveness(self) -> None:
        rows = self.con.execute("select process_id, files from processes where exited_at is null").fetchall()
        alive = [process_id for process_id, names in rows if any_held(names)]
        if alive:
            self.con.execute(
                "update processes set alive = true where process_id in (select unnest(?))", [alive]
            )

    def _tell_wrong_types(self) -> None:
        """Name values of a wrong type, and keep them as text in the step's attributes."""
        rows = self.con.execute(statement("wrong_types")).fetchmany(10_000)
        for n, file, source_line, counted_line, field, said in rows:
            line = source_line if source_line is not None else counted_line
            # A marker stands where the line itself was already told as damaged, or the recorder found no JSON.
            if not said.startswith('{"$tk"'):
                reason = f"{_word(field, said)} {field}: {said[:60]}"
                self.damage.bad(file=file, line=line, offset=None, reason=reason, data=said)
            if field != "record":
                self.con.execute(
                    "update lines set attributes = json_merge_patch(coalesce(attributes, '{}'::json), json_object(?, ?)) "
                    "where rowid = ?",
                    [f"tracekit.unread.{field}", said, n],
                )

    def _diagnose(self) -> Iterator[TraceVerdict]:
        relations = Relations(self.con, Path(self._folder.name), self.buckets)
        for bucket in range(self.buckets):
            relations.make(bucket)
            if self._diagnosing:
                yield from Diagnosing(self.con).verdicts()
            relations.keep(first=bucket == 0)
        relations.show_all()
