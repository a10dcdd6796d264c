"""Answers that come in another order than they were asked for: the screen ends up the same."""

from __future__ import annotations

import threading
from dataclasses import replace

from tests.tui.driving import explorer, screen_text, settle
from tests.tui.fake_analysis import FakeAnalysis
from tracekit_analyzers.views import StepDetail, TraceRow


class LateTrace(FakeAnalysis):
    """Knows a step at once, and its trace only when the test lets it."""

    def __init__(self) -> None:
        super().__init__(traces=3, steps=4)
        self.let = threading.Event()
        self.asked_by_screen = False

    def trace(self, trace_id: str) -> TraceRow | None:
        if self.asked_by_screen:
            self.let.wait(30)
        row = super().trace(trace_id)
        return None if row is None else replace(row, status="killed")

    def step(self, trace_id: str, step_id: str) -> StepDetail | None:
        found = super().step(trace_id, step_id)
        assert found is not None
        return replace(found, line=replace(found.line, status="running"))


async def test_a_detail_that_came_before_its_trace_says_that_the_step_was_left_behind() -> None:
    analysis = LateTrace()
    async with explorer(analysis) as (app, pilot):
        analysis.asked_by_screen = True
        await pilot.press("enter")
        while not getattr(app.screen, "detail", None):
            await pilot.pause(0.01)
        assert "its process is gone" not in screen_text(app)

        analysis.let.set()
        await settle(pilot)
        assert "its process is gone" in screen_text(app)
