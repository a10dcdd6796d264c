"""Screen 5: questions that wait for a person."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import ClassVar

from textual.app import ComposeResult

from tracekit import clock
from tracekit.durable.api import panel_of
from tracekit.errors import Conflict, TracekitError
from tracekit.store.claims import ClaimRow
from tracekit_tui.dialogs import Confirm
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page, text_column
from tracekit_tui.marks import duration, span
from tracekit_tui.text import Ink, Line, Run, clip, flow, visible
from tracekit_tui.textpane import TextPane
from tracekit_tui.viewing import QueueLine, claim_words

LOOK_S = 2.0
"""How often the queue is looked at: others decide, too."""


class ReviewScreen(ExplorerScreen):
    """The queue of open questions."""

    place: ClassVar[str] = "review"
    number: ClassVar[int] = 5
    enter: ClassVar[str] = "decide"

    def __init__(self) -> None:
        super().__init__()
        self.lines: Sequence[QueueLine] = ()

    def body(self) -> ComposeResult:
        yield VirtualList(
            id="queue", title="waiting for a person", empty="no question is open: nothing waits for a person"
        )
        yield TextPane(id="question")

    def start(self) -> None:
        self.query_one(TextPane).border_title = "the question under the cursor"
        self.query_one(VirtualList).focus()
        self.set_interval(LOOK_S, self._look)
        self.changed()

    def _look(self) -> None:
        # A newer question would take the place of one that a locked store has not answered yet, for ever.
        if not self.explorer.is_waiting_for("queue"):
            self.changed()

    def changed(self) -> None:
        controller = self.explorer.controller
        if controller is None or controller.recoveries is None:
            self.query_one(
                VirtualList
            ).empty_text = "no store is open, and questions lie in one: tracekit tui LOGS --store URL"
            self._show(())
            return
        self.in_thread(controller.recoveries.queue, self._show, group="queue")

    def _show(self, lines: Sequence[QueueLine]) -> None:
        self.lines = lines
        if not lines:
            self.query_one(TextPane).show(lambda width: [])
        self.query_one(VirtualList).feed(
            _columns(lines, self.me),
            fixed_page(lines),
            keep_cursor=True,
            key=lambda row: row.review.review_id,
        )
        self.tell()

    def crumb(self) -> list[Run]:
        me = self.me
        mine = sum(line.claim is not None and line.claim.claimed_by == me for line in self.lines)
        runs: list[Run] = [(f"waiting {len(self.lines)}", "warn" if self.lines else "dim")]
        return [*runs, (f" · mine {mine}", "accent")] if mine else runs

    def action_decide(self) -> None:
        row: QueueLine | None = self.query_one(VirtualList).current
        if row is not None:
            self.explorer.look_at(row.task.trace_id, None)
            self.explorer.go("recovery")

    def keys_here(self) -> list[tuple[str, str]]:
        return super().keys_here() if self.lines else []

    def action_claim(self) -> None:
        row: QueueLine | None = self.query_one(VirtualList).current
        if row is None:
            self.notify("no question is open", markup=False)
        elif row.claim is None or row.claim.claimed_by == self.me:
            self._claim(row)
        else:
            had = f"{row.claim.claimed_by} has claimed this question, for {span(_had_ms(row.claim))} now."
            lines: list[Line] = [
                ((had, "strong"),),
                (("", "plain"),),
                (("It becomes yours; they see that in their list. To decide, no claim is needed.", "plain"),),
            ]
            self.app.push_screen(
                Confirm("take the claim over", lines), lambda yes: self._claim(row) if yes else None
            )

    def _claim(self, row: QueueLine) -> None:
        controller, me = self.explorer.controller, self.me
        if controller is not None and controller.recoveries is not None:
            recoveries = controller.recoveries
            self.in_thread(lambda: recoveries.claim(row, me), self._claimed, group="claim", exclusive=False)

    def _claimed(self, words: str) -> None:
        self.notify(words, markup=False)
        self.changed()

    def failed(self, error: TracekitError) -> None:
        super().failed(error)
        if isinstance(error, Conflict):
            self.changed()

    @property
    def me(self) -> str:
        """The name under which a claim made here stands."""
        return "" if self.explorer.controller is None else self.explorer.controller.who

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
        ("claimed by", "" if line.claim is None else claim_words(line.claim), "accent"),
        ("answers", " · ".join(map(str, panel.get("options", ()))), "plain"),
    ]
    lines: list[Line] = []
    for name, words, ink in facts:
        if words:
            lines += flow([(name.ljust(13), "title"), (str(words), ink)], width, 13)
    return lines


def _had_ms(claim: ClaimRow) -> int:
    return clock.now_ms() - claim.claimed_ms


def _columns(lines: Sequence[QueueLine], me: str) -> list[Column[QueueLine]]:
    def claimed(row: QueueLine, width: int) -> list[Run]:
        if row.claim is None:
            return [("–", "dim")]
        who = "you" if row.claim.claimed_by == me else visible(row.claim.claimed_by)
        since = span(_had_ms(row.claim))
        return [(f"{clip(who, width - len(since) - 1)} {since}", "accent" if who == "you" else "warn")]

    return [
        Column("", lambda row, width: [("!", "warn")], width=1),
        text_column("task", lambda row: row.task.task_id, width=20),
        Column("question", lambda row, width: [(row.reason, "warn")]),
        text_column("about", lambda row: row.about, width=36, from_width=100),
        *([Column("claimed by", claimed, width=14)] if any(line.claim for line in lines) else []),
        text_column("waiting", lambda row: duration(row.waiting_ms), width=8, right=True),
    ]
