"""Screen 5: questions that wait for a person."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import ClassVar

from textual.app import ComposeResult

from tracekit.durable.api import panel_of
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page, text_column
from tracekit_tui.marks import duration
from tracekit_tui.text import Ink, Line, Run, flow
from tracekit_tui.textpane import TextPane
from tracekit_tui.viewing import QueueLine


class ReviewScreen(ExplorerScreen):
    """The queue of open questions."""

    place: ClassVar[str] = "review"
    number: ClassVar[int] = 5
    enter: ClassVar[str] = "decide"

    def __init__(self) -> None:
        super().__init__()
        self.lines: Sequence[QueueLine] = ()

    def body(self) -> ComposeResult:
        yield VirtualList(id="queue", title="waiting for a person", empty="no question is open")
        yield TextPane(id="question")

    def start(self) -> None:
        self.query_one(TextPane).border_title = "the question under the cursor"
        self.query_one(VirtualList).focus()
        self.set_interval(2.0, self.changed)
        self.changed()

    def changed(self) -> None:
        controller = self.explorer.controller
        if controller is None or controller.recoveries is None:
            self.query_one(VirtualList).empty_text = "no store is open: --store URL"
            self._show(())
            return
        self.in_thread(controller.recoveries.queue, self._show, group="queue")

    def _show(self, lines: Sequence[QueueLine]) -> None:
        self.lines = lines
        if not lines:
            self.query_one(TextPane).show(lambda width: [])
        self.query_one(VirtualList).feed(
            _columns(), fixed_page(lines), keep_cursor=True, key=lambda row: row.review.review_id
        )
        self.tell()

    def crumb(self) -> list[Run]:
        return [(f"waiting {len(self.lines)}", "warn" if self.lines else "dim")]

    def action_decide(self) -> None:
        row: QueueLine | None = self.query_one(VirtualList).current
        if row is not None:
            self.explorer.look_at(row.task.trace_id, None)
            self.explorer.go("recovery")

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        line: QueueLine = event.row
        self.query_one(TextPane).show(lambda width: question_lines(line, width))

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        self.action_decide()

    def copyable(self) -> list[Copyable]:
        row: QueueLine | None = self.query_one(VirtualList).current
        if row is None:
            return []
        return [
            ("review id", lambda: row.review.review_id),
            ("task id", lambda: row.task.task_id),
            (
                "question as JSON",
                lambda: json.dumps(asdict(row.review), default=str, ensure_ascii=False, indent=2),
            ),
        ]


def question_lines(line: QueueLine, width: int) -> list[Line]:
    """The whole question, the call that it is about, and the answers that it takes."""
    panel = panel_of(line.review)
    facts: list[tuple[str, object, Ink]] = [
        ("question", line.reason, "warn"),
        ("about", line.about, "plain"),
        ("break point", panel.get("break_point"), "plain"),
        ("recommended", panel.get("recommendation"), "accent"),
        ("answers", " · ".join(map(str, panel.get("options", ()))), "plain"),
    ]
    lines: list[Line] = []
    for name, words, ink in facts:
        if words:
            lines += flow([(name.ljust(13), "title"), (str(words), ink)], width, 13)
    return lines


def _columns() -> list[Column[QueueLine]]:
    return [
        Column("", lambda row, width: [("!", "warn")], width=1),
        text_column("task", lambda row: row.task.task_id, width=20),
        Column("question", lambda row, width: [(row.reason, "warn")]),
        text_column("about", lambda row: row.about, width=36, from_width=100),
        text_column("waiting", lambda row: duration(row.waiting_ms), width=8, right=True),
    ]
