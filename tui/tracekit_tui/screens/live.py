"""Screen 7: the steps that began last, over all traces, while they are being written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from textual.app import ComposeResult

from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page, text_column
from tracekit_tui.marks import clock, duration, glyph, ink_of
from tracekit_tui.text import Run

Step = dict[str, Any]


class LiveScreen(ExplorerScreen):
    """The newest steps; stays at the end until the person moves away from it."""

    place: ClassVar[str] = "live"
    number: ClassVar[int] = 7
    enter: ClassVar[str] = "open"

    def __init__(self) -> None:
        super().__init__()
        self.only_errors = False
        self.counts: dict[str, int] = {}
        self.steps: Sequence[Step] = ()

    def body(self) -> ComposeResult:
        yield VirtualList(id="live", title="newest steps", empty="nothing has been written yet")

    def start(self) -> None:
        self.query_one(VirtualList).focus()
        if not self.explorer.following:
            self.explorer.following = True
        self._ask()

    def changed(self) -> None:
        self._ask()

    def _ask(self) -> None:
        controller = self.explorer.controller
        if controller is None:
            return
        only_errors = self.only_errors
        self.in_thread(
            lambda: (controller.live(only_errors), controller.live_counts()), self._show, group="live"
        )

    def _show(self, answer: tuple[Sequence[Step], dict[str, int]]) -> None:
        found = self.query_one(VirtualList)
        same = self.steps == answer[0]
        self.steps, self.counts = answer
        self.tell()
        if same:
            return
        found.feed(
            _columns(),
            fixed_page(self.steps),
            keep_cursor=True,
            key=lambda row: (row["trace_id"], row["step_id"]),
            follow_end=True,
        )

    def crumb(self) -> list[Run]:
        counts = self.counts
        done = sum(count for status, count in counts.items() if status not in ("running", "error", "killed"))
        runs: list[Run] = [(f"{counts.get('running', 0):,} open", "accent"), (f" · {done:,} done · ", "dim")]
        failed, left = counts.get("error", 0), counts.get("killed", 0)
        runs.append((f"{failed:,} failed", "error" if failed else "dim"))
        if left:
            runs.append((f" · {left:,} left open by killed processes", "error"))
        if self.only_errors:
            runs.append((" · errors only", "error"))
        return runs

    def action_newest(self) -> None:
        self.query_one(VirtualList).action_bottom()

    def action_errors_only(self) -> None:
        self.only_errors = not self.only_errors
        self.steps = ()
        self._ask()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        self.explorer.look_at(str(event.row["trace_id"]), str(event.row["step_id"]))

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        self.explorer.look_at(str(event.row["trace_id"]), str(event.row["step_id"]))
        self.explorer.go("trace", str(event.row["step_id"]))

    def copyable(self) -> list[Copyable]:
        row = self.query_one(VirtualList).current
        if row is None:
            return []
        return [
            ("step id", lambda: str(row["step_id"])),
            ("trace id", lambda: str(row["trace_id"])),
            ("row as JSON", lambda: json.dumps(row, default=str, ensure_ascii=False, indent=2)),
        ]


def _columns() -> list[Column[Step]]:
    def state(row: Step, width: int) -> Sequence[Run]:
        return [glyph(str(row["status"]))]

    def name(row: Step, width: int) -> Sequence[Run]:
        return [(f"{row['kind']} ", "dim"), (str(row["name"]), ink_of(str(row["status"])))]

    return [
        text_column("UTC", lambda row: clock(_moment(row["started_at"])), width=12),
        Column("", state, width=1),
        Column("step", name),
        text_column(
            "took",
            _took,
            width=8,
            right=True,
        ),
        text_column(
            "trace/step", lambda row: f"{str(row['trace_id'])[:8]}/{row['seq']}", width=14, from_width=70
        ),
    ]


def _took(row: Step) -> str:
    return "…" if row["status"] == "running" else duration(row["duration_ms"])


def _moment(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else None
