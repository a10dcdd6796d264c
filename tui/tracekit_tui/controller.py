"""
Everything that the screens ask and do, behind one object: reading and judging through `Analysis`, tasks through
`Recoveries`. Every method may block and is called in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit_analyzers.views import Analysis, Page, Progress, StepDetail, StepLine, Table, TraceRow
from tracekit_tui.queries import LIVE, LIVE_COUNTS

if TYPE_CHECKING:
    from tracekit_tui.recoveries import Recoveries
    from tracekit_tui.viewing import RecoveryView

SORTS = ("-started_at", "-duration_ms", "-cost", "-steps", "name", "code")
"""Orders that the list of traces goes through; columns of `TraceRow`."""

SEARCH_ROWS = 2000
FAILED = "s.status IN ('error', 'unknown') OR (s.status = 'running' AND t.status <> 'running')"
"""Steps that the live list shows when only errors are wanted."""


@dataclass(slots=True)
class Controller:
    """What the app holds: an analysis, perhaps a store, and what was read so far."""

    analysis: Analysis
    recoveries: Recoveries | None = None
    named: str | None = None
    """Who decides here, where it is not the person of this process."""
    progress: Progress | None = None
    """Last word of the reader; set from its thread, read by the screen's clock."""
    from_store: bool = False
    """There is no log: the list shows the tasks of the store."""
    news: int = 0
    """How often the reader said that there are rows to show, before it was done."""

    @property
    def who(self) -> str:
        """Who decides here, as it is logged; found when it is asked for, as opening a log needs nobody's name."""
        from tracekit.durable.api import person

        return self.named or person()

    def load(self) -> tuple[int, int]:
        """Read what is new; numbers of traces and of damaged lines."""
        try:
            self.analysis.load(self._told)
        except FileNotFoundError:
            # A log went after it was listed, as by rotation: the next look lists what is there.
            self.analysis.load(self._told)
        count = self.analysis.traces(limit=1).unfiltered
        self.from_store = count == 0 and self.recoveries is not None
        if self.from_store and self.recoveries is not None:
            count = len(self.recoveries.tasks())
        return count, len(self.analysis.damage())

    def _told(self, progress: Progress) -> None:
        self.progress = progress
        if progress.stage in ("rows", "diagnosing"):
            self.news += 1

    def traces(self, filter: str, sort: str, errors_only: bool) -> Callable[[int, int], Page[TraceRow]]:
        """A function that gives pages of the list of traces; without logs, of the tasks of the store."""
        if self.from_store and self.recoveries is not None:
            from tracekit_tui.stored import pages_of

            return pages_of(self.recoveries.tasks, filter=filter, sort=sort, errors_only=errors_only)

        def fetch(offset: int, limit: int) -> Page[TraceRow]:
            return self.analysis.traces(
                filter=filter, sort=sort, errors_only=errors_only, offset=offset, limit=limit
            )

        return fetch

    def steps(self, trace_id: str, errors_only: bool = False) -> Callable[[int, int], Page[StepLine]]:
        """A function that gives pages of the tree of a trace."""

        def fetch(offset: int, limit: int) -> Page[StepLine]:
            return self.analysis.steps(trace_id, errors_only=errors_only, offset=offset, limit=limit)

        return fetch

    def step(self, trace_id: str, step_id: str) -> StepDetail | None:
        """Everything about one step."""
        return self.analysis.step(trace_id, step_id)

    def live(self, errors_only: bool, limit: int = 500) -> Sequence[dict[str, Any]]:
        """The steps that began last, newest last, over all traces."""
        table = self.analysis.sql(LIVE.format(only=FAILED if errors_only else "true", limit=limit))
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        return rows[::-1]

    def live_counts(self) -> dict[str, int]:
        """How many steps are open, done and failed."""
        table = self.analysis.sql(LIVE_COUNTS)
        return {str(status): int(count) for status, count in table.rows}

    def sql(self, query: str) -> Table:
        """The result of a read-only statement."""
        return self.analysis.sql(query)

    def find(
        self,
        fetch: Callable[[int, int], Page[Any]],
        matches: Callable[[Any], bool],
        *,
        start: int,
        direction: int,
    ) -> int | None:
        """Position of the nearest row from *start* on that matches, wrapping around once; None when there is none."""
        total = fetch(0, 1).total
        if direction > 0:
            spans = [(start, total), (0, min(start, total))]
        else:
            spans = [(0, start + 1), (start + 1, total)]
        for first, end in spans:
            found = _scan(fetch, matches, first, end, direction)
            if found is not None:
                return found
        return None

    def recovery_of(self, trace_id: str) -> RecoveryView | None:
        """The recovery panel of the task behind a trace; None without a store or where it does not know the task."""
        if self.recoveries is None:
            return None
        trace = self.analysis.trace(trace_id)
        task_id = trace.task_id if trace is not None and trace.task_id else self.recoveries.task_of(trace_id)
        view = None if task_id is None else self.recoveries.view(task_id)
        if view is None or view.break_step is None:
            return view
        step = self.analysis.step(trace_id, view.break_step)
        return view if step is None else replace(view, break_seq=step.line.seq)

    def notes_file(self) -> Path:
        """Where notes about verdicts go: beside what was read, hidden so that no reading takes it for a log."""
        first = Path(self.analysis.paths[0]) if self.analysis.paths else Path()
        folder = first if first.is_dir() else first.parent
        return folder / ".tracekit-notes.jsonl"

    def close(self) -> None:
        """Close what is open."""
        if self.recoveries is not None:
            self.recoveries.close()
        self.analysis.close()


def _scan(
    fetch: Callable[[int, int], Page[Any]],
    matches: Callable[[Any], bool],
    first: int,
    end: int,
    direction: int,
) -> int | None:
    offsets = range(first, end, SEARCH_ROWS)
    for offset in offsets if direction > 0 else reversed(offsets):
        rows = fetch(offset, min(SEARCH_ROWS, end - offset)).rows
        places = range(len(rows)) if direction > 0 else reversed(range(len(rows)))
        for place in places:
            if matches(rows[place]):
                return offset + place
    return None


def open_controller(
    paths: Sequence[Path], *, store: str | None, app: str | None, reader: str | None
) -> Controller:
    """A controller over *paths* and, where one is named or stands beside the logs, a store."""
    from tracekit_analyzers.session import Session

    session: Analysis = Session(paths, reader=reader, early_rows=True)
    url = store or store_beside(paths)
    if url is None:
        return Controller(session)
    from tracekit_tui.recoveries import Recoveries

    return Controller(session, Recoveries(url, app))


def store_beside(paths: Sequence[Path]) -> str | None:
    """The store of the home folder that *paths* name, when there is one."""
    for path in paths:
        for folder in (path, path.parent, path.parent.parent):
            if (folder / "state.db").is_file():
                return f"sqlite:{(folder / 'state.db').absolute()}"
    return None
