"""The answers to everything that a screen or a report asks of an analysis (`views.Analysis`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tracekit_analyzers.asking import console, filtering, rows, tree
from tracekit_analyzers.asking.kept import Kept
from tracekit_analyzers.engine import Engine, silent
from tracekit_analyzers.growing.following import Asked, Following
from tracekit_analyzers.model import BadLine, Diagnosis, Resumable, TraceVerdict
from tracekit_analyzers.relations import relate, statement
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

TREES = 8
"""Trees of traces that are kept; one of 30,000 steps takes some 10 MB."""
NOT_READ_YET = "(this message has not been read yet)"


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
        given = tuple(str(path) for path in paths)
        self._log = Following(given, reader, diagnose=diagnose, early_rows=early_rows)
        self._trees: Kept[tuple[tree.Place, ...]] = Kept(TREES)
        self._groups: Kept[tuple[Grouped, ...]] = Kept(1)

    @property
    def version(self) -> int:
        """Counts up whenever answers may differ from those before."""
        return self._log.version

    @property
    def engine(self) -> Engine:
        """The loaded analysis; loads it at first use."""
        return self._log.engine

    def load(self, progress: Callable[[Progress], None] | None = None) -> None:
        """
        Read, relate and diagnose; called again, it reads only what was written since.

        Of files that only grew the new lines alone are read, and the traces that they touch are judged anew. A whole
        reading takes place where that would not be certain, and now and then to compare all calls of a tool with all.

        Raises:
            TracekitError: `input.missing`, `input.unreadable`, `input.no_reader`.
        """
        self._log.load(progress or silent)

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
        ask = self._log.ask if filter else self._log.ask_early
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
        found = self._log.steps_of(whole).ask(
            f"select {rows.TRACE_COLUMNS} from log.trace_rows t where trace_id = ?", (whole,)
        )
        return rows.trace_row(found[0]) if found else None

    def _whole_id(self, trace_id: str) -> str:
        """The id of the one trace that *trace_id* is the id, a beginning of it, the task or the name of; else itself."""
        found = self._log.ask_early(
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
        asked = self._log.steps_of(trace_id)
        places = self._tree(asked, trace_id, errors_only=errors_only)
        lines = rows.step_lines(asked.ask, trace_id, places[offset : offset + limit])
        unfiltered = len(self._tree(asked, trace_id)) if errors_only else len(places)
        return Page(lines, offset, len(places), unfiltered)

    def _tree(self, asked: Asked, trace_id: str, *, errors_only: bool = False) -> tuple[tree.Place, ...]:
        key = (trace_id, errors_only, asked.is_early)
        return self._trees.get(
            key, asked.version, lambda: rows.places(asked.ask, trace_id, errors_only=errors_only)
        )

    def step(self, trace_id: str, step_id: str) -> StepDetail | None:
        """Everything about one step; None when the trace has no such step."""
        trace_id = self._whole_id(trace_id)
        asked = self._log.relations_of(trace_id)
        place = next((place for place in self._tree(asked, trace_id) if place.step_id == step_id), None)
        found = asked.ask(statement("step_detail"), {"trace": trace_id, "step": step_id})
        if place is None or not found:
            return None
        return rows.step_detail(rows.step_lines(asked.ask, trace_id, [place])[0], found[0])

    def context(self, trace_id: str, step_id: str, *, offset: int = 0, limit: int = 100) -> Page[MessageLine]:
        """Messages sent to a model step, those dropped since the model step before it included."""
        trace_id = self._whole_id(trace_id)
        asked = self._log.relations_of(trace_id)
        names = rows.context_names(asked.ask, trace_id, step_id)
        page = names[offset : offset + limit]
        known = rows.messages_named(asked.ask, trace_id, [name for name, _ in page])
        missing = NOT_READ_YET if asked.is_early else rows.NOT_IN_LOG
        lines = (
            rows.message_line(offset + place, name, change, known.get(name), missing=missing)
            for place, (name, change) in enumerate(page)
        )
        return Page(tuple(lines), offset, len(names), len(names))

    def lineage(self, trace_id: str, step_id: str) -> tuple[OriginLine, ...]:
        """Where each argument of a tool step came from."""
        self._log.wait_for_verdicts()
        with self._log.cursor() as cursor:
            relate.lineage_of(cursor, self._whole_id(trace_id))
            found = cursor.execute(statement("origin_lines"), {"step": step_id}).fetchall()
        return tuple(OriginLine(*row) for row in found)

    def diff_steps(self, trace_id: str) -> tuple[AlignStep, ...]:
        """All steps of a trace, as two runs are compared (`alignment.align`)."""
        found = self._log.ask(statement("diff_steps"), {"trace": self._whole_id(trace_id)})
        return tuple(AlignStep(*row) for row in found)

    def verdict(self, trace_id: str) -> TraceVerdict | None:
        """Everything that analysis says about one trace; a unique prefix of the id will do."""
        self._log.wait_for_verdicts()
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
        version, verdicts = self._log.verdicts()
        return self._groups.get("groups", version, lambda: grouped(verdicts))

    def damage(self) -> tuple[BadLine, ...]:
        """What could not be kept, or was kept only in part."""
        return self.engine.damage.listed()

    def sql(self, query: str, *, limit: int = 1000) -> Table:
        """Run one read-only statement over the relations; raises `TracekitError("sql.*")` with the engine's words."""
        self._log.wait_for_verdicts()
        with self._log.cursor() as cursor:
            return console.run(cursor, query, limit=limit)

    def close(self) -> None:
        """Let go of the database and its temporary files."""
        self._log.close()
