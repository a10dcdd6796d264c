"""Driving the explorer by keys: wait until its threads are done, read what is on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot
from textual.worker import WorkerState

from tracekit_analyzers.views import Analysis
from tracekit_tui.app import Explorer
from tracekit_tui.controller import Controller
from tracekit_tui.recoveries import Recoveries

LAYOUT_S = 30.0
BUSY = (WorkerState.PENDING, WorkerState.RUNNING)


HOPS = 4
"""
How often in a row nothing may be under way: a row that has come is announced by its list, through the panels around it,
to the screen, which then asks for the detail, and each of them is a message that one pause lets through.
"""


async def settle(pilot: Pilot[int]) -> None:
    """Return when no work is under way any more, and what waited for the next layout is done."""
    quiet = 0
    while quiet < HOPS:
        await pilot.pause()
        laid_out = asyncio.Event()
        if pilot.app.screen.call_after_refresh(laid_out.set):
            await asyncio.wait_for(laid_out.wait(), LAYOUT_S)
        busy = any(worker.state in BUSY for worker in pilot.app.workers)
        quiet = 0 if busy else quiet + 1
        if busy:
            await pilot.pause(0.005)


@asynccontextmanager
async def explorer(
    analysis: Analysis | Callable[[], Controller],
    *,
    size: tuple[int, int] = (100, 30),
    recoveries: Recoveries | None = None,
    who: str = "ada",
    keys: dict[str, str] | None = None,
    theme: str | None = None,
) -> AsyncIterator[tuple[Explorer, Pilot[int]]]:
    """The running app over *analysis*, its first reading done."""
    opener = analysis if callable(analysis) else lambda: Controller(analysis, recoveries, who)
    app = Explorer(opener, keys=keys)
    async with app.run_test(size=size) as pilot:
        if theme is not None:
            app.theme = theme
        await settle(pilot)
        yield app, pilot
    if app.controller is not None:
        app.controller.close()
    assert app.defects == []


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press *keys* one by one, each when the one before is worked off."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def type_text(pilot: Pilot[int], text: str) -> None:
    """Type *text* and wait."""
    names = {
        " ": "space",
        "*": "asterisk",
        "=": "equals_sign",
        ".": "full_stop",
        "_": "underscore",
        ">": "greater_than_sign",
    }
    await pilot.press(*[names.get(letter, letter) for letter in text])
    await settle(pilot)


def screen_text(app: Explorer) -> str:
    """Everything that the terminal would show, line by line."""
    height = app.size.height
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in lines[:height])


def screen_words(app: Explorer) -> str:
    """What stands on the screen, without frames and line breaks."""
    return " ".join(screen_text(app).replace("│", " ").split())
