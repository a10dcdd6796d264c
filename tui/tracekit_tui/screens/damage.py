"""The damaged lines of the files that were read: where, why, and how each begins."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from tracekit_analyzers.model import BadLine
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page, text_column


class DamageScreen(ExplorerScreen):
    """All damage, line by line."""

    place: ClassVar[str] = "damage"

    def body(self) -> ComposeResult:
        yield VirtualList(
            id="damage",
            title="damaged lines; every good line was kept",
            empty="no damage: every line was read",
        )

    def start(self) -> None:
        self.query_one(VirtualList).focus()
        controller = self.explorer.controller
        if controller is not None:
            self.in_thread(controller.analysis.damage, self._show, group="damage")

    def _show(self, lines: tuple[BadLine, ...]) -> None:
        columns = [
            text_column(
                "line", lambda row: "–" if row.line is None else f"{row.line:,}", width=9, right=True
            ),
            text_column(
                "byte",
                lambda row: "–" if row.offset is None else f"{row.offset:,}",
                width=13,
                right=True,
                from_width=90,
            ),
            Column("reason", lambda row, width: [(row.reason, "error")], share=0.3),
            text_column("begins with", lambda row: row.head),
            text_column("file", lambda row: row.file, width=24, from_width=100),
        ]
        self.query_one(VirtualList).feed(columns, fixed_page(lines), keep_cursor=True, key=lambda row: row)

    def copyable(self) -> list[Copyable]:
        row: BadLine | None = self.query_one(VirtualList).current
        if row is None:
            return []
        return [
            ("place", lambda: f"{row.file}:{row.line or 1}"),
            ("reason and beginning", lambda: f"{row.reason}\n{row.head}\n"),
        ]
