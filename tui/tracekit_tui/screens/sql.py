"""Screen 6: read-only SQL over the relations."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.widgets import TextArea

from tracekit_analyzers.views import Table
from tracekit_tui import outside
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page
from tracekit_tui.reports import table_csv
from tracekit_tui.text import Run

FIRST = "SELECT tool_name, status, count(*) AS steps\nFROM steps WHERE kind = 'tool'\nGROUP BY ALL ORDER BY steps DESC"
EXAMPLES = (
    "DESCRIBE steps",
    "SELECT tool_name, calls, good_calls, median_ms\nFROM tool_facts\nORDER BY median_ms DESC",
    "SELECT code, count(*) AS times, any_value(trace_id) AS trace_id\nFROM diagnoses GROUP BY code\nORDER BY times DESC",
    FIRST,
)
"""What F8 goes through before the person has run anything, the last one first."""
WIDEST = 40


class SqlScreen(ExplorerScreen):
    """A statement above, its rows below."""

    place: ClassVar[str] = "sql"
    number: ClassVar[int] = 6

    def __init__(self) -> None:
        super().__init__()
        self.table: Table | None = None
        self.past: list[str] = list(EXAMPLES)
        self.past_at = len(self.past) - 1

    def body(self) -> ComposeResult:
        yield TextArea(FIRST, id="query", language=None)
        yield VirtualList(id="rows", title="rows", empty="Ctrl-Enter or F5 runs the statement")

    def start(self) -> None:
        area = self.query_one(TextArea)
        area.border_title = (
            "tables: traces steps calls messages diagnoses leaves origins tool_facts processes"
        )
        area.focus()
        self.query_one("#rows", VirtualList).feed([], fixed_page(()))

    def changed(self) -> None:
        """Rows stay: a statement is run when the person runs it."""

    def crumb(self) -> list[Run]:
        if self.table is None:
            return [("read-only, over everything that was read", "dim")]
        table = self.table
        more = f" of {table.total:,}" if table.total > len(table.rows) else ""
        return [(f"{len(table.rows):,}{more} rows", "accent"), (f" · {table.elapsed_ms:.0f} ms", "dim")]

    def set_query(self, text: str) -> None:
        """Put *text* in place of the statement and run it."""
        self.query_one(TextArea).text = text
        self.action_run()

    def action_run(self) -> None:
        query = self.query_one(TextArea).text.strip()
        controller = self.explorer.controller
        if not query or controller is None:
            return
        if self.past[-1] != query:
            self.past.append(query)
        self.past_at = len(self.past) - 1
        self.in_thread(lambda: controller.sql(query), self._show, group="sql")

    def _show(self, table: Table) -> None:
        self.table = table
        rows = self.query_one("#rows", VirtualList)
        rows.empty_text = "no rows"
        rows.feed(_columns(table), fixed_page(table.rows))
        self.tell()

    def action_history(self) -> None:
        self.past_at = (self.past_at - 1) % len(self.past)
        self.query_one(TextArea).text = self.past[self.past_at]

    def action_export(self) -> None:
        table = self.table
        if table is None:
            self.notify("run a statement first", markup=False)
            return
        self.in_thread(
            lambda: outside.to_file(table_csv(table), "rows"),
            lambda path: self.notify(f"{len(table.rows):,} rows written to {path}", markup=False, timeout=10),
            group="export",
        )

    def go_back(self) -> bool:
        if super().go_back():
            return True
        rows = self.query_one("#rows", VirtualList)
        if self.query_one(TextArea).has_focus and rows.total:
            # Esc leaves the text first, so that the keys 1-7 and q work again.
            rows.focus()
            return True
        return False

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        table = self.table
        if table is None:
            return
        row = dict(zip(table.columns, event.row, strict=True))
        trace_id, step_id = row.get("trace_id"), row.get("step_id")
        if trace_id is not None:
            self.explorer.look_at(str(trace_id), None if step_id is None else str(step_id))
            self.explorer.go("trace", None if step_id is None else str(step_id))

    def copyable(self) -> list[Copyable]:
        query = self.query_one(TextArea).text
        found: list[Copyable] = [("statement", lambda: query)]
        table, row = self.table, self.query_one("#rows", VirtualList).current
        if table is not None:
            found.append(("all rows as CSV", lambda: table_csv(table)))
            if row is not None:
                values = dict(zip(table.columns, row, strict=True))
                found.insert(
                    0, ("row as JSON", lambda: json.dumps(values, default=str, ensure_ascii=False, indent=2))
                )
        return found


def _columns(table: Table) -> list[Column[Any]]:
    columns = []
    for place, name in enumerate(table.columns):
        longest = max([len(name), *(len(_cell(row[place])) for row in table.rows[:200])], default=4)
        last = place == len(table.columns) - 1
        columns.append(Column(name, _drawer(place), width=0 if last else min(WIDEST, longest + 1)))
    return columns


def _drawer(place: int) -> Any:
    def draw(row: Any, width: int) -> list[Run]:
        value = row[place]
        return [("null", "dim")] if value is None else [(_cell(value)[: width * 4 + 8], "plain")]

    return draw


def _cell(value: object) -> str:
    return "null" if value is None else str(value)
