"""The answers to everything that a screen or a report asks of an analysis (`views.Analysis`)."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from tracekit_analyzers.asking import console, filtering, rows, tree
from tracekit_analyzers.engine import Engine, silent
from tracekit_analyzers.growing import increment
from tracekit_analyzers.growing.growth import MustReadAll, Watch
from tracekit_analyzers.growing.preview import Preview
from tracekit_analyzers.model import BadLine, Diagnosis, Resumable, TraceVerdict
from tracekit_analyzers.reading import database
from tracekit_analyzers.reading.liveness import any_held
from tracekit_analyzers.relations import relate, statement
from tracekit_analyzers.relations.contexts import Ask
from tracekit_analyzers.shortcuts.glance import Glance
from tracekit_analyzers.verdicts.alignment import AlignStep
from tracekit_analyzers.verdicts.groups import Group, Grouped, grouped
from tracekit_analyzers.views import (
    MessageLine,
    OriginLine,
    Page,
    Progress,
    StepDetail,
    StepLine,
    Table,
    TraceRow,
)

GROW_FROM_BYTES = 1 << 20
"""Smaller logs are read as a whole when they grow: it takes no longer."""
TREES = 8
"""Trees of traces that are kept; one of 30,000 steps takes some 10 MB."""
NOT_READ_YET = "(this message has not been read yet)"
PREVIEWS = 3
"""Traces that are kept open by their own lines, while the log is being read."""
_WHOLE_SHARE = 0.02
"""Share of the time that whole readings may take while a log grows, so that in the end all is compared with all."""


class Session:
    """
    An analysis of *paths* that can be asked from any thread.

    Args:
        paths: Files, folders, glob patterns, or `-`.
        reader: Name of the reader to use for all files; by default each file is asked which format it is.
        diagnose: False leaves the failure classes out, for those who only query.
        early_rows: For screens: rows of the list of traces come from a first look, while reading goes on behind it
            (told as the stage `rows`), and memory is kept small rather than the reading fast.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        reader: str | None = None,
        *,
        diagnose: bool = True,
        early_rows: bool = False,
    ) -> None:
        self.paths: Sequence[Path] = tuple(Path(path) for path in paths)
        self.version = 0
        self._given = tuple(str(path) for path in paths)
        self._reader, self._diagnosing = reader, diagnose
        self._early_rows = early_rows
        self._engine: Engine | None = None
        self._glance: Glance | None = None
        """Answers for the list of traces before there is an engine."""
        self._previews: OrderedDict[str, Preview] = OrderedDict()
        """Traces that were opened before there is an engine."""
        self._previewing = threading.Lock()
        self._large = False
        """Whether there was something to see at a first look."""
        self._watch = Watch(self._given, reader)
        self._compared_with_all = True
        """False when traces were judged beside a few others only, as new lines came in."""
        self._whole_s = self._whole_ended = 0.0
        """How long the last whole reading took, and when (`time.monotonic`) it was over."""
        self._loading = threading.RLock()
        """Held while files are read: one reading at a time."""
        self._lock = threading.RLock()
        """Held for a moment, to change or to use the engine: questions are answered from the old one meanwhile."""
        self._ready = threading.Event()
        """Set when there is an engine to ask, or the first reading has failed."""
        self._diagnosed = False
        """False while the engine in use has its rows but no verdicts yet; only at the first reading."""
        self._trees: OrderedDict[tuple[str, bool], tuple[object, tuple[tree.Place, ...]]] = OrderedDict()
        self._groups: list[tuple[Grouped, ...]] = []
        """Made of the verdicts in use when first asked for; another list as soon as there are other verdicts."""

    def load(self, progress: Callable[[Progress], None] | None = None) -> None:
        """
        Read, relate and diagnose; called again, it reads only what was written since.

        Of files that only grew the new lines alone are read, and the traces that they touch are judged anew. A whole
        reading takes place where that would not be certain, and now and then to compare all calls of a tool with all.

        Raises:
            TracekitError: `input.missing`, `input.unreadable`, `input.no_reader`.
        """
        with self._loading:
            engine = self._engine
            if engine is None or self._reading_is_due():
                self._read_all(progress or silent)
                return
            try:
                self._read_new(engine, self._died(engine))
            except MustReadAll:
                self._read_all(progress or silent)

    def _reading_is_due(self) -> bool:
        """Whether enough time has passed for a whole reading, and one would tell more."""
        since = time.monotonic() - self._whole_ended
        return not self._compared_with_all and self._whole_s < _WHOLE_SHARE * since

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
            self._trees.clear()
            self.version += 1
            self._groups = []
        self._watch.taken(grown)
        self._compared_with_all = self._compared_with_all and taken.compared_with_all

    def _read_all(self, tell: Callable[[Progress], None]) -> None:
        began = time.monotonic()
        before = self._watch.look()
        self._look_early(tell)
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
            self._close_doors(engine)
        except BaseException:
            with self._lock:
                self._engine = None if self._engine is engine else self._engine
            engine.close()
            self._ready.set()
            raise
        self._use(engine, diagnosed=True)
        self._watch.all_read(before, engine.skipped)
        self._compared_with_all = True
        self._whole_ended = time.monotonic()
        self._whole_s = self._whole_ended - began

    def _close_doors(self, engine: Engine) -> None:
        """From here on a query reaches no file but those of the analysis itself, and changes no setting."""
        folder = str(engine.folder).replace("'", "''")
        engine.con.execute(f"set allowed_directories = ['{folder}']")
        engine.con.execute("set enable_external_access = false")
        engine.con.execute("set lock_configuration = true")

    def _look_early(self, tell: Callable[[Progress], None]) -> None:
        """Before the first reading of a large log: rows from a first look at it."""
        if not self._early_rows or self._engine is not None or self._reader is not None:
            return
        glance = Glance()
        for _ in glance.looks(self._given):
            self._glance, self._large = glance, True
            tell(Progress("", 0, 0, "rows"))
        if self._glance is None:
            glance.close()

    def _end_glance(self) -> None:
        if self._glance is not None:
            self._glance.close()
            self._glance = None

    def _preview(self, trace_id: str) -> Preview | None:
        """The trace by its own lines, as long as a large log is read for the first time; None when that is over."""
        with self._previewing:
            if self._diagnosed or not self._large:
                return None
            if trace_id not in self._previews:
                made = Preview(trace_id, self._files_of(trace_id))
                if not made.found or self._diagnosed:
                    made.close()
                    return None
                self._previews[trace_id] = made
                if len(self._previews) > PREVIEWS:
                    self._previews.popitem(last=False)[1].close()
            self._previews.move_to_end(trace_id)
            return self._previews[trace_id]

    def _files_of(self, trace_id: str) -> list[tuple[Path, str]]:
        """Path and name of each file that tells of a trace, during the first reading."""
        glance = self._glance if self._engine is None else None
        if glance is not None:
            return glance.files_of(trace_id)
        told = self._ask("select distinct file from log.steps where trace_id = ? order by file", (trace_id,))
        paths = {name: path for path, (name, _) in self._watch.look().items()}
        return [(paths[name], name) for (name,) in told if name in paths]

    def _end_previews(self) -> None:
        with self._previewing:
            while self._previews:
                self._previews.popitem()[1].close()

    def _from(self, trace_id: str) -> tuple[object, Ask]:
        """Where the steps of the trace are asked for, and how."""
        preview = self._preview(trace_id) if self._engine is None else None
        return (self.engine, self._ask) if preview is None else (preview, preview.ask)

    def _from_related(self, trace_id: str) -> tuple[object, Ask]:
        """The same for what rests on calls and messages too: these are put together after the steps."""
        preview = self._preview(trace_id)
        if preview is not None:
            return preview, preview.ask
        self._wait_for_verdicts()
        return self.engine, self._ask

    def _told(self, engine: Engine, said: Progress, tell: Callable[[Progress], None]) -> None:
        if said.stage == "diagnosing" and self._engine is None:
            # The first reading: its rows are shown while it is being judged.
            self._use(engine, diagnosed=False)
        tell(said)

    def _use(self, engine: Engine, *, diagnosed: bool) -> None:
        with self._lock:
            old, self._engine, self._diagnosed = self._engine, engine, diagnosed
            self._trees.clear()
            self._groups = []
            self.version += 1
            if old is not None and old is not engine:
                old.close()
            self._end_glance()
        if diagnosed:
            self._end_previews()
        self._ready.set()

    def _wait_for_verdicts(self) -> None:
        """Return when the engine in use has its verdicts; loads it at first use."""
        if not self._diagnosed:
            self.load()

    @property
    def engine(self) -> Engine:
        """The loaded analysis; loads it at first use."""
        if self._engine is None and self._loading.acquire(blocking=False):
            try:
                self.load()
            finally:
                self._loading.release()
        self._ready.wait()
        found = self._engine
        if found is None:
            self.load()
            found = self._engine
        assert found is not None  # load() sets it or raises
        return found

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        engine = self.engine
        with self._lock:
            return (self._engine or engine).con.cursor()

    def _ask(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        cursor = self._cursor()
        try:
            return cursor.execute(sql, parameters).fetchall()
        finally:
            cursor.close()

    def _ask_early(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """What the first look says, as long as there is nothing better."""
        glance = self._glance if self._engine is None else None
        found = glance.ask(sql, parameters) if glance is not None else None
        return self._ask(sql, parameters) if found is None else found

    def traces(
        self,
        *,
        filter: str = "",
        sort: str = "-started_at",
        errors_only: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> Page[TraceRow]:
        """Traces by page; raises `TracekitError("filter.syntax")` for a filter or column that does not exist."""
        where = filtering.condition(filter, self._members)
        chosen = f"({where.sql})" + (
            " and (t.code is not null or t.status in ('error', 'killed'))" if errors_only else ""
        )
        order = rows.order(sort)
        # Terms of a filter look into steps, which only the reading itself knows.
        ask = self._ask if filter else self._ask_early
        counted = ask(
            f"select count(*), count(*) filter ({'where ' + chosen}) from log.trace_rows t", where.parameters
        )
        found = ask(
            f"select {rows.TRACE_COLUMNS} from log.trace_rows t where {chosen} order by {order}, t.first_n limit ? offset ?",
            (*where.parameters, limit, offset),
        )
        return Page(tuple(map(rows.trace_row, found)), offset, counted[0][1], counted[0][0])

    def trace(self, trace_id: str) -> TraceRow | None:
        """One trace, by the beginning of its id, by its task or by its name, where no other has the same."""
        whole = self._whole_id(trace_id)
        _, ask = self._from(whole)
        found = ask(f"select {rows.TRACE_COLUMNS} from log.trace_rows t where trace_id = ?", (whole,))
        return rows.trace_row(found[0]) if found else None

    def _whole_id(self, trace_id: str) -> str:
        """The id of the one trace that *trace_id* is the id, a beginning of it, the task or the name of; else itself."""
        found = self._ask_early(
            "select trace_id from log.trace_rows where starts_with(trace_id, ?) or task_id = ? or (task_id is null and name = ?) "
            "order by trace_id <> ?, trace_id limit 2",
            (trace_id, trace_id, trace_id, trace_id),
        )
        exact = bool(found) and found[0][0] == trace_id
        return str(found[0][0]) if exact or len(found) == 1 else trace_id

    def steps(
        self, trace_id: str, *, errors_only: bool = False, offset: int = 0, limit: int = 200
    ) -> Page[StepLine]:
        """Steps in the order of the tree, depth first, siblings by start."""
        trace_id = self._whole_id(trace_id)
        source, ask = self._from(trace_id)
        places = self._tree(source, ask, trace_id, errors_only)
        page = places[offset : offset + limit]
        lines = _lines(ask, trace_id, page)
        unfiltered = len(self._tree(source, ask, trace_id, False)) if errors_only else len(places)
        return Page(lines, offset, len(places), unfiltered)

    def _tree(self, source: object, ask: Ask, trace_id: str, errors_only: bool) -> tuple[tree.Place, ...]:
        """The tree of a trace; the last few are kept for as long as they are asked of the same *source*."""
        key = (trace_id, errors_only)
        held = self._trees.get(key)
        if held is None or held[0] is not source:
            held = (source, _make_tree(ask, trace_id, errors_only))
            with self._lock:
                self._trees[key] = held
                while len(self._trees) > TREES:
                    self._trees.popitem(last=False)
        return held[1]

    def step(self, trace_id: str, step_id: str) -> StepDetail | None:
        """Everything about one step; None when the trace has no such step."""
        trace_id = self._whole_id(trace_id)
        source, ask = self._from_related(trace_id)
        places = self._tree(source, ask, trace_id, False)
        place = next((place for place in places if place.step_id == step_id), None)
        found = ask(statement("step_detail"), {"trace": trace_id, "step": step_id})
        if place is None or not found:
            return None
        return rows.step_detail(_lines(ask, trace_id, [place])[0], found[0])

    def context(self, trace_id: str, step_id: str, *, offset: int = 0, limit: int = 100) -> Page[MessageLine]:
        """Messages sent to a model step, those dropped since the model step before it included."""
        trace_id = self._whole_id(trace_id)
        source, ask = self._from_related(trace_id)
        names = rows.context_names(ask, trace_id, step_id)
        page = names[offset : offset + limit]
        known = rows.messages_named(ask, trace_id, [name for name, _ in page])
        missing = NOT_READ_YET if isinstance(source, Preview) else rows.NOT_IN_LOG
        lines = (
            rows.message_line(offset + place, name, change, known.get(name), missing=missing)
            for place, (name, change) in enumerate(page)
        )
        return Page(tuple(lines), offset, len(names), len(names))

    def lineage(self, trace_id: str, step_id: str) -> tuple[OriginLine, ...]:
        """Where each argument of a tool step came from."""
        self._wait_for_verdicts()
        cursor = self._cursor()
        try:
            relate.lineage_of(cursor, self._whole_id(trace_id))
            found = cursor.execute(statement("origin_lines"), {"step": step_id}).fetchall()
        finally:
            cursor.close()
        return tuple(OriginLine(*row) for row in found)

    def diff_steps(self, trace_id: str) -> tuple[AlignStep, ...]:
        """All steps of a trace, as two runs are compared (`alignment.align`)."""
        found = self._ask(statement("diff_steps"), {"trace": self._whole_id(trace_id)})
        return tuple(AlignStep(*row) for row in found)

    def verdict(self, trace_id: str) -> TraceVerdict | None:
        """Everything that analysis says about one trace; a unique prefix of the id will do."""
        self._wait_for_verdicts()
        return self.engine.verdicts.get(self._whole_id(trace_id))

    def diagnoses(self, trace_id: str) -> tuple[Diagnosis, ...]:
        """What failed in the trace and why, by failed step."""
        verdict = self.verdict(trace_id)
        return verdict.diagnoses if verdict else ()

    def resumable(self, trace_id: str) -> Resumable | None:
        """Where the trace may go on; None when it has no such point or did not fail."""
        verdict = self.verdict(trace_id)
        return verdict.resumable if verdict else None

    def groups(self) -> tuple[Group, ...]:
        """Like failures over all traces, those in most traces first."""
        return tuple(each.group for each in self._grouped())

    def _members(self, group_id: str) -> list[str]:
        """Traces of the groups whose id begins so."""
        return [
            name for each in self._grouped() if each.group.id.startswith(group_id) for name in each.trace_ids
        ]

    def _grouped(self) -> tuple[Grouped, ...]:
        self._wait_for_verdicts()
        with self._lock:
            made, verdicts = self._groups, tuple(self.engine.verdicts.values())
        if not made:
            made.append(grouped(verdicts))
        return made[0]

    def damage(self) -> tuple[BadLine, ...]:
        """What could not be kept, or was kept only in part."""
        return self.engine.damage.listed()

    def sql(self, query: str, *, limit: int = 1000) -> Table:
        """Run one read-only statement over the relations; raises `TracekitError("sql.*")` with the engine's words."""
        self._wait_for_verdicts()
        cursor = self._cursor()
        try:
            return console.run(cursor, query, limit=limit)
        finally:
            cursor.close()

    def close(self) -> None:
        """Let go of the database and its temporary files."""
        self._end_previews()
        with self._lock:
            self._end_glance()
            if self._engine is not None:
                self._engine.close()
                self._engine = None


def _make_tree(ask: Ask, trace_id: str, errors_only: bool) -> tuple[tree.Place, ...]:
    narrow = ask(
        "select step_id, parent_step_id, seq from log.steps where trace_id = ? order by seq", (trace_id,)
    )
    places = tree.ordered(narrow)
    if not errors_only:
        return places
    bad = {
        row[0]
        for row in ask(
            "select step_id from log.steps where trace_id = ? and status in ('error', 'unknown', 'running') "
            "union select failed_step from diagnoses where trace_id = ? "
            "union select cause_step from diagnoses where trace_id = ?",
            (trace_id, trace_id, trace_id),
        )
    }
    return tuple(place for place in places if place.step_id in bad)


def _lines(ask: Ask, trace_id: str, places: Sequence[tree.Place]) -> tuple[StepLine, ...]:
    wanted = [place.step_id for place in places]
    found = ask(statement("step_lines"), {"trace": trace_id, "steps": wanted}) if wanted else []
    by_id = {row[0]: row for row in found}
    return tuple(rows.step_line(place, by_id.get(place.step_id)) for place in places)
