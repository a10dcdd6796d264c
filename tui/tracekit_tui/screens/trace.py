"""Screen 2: one trace as a tree with a waterfall, and everything about the step under the cursor."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal

from tracekit_analyzers.views import Page, StepDetail, StepLine, TraceRow
from tracekit_tui.controller import Controller
from tracekit_tui.copies import step_copies
from tracekit_tui.details import PLAIN_TABS, TABS, context, head, lineage
from tracekit_tui.folds import Folds, subtree_end
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList
from tracekit_tui.marks import counted, duration, glyph, money, run_state
from tracekit_tui.rows import step_columns
from tracekit_tui.text import Line, Run, clip, visible
from tracekit_tui.textpane import TextPane

CONTEXT_MESSAGES = 300
WATERFALL_FROM_WIDTH = 96
"""A narrower window drops the waterfall first."""


STACKED_BELOW_WIDTH = 140
"""A narrower window has the detail below the tree, so that raw and received stand side by side in full width."""


class TraceScreen(ExplorerScreen):
    """One trace."""

    place: ClassVar[str] = "trace"
    number: ClassVar[int] = 2
    enter: ClassVar[str] = "read"

    def __init__(self, trace_id: str, step_id: str | None = None) -> None:
        super().__init__()
        self.trace_id = trace_id
        self.step_id = step_id
        self.trace: TraceRow | None = None
        self.tab = TABS[0]
        self.detail: StepDetail | None = None
        self.only_errors = False
        self.folds = Folds()
        self.waterfall: bool | None = None
        """None: by the width of the window."""
        self.share = 50
        self.needle = ""

    def body(self) -> ComposeResult:
        with Horizontal(id="split"):
            yield VirtualList(id="steps", title="steps", empty="this trace has no steps here")
            yield TextPane(id="detail")

    @property
    def steps(self) -> VirtualList:
        """The tree."""
        return self.query_one("#steps", VirtualList)

    @property
    def controller(self) -> Controller:
        """What answers."""
        assert self.explorer.controller is not None
        return self.explorer.controller

    def start(self) -> None:
        self.steps.focus()
        controller, trace_id = self.controller, self.trace_id
        self.in_thread(lambda: controller.analysis.trace(trace_id), self._know, group="trace")
        if self.step_id is None:
            self._feed(keep_cursor=False)
        else:
            self.jump(self.step_id)

    def changed(self) -> None:
        controller, trace_id = self.controller, self.trace_id
        self.in_thread(lambda: controller.analysis.trace(trace_id), self._know, group="trace")
        if not self.folds.ids:
            self._feed(keep_cursor=True)
            return
        folds, fetch = self.folds, self.controller.steps(self.trace_id, self.only_errors)
        folded = frozenset(folds.ids)
        self.in_thread(
            lambda: folds.in_grown(fetch), lambda found: self._refold(folded, found), group="refold"
        )

    def _refold(self, folded: frozenset[str], found: Folds) -> None:
        # What a person has folded or unfolded meanwhile is newer.
        if self.folds.ids == folded:
            self.folds = found
        self._feed(keep_cursor=True)

    def _know(self, trace: TraceRow | None) -> None:
        had_ended, self.trace = self._has_ended(), trace
        self._use_columns()
        if self.detail is not None and had_ended != self._has_ended():
            # The detail may come before the trace: whether an open step was left behind is known only now.
            self._draw(keep_place=True)
        self.tell()

    def crumb(self) -> list[Run]:
        trace = self.trace
        if trace is None:
            return [(f" {self.trace_id[:8]}", "accent")]
        sign, ink = glyph(run_state(trace.status, trace.code))
        facts = f"  {counted(trace.steps, 'step')} · {duration(trace.duration_ms)} · {money(trace.cost)}"
        # Long ids and names leave room for what failed where; the name stands in the first line of the tree, too.
        runs: list[Run] = [
            (f"{sign} ", ink),
            (clip(visible(trace.task_id or trace.trace_id[:8]), max(12, self.size.width // 5)), "accent"),
        ]
        if not trace.code or self.size.width >= WATERFALL_FROM_WIDTH:
            runs.append((f" {clip(visible(trace.name), max(8, self.size.width // 5))}", "strong"))
        if trace.code:
            runs.append((f"  ✗ {trace.code} at step {trace.failed_seq}", "error"))
        elif self.explorer.unjudged:
            runs.append(("  being judged …", "warn"))
        return [*runs, (facts, "dim")]

    # ------------------------------------------------------------------ the tree

    def fetch(self, offset: int, limit: int) -> Page[StepLine]:
        """A page of the tree as it is folded now."""
        fetch = self.controller.steps(self.trace_id, self.only_errors)
        return self.folds.page(fetch, offset, limit)

    def _feed(self, *, keep_cursor: bool, at: int = 0) -> None:
        self.steps.title = "failed steps" if self.only_errors else "steps"
        self.steps.feed(
            self._columns(), self.fetch, keep_cursor=keep_cursor, at=at, key=lambda row: row.step_id
        )

    def _columns(self) -> list[Column[StepLine]]:
        return step_columns(self._shows_waterfall(), self.folds.ids, ended=self._has_ended())

    def _has_ended(self) -> bool:
        return self.trace is not None and self.trace.status != "running"

    def _shows_waterfall(self) -> bool:
        if self.waterfall is not None:
            return self.waterfall
        timed = self.trace is None or self.trace.duration_ms is not None
        return timed and self.size.width >= WATERFALL_FROM_WIDTH

    def on_resize(self) -> None:
        self.set_class(self.size.width < STACKED_BELOW_WIDTH, "stacked")
        self.action_resize(0)
        self._use_columns()

    def _use_columns(self) -> None:
        self.steps.use_columns(self._columns())

    def jump(self, step_id: str, *, near: int = 1) -> None:
        """
        Put the cursor on the step *step_id*, unfolding and showing all steps where needed.

        Args:
            near: Its number where that is known: the search begins there instead of at the top.
        """
        start = max(0, near - 1)
        controller = self.controller
        self.only_errors = False
        self.folds.clear()
        fetch = controller.steps(self.trace_id)
        self.in_thread(
            lambda: controller.find(fetch, lambda row: row.step_id == step_id, start=start, direction=1),
            lambda found: self._feed(keep_cursor=False, at=found or 0),
            group="find",
        )

    def _jump(self, found: int | None) -> None:
        if found is None:
            self.notify("no such step in sight", markup=False)
            return
        self.steps.total = max(self.steps.total, found + 1)
        self.steps.go(found)

    def action_next_failed(self, direction: int) -> None:
        self._find(lambda row: row.code is not None or row.status in ("error", "unknown"), direction)

    def action_search(self) -> None:
        self.ask("search the names of steps, then n and N", self.needle, self._search)

    def _search(self, needle: str) -> None:
        self.needle = needle.strip().lower()
        if self.needle:
            self._find(self._matches, 1, from_here=True)

    def _matches(self, row: StepLine) -> bool:
        return (
            self.needle
            in f"{row.name} {row.tool_name or ''} {row.kind} {row.code or ''} {row.step_id}".lower()
        )

    def action_next_match(self, direction: int) -> None:
        if not self.needle:
            self.action_search()
            return
        self._find(self._matches, direction)

    def _find(self, matches: object, direction: int, *, from_here: bool = False) -> None:
        controller = self.controller
        start = self.steps.cursor + (0 if from_here else direction)
        self.in_thread(
            lambda: controller.find(self.fetch, matches, start=start, direction=direction),  # type: ignore[arg-type]
            self._jump,
            group="find",
        )

    def action_errors_only(self) -> None:
        self.only_errors = not self.only_errors
        self.folds.clear()
        self._feed(keep_cursor=False)

    def action_waterfall(self) -> None:
        self.waterfall = not self._shows_waterfall()
        self._use_columns()

    def action_resize(self, percent: int) -> None:
        self.share = max(25, min(75, self.share + percent))
        stacked = self.has_class("stacked")
        self.steps.styles.width = "100%" if stacked else f"{self.share}%"
        self.steps.styles.height = f"{self.share}%" if stacked else "1fr"
        self.steps.fit_rows(stacked)

    def action_fold(self) -> None:
        row: StepLine | None = self.steps.current
        if row is None:
            return
        if not row.has_children or row.step_id in self.folds.ids:
            self._to_parent(row)
            return
        position = self.folds.source(self.steps.cursor)
        fetch = self.controller.steps(self.trace_id, self.only_errors)
        self.in_thread(
            lambda: subtree_end(fetch, position, row.depth),
            lambda end: self._fold(row.step_id, position + 1, end),
            group="fold",
        )

    def _fold(self, step_id: str, first: int, end: int) -> None:
        if end > first:
            self.folds.fold(step_id, first, end)
            self._feed(keep_cursor=True)

    def _to_parent(self, row: StepLine) -> None:
        controller, parent, start = self.controller, row.parent_step_id, self.steps.cursor
        self.in_thread(
            lambda: controller.find(
                self.fetch, lambda other: other.step_id == parent, start=start, direction=-1
            ),
            lambda found: self._jump(found) if found is not None else None,
            group="find",
        )

    def action_unfold(self) -> None:
        row: StepLine | None = self.steps.current
        if row is not None and row.step_id in self.folds.ids:
            self.folds.unfold(row.step_id)
            self._feed(keep_cursor=True)

    # ------------------------------------------------------------------ the detail

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        row: StepLine = event.row
        self.step_id = row.step_id
        self.explorer.look_at(self.trace_id, row.step_id)
        controller, trace_id = self.controller, self.trace_id
        self.in_thread(lambda: controller.step(trace_id, row.step_id), self._show, group="detail")

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        self.query_one("#detail", TextPane).focus()

    def _show(self, detail: StepDetail | None) -> None:
        self.detail = detail
        self._draw()

    def action_cycle(self, direction: int) -> None:
        self.tab = TABS[(TABS.index(self.tab) + direction) % len(TABS)]
        self._draw()

    def _draw(self, *, keep_place: bool = False) -> None:
        pane = self.query_one("#detail", TextPane)
        pane.border_title = " · ".join(tab.upper() if tab == self.tab else tab for tab in TABS)
        detail, tab, controller, ended = self.detail, self.tab, self.controller, self._has_ended()
        if detail is None:
            pane.show(lambda width: [(("nothing is known about this step", "dim"),)])
            return
        if tab == "lineage" and self.explorer.unjudged:
            # It would be asked of the reading that is still going on, and the pane would stand empty until its end.
            pane.show(lambda width: [*head(detail, ended=ended), (("being judged …", "dim"),)])
            return
        pane.show(lambda width: _lines(controller, detail, tab, width, ended=ended), keep_place=keep_place)

    def go_back(self) -> bool:
        if super().go_back():
            return True
        if not self.steps.has_focus:
            self.steps.focus()
            return True
        return False

    def copyable(self) -> list[Copyable]:
        if self.detail is None:
            return []
        return step_copies(self.detail, self.tab)


def _lines(controller: Controller, detail: StepDetail, tab: str, width: int, *, ended: bool) -> list[Line]:
    rule: Line = (("─" * width, "dim"),)
    lines = [
        tuple((clip(visible(text), width), ink) for text, ink in line) for line in head(detail, ended=ended)
    ]
    if tab == "context":
        page = controller.analysis.context(detail.trace_id, detail.line.step_id, limit=CONTEXT_MESSAGES)
        return [*lines, rule, *context(page, width)]
    if tab == "lineage":
        return [
            *lines,
            rule,
            *lineage(controller.analysis.lineage(detail.trace_id, detail.line.step_id), width),
        ]
    return [*lines, rule, *PLAIN_TABS[tab](detail, width)]
