"""Two runs side by side: the partners are those of `tracekit diff`, however long the runs are."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.tui.driving import explorer, press, screen_text, settle
from tests.tui.fake_analysis import FakeAnalysis
from tracekit_analyzers.session import Session
from tracekit_analyzers.verdicts.alignment import align, first_divergence
from tracekit_tui.controller import open_controller
from tracekit_tui.list import VirtualList

SAMPLES = Path(__file__).parents[2] / "sample_traces"
LOGS = [SAMPLES / "refund_ok.jsonl", SAMPLES / "refund_killed.jsonl"]


async def test_steps_are_paired_as_the_command_pairs_them_and_the_cursor_stands_where_the_runs_part() -> None:
    with closing(Session(LOGS)) as session:
        session.load()
        rows = {row.task_id: row for row in session.traces().rows}
        left, right = (session.diff_steps(rows[name].trace_id) for name in ("refund-ok", "refund-killed"))
        pairs = align(left, right)
    differing = sum(pair.change != "same" for pair in pairs)
    parted = first_divergence(pairs)
    assert parted

    async with explorer(lambda: open_controller(LOGS, store=None, app=None, reader=None)) as (app, pilot):
        app.open_diff(rows["refund-ok"].trace_id, rows["refund-killed"].trace_id)
        await settle(pilot)

        listed = app.screen.query_one("#pairs", VirtualList)
        assert listed.total == len(pairs)
        assert listed.cursor == parted
        assert f"{differing} steps differ" in screen_text(app)


async def test_two_long_runs_are_compared_to_their_last_step() -> None:
    async with explorer(FakeAnalysis(steps=6000)) as (app, pilot):
        await press(pilot, "space", "j", "space", "equals_sign")

        text = screen_text(app)
        assert "of 6,000 shown" in text
        assert "the same 6,000 steps in both" in text


async def test_enter_leads_into_the_two_texts_and_escape_back_to_the_steps() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "space", "j", "space", "equals_sign", "enter")
        assert app.focused is app.screen.query_one("#detail")

        await press(pilot, "escape")
        assert app.focused is app.screen.query_one("#pairs")

        await press(pilot, "escape")
        assert getattr(app.screen, "place", "") == "traces"
