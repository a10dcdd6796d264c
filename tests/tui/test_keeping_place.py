"""While new rows come in, the cursor stays on its row, and no key that is pressed meanwhile is lost."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from tests.tui.driving import explorer, press, settle
from tests.tui.fake_analysis import FakeAnalysis
from tracekit_analyzers.views import Page
from tracekit_tui.list import VirtualList, fixed_page, text_column

COLUMNS = [text_column("name", str)]


@asynccontextmanager
async def a_list() -> AsyncIterator[tuple[VirtualList, Pilot[int]]]:
    """A list on a screen that does nothing of its own with the row under the cursor: that of damaged lines."""
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "ctrl+w")
        yield app.screen.query_one(VirtualList), pilot


def numbered(first: int, count: int) -> Callable[[int, int], Page[int]]:
    return fixed_page(list(range(first, first + count)))


async def test_the_cursor_goes_along_with_its_row_when_rows_come_in_above_it() -> None:
    async with a_list() as (rows, pilot):
        rows.feed(COLUMNS, numbered(100, 50), key=lambda row: row)
        await settle(pilot)
        await press(pilot, "j", "j")
        assert rows.current == 102

        rows.feed(COLUMNS, numbered(97, 53), keep_cursor=True, key=lambda row: row)
        await settle(pilot)

        assert (rows.cursor, rows.current) == (5, 102)


async def test_a_key_pressed_while_new_rows_are_on_their_way_counts() -> None:
    async with a_list() as (rows, pilot):
        rows.feed(COLUMNS, numbered(0, 50))
        await settle(pilot)
        go_on = threading.Event()

        def slow(offset: int, limit: int) -> Page[int]:
            assert go_on.wait(30)
            return numbered(0, 50)(offset, limit)

        rows.feed(COLUMNS, slow, keep_cursor=True)
        await pilot.press("j", "j")
        go_on.set()
        await settle(pilot)

        assert rows.cursor == 2


@pytest.mark.parametrize(
    ("keys", "left", "found"),
    [
        pytest.param(("G",), (0, 20), 19, id="above_it"),
        pytest.param(("j", "j"), (10, 50), 10, id="below_it"),
    ],
)
async def test_a_row_that_is_gone_leaves_the_cursor_at_the_nearest_that_is_left(
    keys: tuple[str, ...], left: tuple[int, int], found: int
) -> None:
    async with a_list() as (rows, pilot):
        rows.feed(COLUMNS, numbered(0, 50), key=lambda row: row)
        await settle(pilot)
        await press(pilot, *keys)

        rows.feed(COLUMNS, numbered(*left), keep_cursor=True, key=lambda row: row)
        await settle(pilot)

        assert rows.current == found


async def test_the_cursor_finds_its_row_on_another_page() -> None:
    async with a_list() as (rows, pilot):
        rows.feed(COLUMNS, numbered(1000, 500), at=199, key=lambda row: row)
        await settle(pilot)
        assert rows.current == 1199

        for first, place in ((999, 200), (1000, 199), (0, 1199)):
            rows.feed(COLUMNS, numbered(first, 2000), keep_cursor=True, key=lambda row: row)
            await settle(pilot)
            assert (rows.current, rows.cursor) == (1199, place)


async def test_the_row_under_the_cursor_stays_in_its_line_of_the_screen() -> None:
    async with a_list() as (rows, pilot):
        rows.feed(COLUMNS, numbered(100, 300), at=150, key=lambda row: row)
        await settle(pilot)
        line = rows.cursor - rows.scroll_offset.y

        rows.feed(COLUMNS, numbered(90, 310), keep_cursor=True, key=lambda row: row)
        await settle(pilot)

        assert (rows.current, rows.cursor - rows.scroll_offset.y) == (250, line)


async def test_a_key_that_leads_away_while_rows_come_at_the_end_is_not_taken_back() -> None:
    async with a_list() as (rows, pilot):

        def feed(fetch: Callable[[int, int], Page[int]]) -> None:
            rows.feed(COLUMNS, fetch, keep_cursor=True, key=lambda row: row, follow_end=True)

        feed(numbered(0, 500))
        await settle(pilot)
        assert rows.current == 499
        feed(numbered(1, 500))
        await settle(pilot)
        assert rows.current == 500
        go_on = threading.Event()

        def slow(offset: int, limit: int) -> Page[int]:
            assert go_on.wait(30)
            return numbered(2, 500)(offset, limit)

        feed(slow)
        await pilot.press("k")
        go_on.set()
        await settle(pilot)

        assert rows.current == 499


async def test_a_cursor_that_nobody_has_moved_stays_at_the_top_and_one_that_was_moved_there_does_not() -> (
    None
):
    async with a_list() as (rows, pilot):
        rows.feed(COLUMNS, numbered(100, 50), key=lambda row: row)
        await settle(pilot)

        rows.feed(COLUMNS, numbered(90, 60), keep_cursor=True, key=lambda row: row)
        await settle(pilot)
        assert (rows.cursor, rows.current, rows.scroll_offset.y) == (0, 90, 0)

        await press(pilot, "j", "k")
        rows.feed(COLUMNS, numbered(88, 62), keep_cursor=True, key=lambda row: row)
        await settle(pilot)
        assert (rows.cursor, rows.current) == (2, 90)


async def test_rows_that_only_ever_came_in_anew_leave_the_cursor_at_the_top() -> None:
    async with a_list() as (_, pilot):
        rows = VirtualList(id="fresh")
        await pilot.app.screen.mount(rows)
        rows.feed(COLUMNS, numbered(100, 2), keep_cursor=True, key=lambda row: row)
        await settle(pilot)
        assert (rows.cursor, rows.current) == (0, 100)

        rows.feed(COLUMNS, numbered(0, 300), keep_cursor=True, key=lambda row: row)
        await settle(pilot)

        assert (rows.cursor, rows.current) == (0, 0)


async def test_new_rows_that_overtake_a_filter_leave_the_cursor_where_the_filter_puts_it() -> None:
    async with a_list() as (rows, pilot):
        rows.feed(COLUMNS, numbered(0, 50), key=lambda row: row)
        await settle(pilot)
        await press(pilot, "G")
        go_on = threading.Event()

        def slow(offset: int, limit: int) -> Page[int]:
            assert go_on.wait(30)
            return numbered(0, 40)(offset, limit)

        rows.feed(COLUMNS, slow, key=lambda row: row)
        rows.feed(COLUMNS, numbered(0, 60), keep_cursor=True, key=lambda row: row)
        go_on.set()
        await settle(pilot)

        assert (rows.cursor, rows.current) == (0, 0)
