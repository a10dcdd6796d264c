"""Two runs side by side: partners as `tracekit diff` finds them, differences in what went in and came out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult

from tracekit_analyzers.verdicts.alignment import AlignStep, Pair, align, first_divergence
from tracekit_analyzers.views import StepDetail
from tracekit_tui.controller import Controller
from tracekit_tui.details import laid_out, side_by_side
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page
from tracekit_tui.marks import counted, glyph
from tracekit_tui.text import Line, Run
from tracekit_tui.textpane import TextPane

_SIGNS: dict[str, Run] = {"same": ("=", "dim"), "only_left": ("<", "warn"), "only_right": (">", "warn")}


def _name_of(pair: Pair) -> tuple[str | None, str | None]:
    """What a pair is known by: the ids of its steps."""
    return (pair.left.step_id if pair.left else None, pair.right.step_id if pair.right else None)


def _differs(pair: Pair) -> bool:
    return pair.change != "same"


class DiffScreen(ExplorerScreen):
    """Two runs."""

    place: ClassVar[str] = "diff"
    enter: ClassVar[str] = "read both"

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        self.first, self.second = first, second
        self.pairs: Sequence[Pair] | None = None
        """None until they are known."""
        self.names = first[:8], second[:8]

    def body(self) -> ComposeResult:
        yield VirtualList(id="pairs", title="steps", empty="no log that was read holds a step of these two")
        yield TextPane(id="detail")

    def start(self) -> None:
        self.query_one(VirtualList).focus()
        self.changed()

    def changed(self) -> None:
        controller = self.explorer.controller
        if controller is not None:
            first, second = self.first, self.second
            self.in_thread(
                lambda: (names_of(controller, first, second), pair_up(controller, first, second)),
                self._show,
                group="diff",
            )

    def crumb(self) -> list[Run]:
        runs: list[Run] = [(self.names[0], "accent"), (" | ", "dim"), (self.names[1], "accent")]
        if self.pairs is None:
            return runs
        count = sum(map(_differs, self.pairs))
        if not count:
            return [*runs, (f"  the same {counted(len(self.pairs), 'step')} in both", "ok")]
        return [*runs, (f"  {counted(count, 'step')} {'differs' if count == 1 else 'differ'}", "warn")]

    def _show(self, answer: tuple[tuple[str, str], Sequence[Pair]]) -> None:
        is_first, (self.names, pairs) = self.pairs is None, answer
        self.pairs = pairs
        parted = first_divergence(pairs)
        columns: list[Column[Any]] = [
            Column(self.names[0], lambda row, width: _half(row.left, row), share=0.47),
            Column("", lambda row, width: [_SIGNS.get(row.change, ("≠", "warn"))], width=1),
            Column(self.names[1], lambda row, width: _half(row.right, row)),
        ]
        self.query_one(VirtualList).feed(
            columns, fixed_page(pairs), keep_cursor=not is_first, at=parted or 0, key=_name_of
        )
        self.tell()

    def on_virtual_list_moved(self, event: VirtualList.Moved) -> None:
        controller = self.explorer.controller
        if controller is None:
            return
        pair: Pair = event.row
        first, second = self.first, self.second
        self.query_one(TextPane).show(lambda width: pair_text(controller, first, second, pair, width))

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        self.query_one(TextPane).focus()

    def go_back(self) -> bool:
        if super().go_back():
            return True
        found = self.query_one(VirtualList)
        if found.has_focus:
            return False
        found.focus()
        return True

    def action_next_difference(self, direction: int) -> None:
        found = self.query_one(VirtualList)
        places = [place for place, pair in enumerate(self.pairs or ()) if _differs(pair)]
        ahead = [place for place in places if (place - found.cursor) * direction > 0]
        if places:
            found.go((ahead or places)[0 if direction > 0 else -1])
        else:
            self.notify("the two runs do not differ", markup=False)

    def copyable(self) -> list[Copyable]:
        controller, pair = self.explorer.controller, self.query_one(VirtualList).current
        if controller is None or pair is None:
            return []
        first, second = self.first, self.second

        def both() -> str:
            lines = pair_text(controller, first, second, pair, 160)
            return "\n".join("".join(text for text, _ in line) for line in lines)

        return [("both sides as text", both)]


def _half(step: AlignStep | None, pair: Pair) -> list[Run]:
    if step is None:
        return [("–", "dim")]
    sign, ink = glyph(step.status)
    return [
        (f"{step.seq:>4} ", "dim"),
        (sign + " ", ink),
        (step.name, "warn" if _differs(pair) else "plain"),
    ]


def names_of(controller: Controller, first: str, second: str) -> tuple[str, str]:
    """What the two runs are called: by their tasks, or, where these are the same, by their traces."""
    rows = [controller.analysis.trace(trace_id) for trace_id in (first, second)]
    one, two = (None if row is None else row.task_id for row in rows)
    return (one, two) if one and two and one != two else (first[:8], second[:8])


def pair_up(controller: Controller, first: str, second: str) -> list[Pair]:
    """Steps of both runs in order, partners beside each other."""
    left, right = (controller.analysis.diff_steps(trace_id) for trace_id in (first, second))
    return align(left, right)


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
