"""Screen 1: all traces, filtered, sorted, with what failed where."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import ClassVar

from textual.app import ComposeResult

from tracekit_analyzers.views import TraceRow
from tracekit_tui.controller import SORTS
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import VirtualList, fixed_page
from tracekit_tui.rows import trace_columns
from tracekit_tui.summary import summary_lines
from tracekit_tui.text import Line, Run, flow
from tracekit_tui.textpane import TextPane

HOW_TO_START = (
    "`tracekit tui LOGS` reads other logs, --reader NAME as another format; `tracekit demo` makes a first log"
)


class TracesScreen(ExplorerScreen):
    """The list of traces."""

    place: ClassVar[str] = "traces"
    number: ClassVar[int] = 1
    enter: ClassVar[str] = "open"

    def __init__(self) -> None:
        super().__init__()
        self.filter = ""
        self.sort = SORTS[0]
        self.only_errors = False
        self.marked: dict[str, None] = {}

    def body(self) -> ComposeResult:
        yield VirtualList(id="traces", title="traces", empty="nothing was read")
        yield TextPane(id="summary")

    @property
    def rows(self) -> VirtualList:
        """The list of traces."""
        return self.query_one("#traces", VirtualList)

    def start(self) -> None:
        self.query_one("#summary", TextPane).can_focus = False
        self._feed(keep_cursor=False)
        self.rows.focus()

    def changed(self) -> None:
        self._feed(keep_cursor=True)

    def _feed(self, *, keep_cursor: bool) -> None:
        if self.explorer.gave_up and not self.rows.total:
            self._say_why(self.explorer.gave_up)
            return
        if self.explorer.controller is None:
            return
        fetch = self.explorer.controller.traces(self.filter, self.sort, self.only_errors)
        self.rows.empty_text = self._why_empty()
        if not keep_cursor:
            # Where nothing matches, nothing is said of a trace that is not in the list.
            self.query_one("#summary", TextPane).show(lambda width: [])
        self.rows.feed(
            trace_columns(set(self.marked)), fetch, keep_cursor=keep_cursor, key=lambda row: row.trace_id
        )
        self.tell()

    def _say_why(self, text: str) -> None:
        """Nothing could be read: say why, for as long as it is so."""
        lines: list[Line] = [((text, "error"),), ((HOW_TO_START, "dim"),)]
        self.query_one("#summary", TextPane).show(
            lambda width: [part for line in lines for part in flow(line, width)]
        )
        self.rows.empty_text = "nothing could be read: why stands below; Ctrl-R tries again"
        self.rows.feed(trace_columns(set()), fixed_page(()))
        self.tell()

    def _why_empty(self) -> str:
        if self.filter:
            return f"no trace matches /{self.filter}: Esc clears the filter"
        if self.only_errors:
            return "no failed trace: z shows all"
        return "no trace is in what was read; f follows what will be written"

    def crumb(self) -> list[Run]:
        runs: list[Run] = [(f" /{self.filter} ", "accent")] if self.filter else []
        arrow = "↓" if self.sort.startswith("-") else "↑"
        runs.append((f" {arrow}{self.sort.lstrip('-')}", "dim"))
        if self.only_errors:
            runs.append((" errors only", "error"))
        if self.marked:
            runs.append((f" ● {len(self.marked)} marked", "accent"))
        return runs

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        row: TraceRow = event.row
        self.explorer.look_at(row.trace_id, row.failed_step)
        controller, judged = self.explorer.controller, not self.explorer.unjudged
        if controller is None:
            return

        def lines(width: int) -> list[Line]:
            known = judged and not controller.from_store
            verdict = controller.analysis.verdict(row.trace_id) if known else None
            return summary_lines(row, verdict, width, judged=judged, stored=controller.from_store)

        self.query_one("#summary", TextPane).show(lines)

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        self.explorer.look_at(event.row.trace_id, event.row.failed_step)
        controller = self.explorer.controller
        self.explorer.go("recovery" if controller is not None and controller.from_store else "trace")

    def action_filter(self) -> None:
        self.ask(
            "filter: words code=timeout* tool=pay* status=error cost>1 age<2h !not",
            self.filter,
            self.set_filter,
        )

    def set_filter(self, text: str) -> None:
        """Show only the traces that match *text*."""
        self.filter = text.strip()
        self._feed(keep_cursor=False)

    def action_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        self._feed(keep_cursor=False)

    def action_errors_only(self) -> None:
        self.only_errors = not self.only_errors
        self._feed(keep_cursor=False)

    def action_next_failed(self, direction: int) -> None:
        controller = self.explorer.controller
        if controller is None:
            return
        fetch = controller.traces(self.filter, self.sort, self.only_errors)
        start = self.rows.cursor + direction
        self.in_thread(
            lambda: controller.find(
                fetch, lambda row: row.code is not None, start=start, direction=direction
            ),
            self._jump,
            group="find",
        )

    def _jump(self, found: int | None) -> None:
        if found is None:
            self.notify("no failed trace here", markup=False)
        else:
            self.rows.go(found)

    def action_mark(self) -> None:
        row: TraceRow | None = self.rows.current
        if row is None:
            return
        if self.marked.pop(row.trace_id, 0) == 0:
            self.marked[row.trace_id] = None
            while len(self.marked) > 2:
                del self.marked[next(iter(self.marked))]
        self._feed(keep_cursor=True)

    def action_diff(self) -> None:
        if len(self.marked) != 2:
            self.notify("mark two traces with Space, then = shows how they differ", markup=False)
            return
        first, second = self.marked
        self.explorer.open_diff(first, second)

    def go_back(self) -> bool:
        if super().go_back():
            return True
        if self.filter:
            self.set_filter("")
            return True
        return False

    def copyable(self) -> list[Copyable]:
        row: TraceRow | None = self.rows.current
        if row is None:
            return []
        found: list[Copyable] = [
            ("trace id", lambda: row.trace_id),
            ("name", lambda: row.name),
            ("row as JSON", lambda: json.dumps(asdict(row), default=str, ensure_ascii=False, indent=2)),
            (
                "SQL of its steps",
                lambda: f"SELECT * FROM steps WHERE trace_id = '{row.trace_id}' ORDER BY seq",
            ),
            ("place in the file", lambda: f"{row.source.file}:{row.source.line or 1}"),
        ]
        if row.task_id is not None:
            task_id = row.task_id
            found.insert(1, ("task id", lambda: task_id))
        return found
