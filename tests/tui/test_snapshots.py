"""How the seven screens look, in three sizes and two themes; `--snapshot-update` after having looked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import textual
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.tui.driving import press, settle
from tests.tui.fake_analysis import START, FakeAnalysis
from tests.tui.waiting import waiting_store
from tracekit import clock
from tracekit.clock import SystemClock
from tracekit_tui.app import Explorer
from tracekit_tui.controller import Controller
from tracekit_tui.recoveries import Recoveries

MADE_WITH = "8.2"
pytestmark = pytest.mark.skipif(
    not textual.__version__.startswith(MADE_WITH), reason=f"the pictures were made with Textual {MADE_WITH}"
)

SIZES = [(80, 24), (100, 30), (160, 50)]
THEMES = ["tracekit-dark", "tracekit-light"]
SCREENS = {
    "traces": (),
    "trace": ("G", "enter"),
    "verdict": ("G", "v"),
    "recovery": ("G", "r"),
    "review": ("5",),
    "sql": ("6", "f5"),
    "live": ("7",),
}


class StillClock(SystemClock):
    """Two minutes after the runs began, for ever."""

    def now_ns(self) -> int:
        return int(START.timestamp() + 120) * 1_000_000_000


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_looks_as_it_was_looked_at(
    screen: str,
    theme: str,
    size: tuple[int, int],
    snap_compare: Callable[..., bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEKIT_THEME", theme)
    with clock.use(StillClock()):
        recoveries = Recoveries(waiting_store(tmp_path))
        app = Explorer(lambda: Controller(FakeAnalysis(traces=40, steps=12), recoveries, "ada"))

        async def walk(pilot: Pilot[Any]) -> None:
            await settle(pilot)
            await press(pilot, *SCREENS[screen])
            for area in app.screen.query(TextArea):
                # Else the picture hangs on the moment at which it is taken.
                area.cursor_blink = False
            await settle(pilot)

        assert snap_compare(app, terminal_size=size, run_before=walk)
