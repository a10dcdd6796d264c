"""A recovery that runs in a process of its own, watched on its screen until it has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.driving import settle
from tests.tui.killed import environment
from tracekit_tui.app import Explorer
from tracekit_tui.screens.recovery import RecoveryScreen


async def watched_to_the_end(app: Explorer, pilot: Pilot[int]) -> RecoveryScreen:
    """The recovery screen once the process that it watches has ended."""
    screen = app.screen
    assert isinstance(screen, RecoveryScreen)
    for _ in range(600):
        await settle(pilot)
        if screen.code is not None:
            break
        await pilot.pause(0.05)
    await settle(pilot)
    return screen


def use_environment(monkeypatch: pytest.MonkeyPatch, home: Path, **more: str) -> None:
    """The environment in which the killed agent ran, for this process too."""
    for name, value in environment(home, **more).items():
        monkeypatch.setenv(name, value)
