"""The analysis of a log that may still be written: read at first use, read on as it grows, asked from any thread meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tracekit import clock
from tracekit_analyzers.asking import console
from tracekit_analyzers.engine import Engine, silent
from tracekit_analyzers.growing import increment
from tracekit_analyzers.growing.growth import MustReadAll, Watch
from tracekit_analyzers.growing.preview import Preview
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reading import database
from tracekit_analyzers.reading.liveness import any_held
from tracekit_analyzers.relations.contexts import Ask
from tracekit_analyzers.shortcuts.early import Early
from tracekit_analyzers.views import Progress

GROW_FROM_BYTES = 1 << 20
"""Smaller logs are read as a whole when they grow: it takes no longer."""
_WHOLE_SHARE = 0.02
"""Share of the time that whole readings may take while a log grows, so that in the end all is compared with all."""

Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """Where the questions about one trace go."""

    ask: Ask
    version: int
    is_early: bool
    """To its own lines alone: the whole log is still being read."""


class Following:
    """
    One engine after the other, each loaded behind the one that answers.

    Args:
        given: Files, folders, glob patterns, or `-`, as the user named them.
        reader: Name of the reader for all files, if one is forced.
        diagnose: False leaves the failure classes out.
        early_rows: Look at a large log before it is read, and keep memory small rather than the reading fast.
    """

    def __init__(
        self, given: tuple[str, ...], reader: str | None, *, diagnose: bool, early_rows: bool
    ) -> None:
        self.version = 0
        """Counts up whenever answers may differ from those before."""
        self._given, self._reader = given, reader
        self._diagnosing, self._early_rows = diagnose, early_rows
        self._early = Early()
        self._engine: Engine | None = None
        self._is_judged = False
        """False while the engine in use has its rows but no verdicts yet; only at the first reading."""
        self._watch = Watch(given, reader)
        self._compared_with_all = True
        """False when traces were judged beside a few others only, as new lines came in."""
        self._whole_s = self._whole_ended_s = 0.0
        """How long the last whole reading took, and when it was over."""
        self._loading = threading.RLock()
        """Held while files are read: one reading at a time."""
        self._lock = threading.RLock()
        """Held for a moment, to change or to use the engine: questions are answered from the old one meanwhile."""
        self._ready = threading.Event()
        """Set when there is an engine to ask, or the first reading has failed."""

    def load(self, tell: Tell) -> None:
        """Read what was not read yet, the new lines alone where that is certain; raises `TracekitError("input.*")`."""
        with self._loading:
            engine = self._engine
            if engine is None or self._whole_reading_is_due():
                self._read_all(tell)
                return
            try:
                self._read_new(engine, self._died(engine))
            except MustReadAll:
                self._read_all(tell)

    def _whole_reading_is_due(self) -> bool:
        """Whether enough time has passed for a whole reading, and one would tell more."""
        since_s = clock.current().monotonic_s() - self._whole_ended_s
        return not self._compared_with_all and self._whole_s < _WHOLE_SHARE * since_s

    def _died(self, engine: Engine) -> list[str]:
        """Processes that lived when the log was read last, and do not any more."""
        with engine.con.cursor() as cursor:
            rows = cursor.execute(
                "select process_id, files from processes where alive and exited_at is null"
            ).fetchall()
        return [name for name, files in rows if not any_held(files)]

    def _read_new(self, engine: Engine, died: Sequence[str]) -> None:
        """Take in what was written since the last reading; raises `MustReadAll` with nothing changed."""
        grown = self._watch.news()
        if not grown and not died:
            return
        if self._watch.bytes < GROW_FROM_BYTES or not self._diagnosing:
            raise MustReadAll("it is small")
        taken = increment.take(engine, self._watch, grown, died, engine.folder)
        with self._lock:
            engine.verdicts.update(taken.verdicts)
            self.version += 1
        self._watch.taken(grown)
        self._compared_with_all = self._compared_with_all and taken.compared_with_all

    def _read_all(self, tell: Tell) -> None:
        began_s = clock.current().monotonic_s()
        before = self._watch.look()
        if self._early_rows and self._engine is None and self._reader is None:
            self._early.look(self._given, tell)
        engine = Engine(
            self._given,
            reader=self._reader,
            tell=lambda said: self._told(engine, said, tell),
            diagnose=self._diagnosing,
            memory_mb=database.SCREEN_MEMORY_MB if self._early_rows else database.MEMORY_LIMIT_MB,
            places=True,
        )
        try:
            engine.load()
            console.close_doors(engine.con, folders=[str(engine.folder)])
        except BaseException:
            self._drop(engine)
            raise
        self._use(engine, is_judged=True)
        self._watch.all_read(before, engine.skipped)
        self._compared_with_all = True
        self._whole_ended_s = clock.current().monotonic_s()
        self._whole_s = self._whole_ended_s - began_s

    def _told(self, engine: Engine, said: Progress, tell: Tell) -> None:
        if said.stage == "diagnosing" and self._engine is None:
            # The first reading: its rows are shown while it is being judged.
            self._use(engine, is_judged=False)
        tell(said)

    def _use(self, engine: Engine, *, is_judged: bool) -> None:
        with self._lock:
            old, self._engine, self._is_judged = self._engine, engine, is_judged
            self.version += 1
            if old is not None and old is not engine:
                old.close()
            self._early.end_rows()
        if is_judged:
            self._early.end()
        self._ready.set()

    def _drop(self, engine: Engine) -> None:
        """The reading has failed: who waits for its end is let go, what was read before still answers."""
        with self._lock:
            if self._engine is engine:
                self._engine = None
        engine.close()
        self._ready.set()

    @property
    def engine(self) -> Engine:
        """The engine in use; loads it at first use."""
        self.wait_for_rows()
        found = self._engine
        if found is None:
            self.load(silent)
            found = self._engine
        assert found is not None  # load() sets it or raises
        return found

    def wait_for_rows(self) -> None:
        """Return when there is an engine to ask, or the reading has failed; loads it at first use."""
        if self._engine is None and self._loading.acquire(blocking=False):
            try:
                self.load(silent)
            finally:
                self._loading.release()
        self._ready.wait()

    def wait_for_verdicts(self) -> None:
        """Return when the engine in use has its verdicts; loads it at first use."""
        if not self._is_judged:
            self.load(silent)

    def verdicts(self) -> tuple[int, tuple[TraceVerdict, ...]]:
        """All verdicts, and the version that they are of."""
        self.wait_for_verdicts()
        engine = self.engine
        with self._lock:
            return self.version, tuple((self._engine or engine).verdicts.values())

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of its own for the caller, who closes it."""
        engine = self.engine
        with self._lock:
            return (self._engine or engine).con.cursor()

    def ask(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of a query over the relations."""
        with self.cursor() as cursor:
            return cursor.execute(sql, parameters).fetchall()

    def ask_early(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of a query over the list of traces: what the first look says, as long as there is nothing better."""
        found = self._early.rows(sql, parameters)
        return self.ask(sql, parameters) if found is None else found

    def steps_of(self, trace_id: str) -> Asked:
        """Where to ask for the steps of a trace, as soon as these can be told."""
        early = self._early.trace(trace_id, self._files_of) if self._engine is None else None
        if early is None:
            self.wait_for_rows()
        return self._asked(early)

    def relations_of(self, trace_id: str) -> Asked:
        """The same for what rests on calls and messages too: these are put together after the steps."""
        early = self._early.trace(trace_id, self._files_of)
        if early is None:
            self.wait_for_verdicts()
        return self._asked(early)

    def _asked(self, early: Preview | None) -> Asked:
        return Asked(self.ask if early is None else early.ask, self.version, early is not None)

    def _files_of(self, trace_id: str) -> Sequence[tuple[Path, str]]:
        """Path and name of each file that tells of a trace, during the first reading."""
        seen = self._early.files_of(trace_id)
        if seen is not None:
            return seen
        told = self.ask("select distinct file from log.steps where trace_id = ? order by file", (trace_id,))
        paths = {name: path for path, (name, _) in self._watch.look().items()}
        return [(paths[name], name) for (name,) in told if name in paths]

    def close(self) -> None:
        """Let go of the database and its temporary files."""
        self._early.end()
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
