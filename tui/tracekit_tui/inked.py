"""A scrolling widget of inked lines: what the list and the text pane share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tracekit_tui.text import Ink, Run, fit, visible


class Inked(ScrollView, can_focus=True):
    """A widget that renders lines of runs itself, one strip at a time; never from markup."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "ink--plain",
        "ink--dim",
        "ink--ok",
        "ink--error",
        "ink--warn",
        "ink--accent",
        "ink--strong",
        "ink--title",
        "ink--bar",
        "ink--cursor",
        "ink--cursor-away",
    }

    @property
    def inner_width(self) -> int:
        """Cells of a line, the scroll bar left out."""
        return self.scrollable_content_region.width

    def scroll_at_once(self, y: int) -> None:
        """
        Put line *y* at the top.

        Forced: Textual scrolls nothing whose scroll bar is not shown yet, and right after a layout that made the panel
        lower it is not, so that the line under the cursor would stand out of sight.
        """
        self.scroll_to(y=y, animate=False, immediate=True, force=True)

    def watch_show_vertical_scrollbar(self, is_shown: bool) -> None:
        """A scroll bar that comes after its panel was scrolled begins where the panel stands."""
        if is_shown:
            self.vertical_scrollbar.position = self.scroll_offset.y

    def ink(self, name: Ink) -> Style:
        """The style of an ink in the theme in use."""
        return self.get_component_rich_style(f"ink--{name}", partial=True)

    def cursor_style(self) -> Style:
        """The style laid over the line under the cursor: fainter while another panel has the focus."""
        name = "ink--cursor" if self.has_focus else "ink--cursor-away"
        return self.get_component_rich_style(name)

    def strip_of(self, line: Iterable[Run], width: int, *, cursor: bool = False) -> Strip:
        """*line* in exactly *width* cells; every text passes `visible` here, whatever was forgotten before."""
        base = self.rich_style
        if cursor:
            over = self.cursor_style()
            segments = [Segment(visible(text), base + self.ink(ink) + over) for text, ink in line]
            return Strip(segments).adjust_cell_length(width, base + over)
        segments = [Segment(visible(text), base + self.ink(ink)) for text, ink in line]
        return Strip(segments).adjust_cell_length(width, base)

    def blank(self) -> Strip:
        """An empty line."""
        return Strip.blank(self.inner_width, self.rich_style)


def cells(runs: Iterable[Run], width: int) -> list[Run]:
    """*runs* in exactly *width* cells: the last one is cut or padded."""
    done: list[Run] = []
    left = width
    for text, ink in runs:
        size = cell_len(text)
        if size >= left:
            done.append((fit(text, left), ink))
            return done
        done.append((text, ink))
        left -= size
    done.append((" " * left, "plain"))
    return done
