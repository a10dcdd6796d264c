"""
The one list of the explorer: any number of rows, of which only the pages in sight are ever fetched.

A list is fed by a function that answers a page; it is called in a thread, so that a key is answered at once even
while a page is on its way (its rows show `…` until it has come).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from tracekit_analyzers.views import Page
from tracekit_tui.actions import bindings
from tracekit_tui.background import Busy
from tracekit_tui.inked import Inked, cells
from tracekit_tui.marks import shown
from tracekit_tui.text import Line, Run, fit

Row = TypeVar("Row")

PAGE_ROWS = 200
PAGES_KEPT = 64
"""12,800 rows: more than any screen shows, less than 10 MB."""
MIN_ROWS = 3
"""Rows for which a list keeps room that is no higher than it needs."""
SEARCHED_PAGES = 25
"""Pages on either side in which the row under the cursor is looked for when it has moved: 5,000 rows."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column: how wide, and how a row's cell is made."""

    title: str
    render: Callable[[Row, int], Sequence[Run]]
    """Runs of the cell; the second argument is the cells to fill."""
    width: int = 0
    """Cells; 0 takes what the others leave."""
    share: float = 0.0
    """Instead of a width: this share of the list."""
    from_width: int = 0
    """Left out while the list is narrower than this."""
    right: bool = False


def text_column(
    title: str, text: Callable[[Any], str], *, width: int = 0, from_width: int = 0, right: bool = False
) -> Column[Any]:
    """A column of plain text."""

    def render(row: Any, cells_wide: int) -> Sequence[Run]:
        return [(fit(text(row), cells_wide, right=right), "plain")]

    return Column(title, render, width=width, from_width=from_width, right=right)


Fetch = Callable[[int, int], Page[Any]]
"""(offset, limit) to a page; called in a thread."""


