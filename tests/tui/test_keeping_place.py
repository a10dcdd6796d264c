"""While new rows come in, the cursor stays on its row, and no key that is pressed meanwhile is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.tui.driving import explorer, press, settle
from tests.tui.fake_analysis import FakeAnalysis
from tracekit_analyzers.views import Page
from tracekit_tui.list import VirtualList, fixed_page, text_column

COLUMNS = [text_column("name", str)]


def numbered(first: int, count: int) -> Callable[[int, int], Page[int]]:
    return fixed_page(list(range(first, first + count)))


async def test_the_cursor_goes_along_with_its_row_when_rows_come_in_above_it() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        # The screen of damaged lines does nothing of its own with the row under the cursor.
        await press(pilot, "ctrl+w")
        rows = app.screen.query_one(VirtualList)
        rows.feed(COLUMNS, numbered(100, 50), key=lambda row: row)
        await settle(pilot)
        await press(pilot, "j", "j")
        assert rows.current == 102

        rows.feed(COLUMNS, numbered(97, 53), keep_cursor=True, key=lambda row: row)
        await settle(pilot)

        assert (rows.cursor, rows.current) == (5, 102)


async def test_a_key_pressed_while_new_rows_are_on_their_way_counts() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        # The screen of damaged lines does nothing of its own with the row under the cursor.
        await press(pilot, "ctrl+w")
        rows = app.screen.query_one(VirtualList)
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


async def test_a_row_that_is_gone_leaves_the_cursor_where_it_was() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        # The screen of damaged lines does nothing of its own with the row under the cursor.
        await press(pilot, "ctrl+w")
        rows = app.screen.query_one(VirtualList)
        rows.feed(COLUMNS, numbered(0, 50), key=lambda row: row)
        await settle(pilot)
        await press(pilot, "G")

        rows.feed(COLUMNS, numbered(0, 20), keep_cursor=True, key=lambda row: row)
        await settle(pilot)

        assert rows.cursor == 19
