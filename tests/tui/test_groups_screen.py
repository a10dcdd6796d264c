"""Groups of like failures: counted over real logs, and Enter shows only their traces."""

from __future__ import annotations

from pathlib import Path

from tests.tui.driving import explorer, press, screen_text, settle, type_text
from tests.tui.fake_analysis import FakeAnalysis
from tracekit_tui.controller import open_controller
from tracekit_tui.list import VirtualList

SAMPLES = Path(__file__).parents[2] / "sample_traces"


async def test_a_lists_like_failures_and_enter_shows_their_traces_only() -> None:
    async with explorer(lambda: open_controller([SAMPLES], store=None, app=None, reader=None)) as (
        app,
        pilot,
    ):
        await press(pilot, "a")
        text = screen_text(app)
        assert "GROUPS" in text
        assert "process.killed" in text
        assert "8 %" in text

        groups = app.screen.query_one(VirtualList)
        groups.cursor = next(at for at in range(groups.total) if groups.row(at).code == "process.killed")
        await settle(pilot)
        assert "1 failure in 1 trace" in screen_text(app)
        await press(pilot, "enter")

        text = screen_text(app)
        assert "/group=" in text
        assert "1 of 1 shown · 13 unfiltered" in text
        assert "refund-killed" in text
        await press(pilot, "escape")
        assert "13 of 13 shown" in screen_text(app)


async def test_a_group_leads_to_an_example_and_its_verdict_and_escape_back() -> None:
    async with explorer(FakeAnalysis(traces=30)) as (app, pilot):
        await press(pilot, "a", "t")
        assert getattr(app.screen, "place", "") == "trace"
        await press(pilot, "escape", "v")
        assert getattr(app.screen, "place", "") == "verdict"
        await press(pilot, "escape", "escape")
        assert getattr(app.screen, "place", "") == "traces"


async def test_where_nothing_failed_it_says_so() -> None:
    ok = [SAMPLES / "refund_ok.jsonl"]
    async with explorer(lambda: open_controller(ok, store=None, app=None, reader=None)) as (app, pilot):
        await press(pilot, "a")
        assert "nothing failed in what was read" in screen_text(app)


async def test_a_group_that_is_none_leaves_no_trace() -> None:
    async with explorer(lambda: open_controller([SAMPLES], store=None, app=None, reader=None)) as (
        app,
        pilot,
    ):
        await press(pilot, "slash")
        await type_text(pilot, "group=zz")
        await press(pilot, "enter")
        assert "0 of 0 shown · 13 unfiltered" in screen_text(app)


async def test_the_tool_of_a_group_stands_in_the_list_in_a_narrow_window_too() -> None:
    async with explorer(FakeAnalysis(traces=30), size=(80, 24)) as (app, pilot):
        await press(pilot, "a")
        row = next(line for line in screen_text(app).split("\n") if "timeout.no_answer" in line)
        assert "payment.refund" in row