class VirtualList(Busy, Inked):
    """A list of rows with a cursor; rows come by page from a function that runs in a thread."""

    BINDINGS = bindings("list")
    cursor: reactive[int] = reactive(0, always_update=False)

    class Moved(Message):
        """The cursor stands on another row, or its row has come."""

        def __init__(self, source: VirtualList, row: Any) -> None:
            super().__init__()
            self.source = source
            self.row = row

        @property
        def control(self) -> VirtualList:
            return self.source

    class Opened(Moved):
        """Enter or a double click on a row."""

    empty: ClassVar[str] = "nothing here"

    def __init__(self, *, id: str, title: str = "", empty: str = "nothing here") -> None:
        super().__init__(id=id)
        self.title = title
        self.empty_text = empty
        self._columns: Sequence[Column[Any]] = ()
        self._fetch: Fetch | None = None
        self._pages: OrderedDict[int, Sequence[Any]] = OrderedDict()
        self._wanted: list[int] = []
        self._fetching = False
        self._generation = 0
        self.total = 0
        self.unfiltered = 0
        self.loaded = False
        self._announced: Any = None
        self._key: Callable[[Any], object] | None = None
        self._follow_end = False
        self._placed_at: int | None = 0
        """Where the cursor was put without a key; None once a person has moved it."""
        self.fits_rows = False
        """Whether it is no higher than its rows need, so that what stands below has the room."""
        self._put_at: int | None = None
        """Where the cursor is to be put when the rows have come that were asked for."""

    # ------------------------------------------------------------------ feeding

    def feed(
        self,
        columns: Sequence[Column[Any]],
        fetch: Fetch,
        *,
        keep_cursor: bool = False,
        at: int = 0,
        key: Callable[[Any], object] | None = None,
        follow_end: bool = False,
    ) -> None:
        """
        Show what *fetch* answers, the cursor *at* that row; old rows stay until the first page has come.

        Args:
            keep_cursor: The cursor stays where it is when the rows have come.
            key: What a row is known by: with *keep_cursor*, the cursor goes along with its row to its new place. One that
                nobody has moved from the top stays at the top.
            follow_end: A cursor that stands at the last row when the rows have come goes to the new last one.
        """
        self._columns, self._fetch = columns, fetch
        self._generation += 1
        self._wanted.clear()
        self._fetching = False
        self._announced = None
        self._key = key
        self._follow_end = follow_end
        if not keep_cursor:
            self._put_at = at
        self._ask_first(self._put_at)

    def _ask_first(self, at: int | None) -> None:
        """Ask for the page of the row *at*, or for the one in which the row under the cursor stands now."""
        fetch, key, generation = self._fetch, self._key, self._generation
        assert fetch is not None
        to_end = at is None and self._at_followed_end
        page = (self.cursor if at is None else at) // PAGE_ROWS
        goes_along = at is None and not to_end and not self._rests_at_top
        names = self._names_here() if goes_along else ()

        def look() -> tuple[int, Page[Any]]:
            if to_end:
                return _last_page(fetch)
            return _page_with(fetch, page, key, names)

        self.in_thread(
            look,
            lambda found: self._restart(generation, found[0], at, names, found[1]),
            group=f"{self.id}-first",
        )

    def use_columns(self, columns: Sequence[Column[Any]]) -> None:
        """Draw the same rows in other columns."""
        self._columns = columns
        self.refresh()

    def _restart(
        self, generation: int, page: int, at: int | None, asked: Sequence[object], answer: Page[Any]
    ) -> None:
        if generation != self._generation:
            return
        position, shift = at, 0
        if position is None:
            # Asked now, not when the rows were: a key that was pressed meanwhile counts.
            position = self._place_of_current(page, answer, asked)
            if position is None:
                self._ask_first(None)
                return
            shift = position - self.cursor
        self._pages.clear()
        self.loaded = True
        self._take(page, answer)
        self.cursor = max(0, min(position, self.total - 1))
        if at is not None:
            self._placed_at, self._put_at = self.cursor, None
        # The new height counts only after the next layout: scrolling now would be clamped to the old one.
        self.call_after_refresh(self._show_placed if at is not None else lambda: self._show_kept(shift))
        self._announce()

    @property
    def _rests_at_top(self) -> bool:
        return self.cursor == 0 and self._placed_at == 0

    @property
    def _at_followed_end(self) -> bool:
        return self._follow_end and self.cursor >= self.total - 1

    def _names_here(self) -> tuple[object, ...]:
        """What the row under the cursor is known by, then its neighbours, the nearest first: one of them will be left."""
        key = self._key
        if key is None:
            return ()
        held = self._pages.get(self.cursor // PAGE_ROWS, ())
        place = self.cursor % PAGE_ROWS
        if place >= len(held):
            return ()
        return tuple(key(row) for row in (*held[place:], *reversed(held[:place])))

    def _place_of_current(self, page: int, answer: Page[Any], asked: Sequence[object]) -> int | None:
        """
        Where the row under the cursor stands in the new rows, or the nearest that is still there; where it stood when
        none is. None when the cursor went to a row meanwhile that *answer* was not asked for.
        """
        if self._at_followed_end:
            last = answer.total - 1
            return last if page == max(0, last) // PAGE_ROWS else None
        names = self._names_here()
        if self._key is None or not names or self._rests_at_top:
            return self.cursor
        places = {self._key(row): page * PAGE_ROWS + at for at, row in enumerate(answer.rows)}
        if names[0] in places:
            return places[names[0]]
        if not asked or asked[0] != names[0]:
            return None
        return next((places[name] for name in names if name in places), self.cursor)

    def _take(self, page: int, answer: Page[Any]) -> None:
        self._pages[page] = answer.rows
        self._pages.move_to_end(page)
        while len(self._pages) > PAGES_KEPT:
            self._pages.popitem(last=False)
        self.total, self.unfiltered = answer.total, answer.unfiltered
        self.virtual_size = Size(self.inner_width, self.total + 1)
        self.fit_rows(self.fits_rows)
        self._tell_count()
        self.refresh()

    def fit_rows(self, fits: bool) -> None:
        """Be no higher than the rows need from now on, or as high as the layout says."""
        self.fits_rows = fits
        head_and_frame = 3
        self.styles.max_height = max(MIN_ROWS, self.total) + head_and_frame if fits else None

    def row(self, index: int) -> Any | None:
        """The row at *index*, or None while its page is on its way."""
        if not 0 <= index < self.total:
            return None
        page = index // PAGE_ROWS
        rows = self._pages.get(page)
        if rows is None:
            self._want(page)
            return None
        place = index % PAGE_ROWS
        return rows[place] if place < len(rows) else None

    @property
    def current(self) -> Any | None:
        """The row under the cursor."""
        return self.row(self.cursor)

    def _want(self, page: int) -> None:
        if page not in self._wanted:
            self._wanted.append(page)
            self.call_later(self._pump)

    def _pump(self) -> None:
        if self._fetching or not self._wanted or self._fetch is None:
            return
        self._fetching = True
        # The page asked for last is the one in sight.
        page, fetch, generation = self._wanted[-1], self._fetch, self._generation
        self.in_thread(
            lambda: fetch(page * PAGE_ROWS, PAGE_ROWS),
            lambda answer: self._arrived(generation, page, answer),
            group=f"{self.id}-page",
        )

    def _arrived(self, generation: int, page: int, answer: Page[Any]) -> None:
        if generation != self._generation:
            return
        self._fetching = False
        self._wanted = [other for other in self._wanted if other != page][-4:]
        self._take(page, answer)
        self._announce()
        self._pump()

    def _tell_count(self) -> None:
        seen = min(self.total, max(0, self.size.height - 1))
        self.border_title = self.title
        self.border_subtitle = shown(seen, self.total, self.unfiltered)

    # ------------------------------------------------------------------ moving

    def watch_cursor(self, before: int, after: int) -> None:
        if before == after:
            return
        top = self.scroll_offset.y
        self._show_cursor()
        if self.scroll_offset.y == top:
            # Two lines are drawn, not the whole list: a third of the time that a key takes.
            self._refresh_row(before)
            self._refresh_row(after)
        else:
            self.refresh()
        self._announce()

    def _show_cursor(self) -> None:
        height = max(1, self.size.height - 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_at_once(self.cursor)
        elif self.cursor >= top + height:
            self.scroll_at_once(self.cursor - height + 1)

    def _show_kept(self, shift: int) -> None:
        """The row under the cursor went *shift* rows down: it stays in its line of the screen where there is room."""
        if shift:
            self.scroll_at_once(max(0, self.scroll_offset.y + shift))
        self._show_cursor()

    def _show_placed(self) -> None:
        """Show what stands around a cursor that nobody has moved yet, in the middle."""
        if self.cursor != self._placed_at:
            self._show_cursor()
            return
        height = max(1, self.size.height - 1)
        last = max(0, self.total - height)
        self.scroll_at_once(min(last, max(0, self.cursor - height // 2)))

    def _announce(self) -> None:
        row = self.current
        if row is not None and row != self._announced:
            self._announced = row
            self.post_message(self.Moved(self, row))

    def go(self, index: int) -> None:
        """Put the cursor on a row as a person wants it."""
        self._placed_at = None
        self.cursor = max(0, min(self.total - 1, index))

    def action_move(self, count: int) -> None:
        self.go(self.cursor + count)

    def action_top(self) -> None:
        self.go(0)

    def action_bottom(self) -> None:
        self.go(self.total - 1)

    def action_half_page(self, halves: int) -> None:
        self.action_move(halves * max(1, (self.size.height - 1) // 2))

    def action_open(self) -> None:
        if (row := self.current) is not None:
            self.post_message(self.Opened(self, row))

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y - self.gutter.top - 1
        if 0 <= index < self.total and event.y > self.gutter.top:
            self.go(index)
            if event.chain > 1:
                self.action_open()

    def on_resize(self) -> None:
        self.virtual_size = Size(self.inner_width, self.total + 1)
        self._tell_count()
        self._show_placed()

    # ------------------------------------------------------------------ drawing

    def layout_columns(self) -> list[tuple[Column[Any], int]]:
        """The columns that have room, with their widths."""
        width = self.inner_width
        seen = [column for column in self._columns if width >= column.from_width]
        fixed = sum(column.width or int(column.share * width) for column in seen) + max(0, len(seen) - 1)
        rest = max(4, width - fixed)
        return [(column, column.width or int(column.share * width) or rest) for column in seen]

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return self.strip_of(self._head(), self.inner_width)
        index = self.scroll_offset.y + y - 1
        if index >= self.total:
            return self._beyond(y)
        row = self.row(index)
        line: list[Run] = self._line(row) if row is not None else [("…", "dim")]
        return self.strip_of(line, self.inner_width, cursor=index == self.cursor)

    def _beyond(self, y: int) -> Strip:
        if self.total or y != 1:
            return self.blank()
        text = self.empty_text if self.loaded else "reading …"
        return self.strip_of([(f" {text}", "dim")], self.inner_width)

    def _head(self) -> list[Run]:
        line: list[Run] = []
        for column, width in self.layout_columns():
            line += [(fit(column.title, width, right=column.right), "title"), (" ", "title")]
        return line[:-1]

    def _line(self, row: Any) -> list[Run]:
        line: list[Run] = []
        for column, width in self.layout_columns():
            line += [*cells(column.render(row, width), width), (" ", "plain")]
        return line[:-1]

    def _refresh_row(self, index: int) -> None:
        """Draw the line of one row again."""
        self.refresh(Region(0, index - self.scroll_offset.y + 1, self.size.width, 1))


def _page_with(
    fetch: Fetch, page: int, key: Callable[[Any], object] | None, names: Sequence[object]
) -> tuple[int, Page[Any]]:
    """The page nearest to *page* with the first of *names*, where it is near; else *page* itself."""
    answer = fetch(page * PAGE_ROWS, PAGE_ROWS)
    if key is None or not names or any(key(row) == names[0] for row in answer.rows):
        return page, answer
    last = max(0, answer.total - 1) // PAGE_ROWS
    for distance in range(1, SEARCHED_PAGES + 1):
        for other in (page + distance, page - distance):
            if 0 <= other <= last:
                found = fetch(other * PAGE_ROWS, PAGE_ROWS)
                if any(key(row) == names[0] for row in found.rows):
                    return other, found
    return page, answer


def _last_page(fetch: Fetch) -> tuple[int, Page[Any]]:
    page = max(0, fetch(0, 1).total - 1) // PAGE_ROWS
    return page, fetch(page * PAGE_ROWS, PAGE_ROWS)


def fixed_page(rows: Sequence[Any]) -> Fetch:
    """A fetch function over rows that are already here."""

    def fetch(offset: int, limit: int) -> Page[Any]:
        return Page(tuple(rows[offset : offset + limit]), offset, len(rows), len(rows))

    return fetch


__all__ = ["Column", "Fetch", "Line", "VirtualList", "fixed_page", "text_column"]
