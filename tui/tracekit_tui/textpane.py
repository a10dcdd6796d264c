"""A panel of text: long texts are wrapped in a thread, drawn by line, and copied as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip

from tracekit_tui.actions import bindings
from tracekit_tui.background import Busy
from tracekit_tui.inked import Inked
from tracekit_tui.text import Line, plain

Make = Callable[[int], Sequence[Line]]
"""Lines for a width in cells; called in a thread."""


class TextPane(Busy, Inked):
    """Lines of inked text that scroll; made again in a thread when the width changes."""

    BINDINGS = bindings("text")
    ALLOW_SELECT = True

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._make: Make | None = None
        self._made_for = 0
        self._at_end = False
        """Whether the last lines are to be in sight, whatever comes and however low the panel gets."""

    @property
    def text(self) -> str:
        """What is shown, as text."""
        return "\n".join(plain(line) for line in self._lines)

    def show(self, make: Make, *, keep_place: bool = False, at_end: bool = False) -> None:
        """
        Show what *make* makes for the width of this panel, from its top.

        Args:
            keep_place: The lines in sight stay where they are.
            at_end: The last lines are shown, as of a text that grows.
        """
        self._make, self._at_end = make, at_end
        width = self.inner_width
        if width <= 0:
            self._made_for = 0
            return
        self._made_for = width
        self.in_thread(
            lambda: make(width), lambda lines: self._take(lines, keep_place), group=f"{self.id}-text"
        )

    def _take(self, lines: Sequence[Line], keep_place: bool) -> None:
        self._lines = lines
        self.virtual_size = Size(self.inner_width, len(lines))
        self._tell_count()
        if self._at_end:
            # The new height counts only after the next layout.
            self.call_after_refresh(self._show_end)
        elif not keep_place:
            self.scroll_at_once(0)
        self.refresh()

    def _tell_count(self) -> None:
        count = len(self._lines)
        self.border_subtitle = f"{count:,} lines" if count > self.size.height else ""

    def on_resize(self) -> None:
        self._tell_count()
        if self._make is not None and self.inner_width != self._made_for:
            self.show(self._make, keep_place=True, at_end=self._at_end)
        elif self._at_end:
            self.call_after_refresh(self._show_end)

    def render_line(self, y: int) -> Strip:
        index = self.scroll_offset.y + y
        if index >= len(self._lines):
            return self.blank()
        strip = self.strip_of(self._lines[index], self.inner_width)
        span = self.text_selection.get_span(index) if self.text_selection is not None else None
        return (strip if span is None else self._selected(strip, *span)).apply_offsets(0, index)

    def _selected(self, strip: Strip, start: int, end: int) -> Strip:
        width = strip.cell_length
        end = width if end == -1 else min(end, width)
        style = self.screen.get_component_rich_style("screen--selection")
        middle = Strip([Segment(text, (ink or Style()) + style) for text, ink, _ in strip.crop(start, end)])
        return Strip.join([strip.crop(0, start), middle, strip.crop(end, width)])

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.text), "\n"

    def _show_end(self) -> None:
        self.scroll_at_once(max(0, len(self._lines) - self.size.height))

    def action_move(self, count: int) -> None:
        self._at_end = False
        self.scroll_relative(y=count, animate=False, immediate=True)

    def action_top(self) -> None:
        self._at_end = False
        self.scroll_at_once(0)

    def action_bottom(self) -> None:
        self._show_end()

    def action_half_page(self, halves: int) -> None:
        self.action_move(halves * max(1, self.size.height // 2))
