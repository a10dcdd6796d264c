"""Two runs side by side: steps matched by what they did, differences in what went in and came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, ClassVar

from textual.app import ComposeResult

from tracekit_analyzers.views import StepDetail, StepLine
from tracekit_tui.controller import Controller
from tracekit_tui.details import laid_out, side_by_side
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page
from tracekit_tui.marks import counted, glyph
from tracekit_tui.text import Line, Run
from tracekit_tui.textpane import TextPane

MOST_STEPS = 5000
"""Steps compared on each side; the top line says so where there are more."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A step of the one run and its partner in the other."""

    left: StepLine | None
    right: StepLine | None
    differs: bool


def _name_of(pair: Pair) -> tuple[str | None, str | None]:
    """What a pair is known by: the ids of its steps."""
    return (pair.left.step_id if pair.left else None, pair.right.step_id if pair.right else None)


class DiffScreen(ExplorerScreen):
    """Two runs."""

    place: ClassVar[str] = "diff"

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        self.first, self.second = first, second
        self.pairs: Sequence[Pair] = ()
        self.names = first[:8], second[:8]

    def body(self) -> ComposeResult:
        yield VirtualList(id="pairs", title="steps", empty="no steps")
        yield TextPane(id="detail")

    def start(self) -> None:
        self.query_one(VirtualList).focus()
        controller = self.explorer.controller
        if controller is not None:
            first, second = self.first, self.second
            self.in_thread(
                lambda: (names_of(controller, first, second), pair_up(controller, first, second)),
                self._show,
                group="diff",
            )

    def crumb(self) -> list[Run]:
        count = sum(pair.differs for pair in self.pairs)
        return [
            (self.names[0], "accent"),
            (" | ", "dim"),
            (self.names[1], "accent"),
            (f"  {counted(count, 'step')} {'differs' if count == 1 else 'differ'}", "warn"),
        ]

    def _show(self, answer: tuple[tuple[str, str], Sequence[Pair]]) -> None:
        self.names, self.pairs = answer
        columns: list[Column[Any]] = [
            Column(self.names[0], lambda row, width: _half(row.left, row.differs), share=0.47),
            Column("", lambda row, width: [("≠", "warn") if row.differs else ("=", "dim")], width=1),
            Column(self.names[1], lambda row, width: _half(row.right, row.differs)),
        ]
        self.query_one(VirtualList).feed(columns, fixed_page(self.pairs), keep_cursor=True, key=_name_of)
        self.tell()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        controller = self.explorer.controller
        if controller is None:
            return
        pair: Pair = event.row
        first, second = self.first, self.second
        self.query_one(TextPane).show(lambda width: pair_text(controller, first, second, pair, width))

    def action_next_difference(self, direction: int) -> None:
        found = self.query_one(VirtualList)
        places = [place for place, pair in enumerate(self.pairs) if pair.differs]
        ahead = [place for place in places if (place - found.cursor) * direction > 0]
        if places:
            found.go((ahead or places)[0 if direction > 0 else -1])

    def copyable(self) -> list[Copyable]:
        controller, pair = self.explorer.controller, self.query_one(VirtualList).current
        if controller is None or pair is None:
            return []
        first, second = self.first, self.second

        def both() -> str:
            lines = pair_text(controller, first, second, pair, 160)
            return "\n".join("".join(text for text, _ in line) for line in lines)

        return [("both sides as text", both)]


def _half(row: StepLine | None, differs: bool) -> list[Run]:
    if row is None:
        return [("–", "dim")]
    sign, ink = glyph(row.status)
    name = row.tool_name or row.name
    return [(f"{row.seq:>4} ", "dim"), (sign + " ", ink), (name, "warn" if differs else "plain")]


def names_of(controller: Controller, first: str, second: str) -> tuple[str, str]:
    """What the two runs are called: by their tasks, or, where these are the same, by their traces."""
    rows = [controller.analysis.trace(trace_id) for trace_id in (first, second)]
    one, two = (None if row is None else row.task_id for row in rows)
    return (one, two) if one and two and one != two else (first[:8], second[:8])


def pair_up(controller: Controller, first: str, second: str) -> list[Pair]:
    """Steps of both runs in order, matched by kind and name; a pair differs when what it holds differs."""
    sides = [controller.steps(trace_id)(0, MOST_STEPS).rows for trace_id in (first, second)]
    names = [[f"{row.kind} {row.tool_name or row.name}" for row in side] for side in sides]
    pairs: list[Pair] = []
    for tag, a, b, c, d in SequenceMatcher(None, names[0], names[1], autojunk=False).get_opcodes():
        for place in range(max(b - a, d - c)):
            left = sides[0][a + place] if a + place < b else None
            right = sides[1][c + place] if c + place < d else None
            differs = tag != "equal" or _differ(controller, first, second, left, right)
            pairs.append(Pair(left, right, differs))
    return pairs


def _differ(
    controller: Controller, first: str, second: str, left: StepLine | None, right: StepLine | None
) -> bool:
    if left is None or right is None or left.status != right.status:
        return True
    one, two = controller.step(first, left.step_id), controller.step(second, right.step_id)
    return one is None or two is None or _held(one) != _held(two)


def _held(detail: StepDetail) -> tuple[str | None, ...]:
    return (detail.received_input, detail.output, detail.error_type, detail.error_message)


def pair_text(controller: Controller, first: str, second: str, pair: Pair, width: int) -> list[Line]:
    """Input, output and error of both steps, side by side."""
    one = None if pair.left is None else controller.step(first, pair.left.step_id)
    two = None if pair.right is None else controller.step(second, pair.right.step_id)
    lines: list[Line] = []
    for title in ("received_input", "output", "error_message"):
        left, right = _part(one, title), _part(two, title)
        if left or right:
            name = title.replace("_", " ")
            lines += [*side_by_side(left, right, width, name, name), (("", "plain"),)]
    return lines or [(("neither holds anything", "dim"),)]


def _part(detail: StepDetail | None, title: str) -> str:
    return "" if detail is None else laid_out(getattr(detail, title))
