"""
Writes the pictures of the seven screens into docs/tui.md, from `sample_traces/`: `python -m tests.tui.captures`.

Each picture stands between `<!-- capture NAME -->` and `<!-- end -->`; the text around them is left alone.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.tui.driving import explorer, press, screen_text, settle
from tests.tui.sample_store import sample_store
from tracekit import clock
from tracekit.clock import SystemClock
from tracekit_analyzers.views import TraceRow
from tracekit_tui.controller import Controller, open_controller
from tracekit_tui.recoveries import Recoveries

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tui.md"
SAMPLES = (
    "refund_ok",
    "refund_rejected",
    "refund_killed",
    "refund_killed_and_resumed",
    "refund_answer_lost",
    "order_not_found",
    "orders_down",
    "model_rate_limited",
    "real_bad_arguments",
    "real_circle",
    "real_cut_off",
    "real_free_text",
    "real_too_long",
)
"""Named, so that a new sample changes no picture."""
SHOWN, ALSO_WAITING = "refund-killed", "refund-answer-lost"
"""Tasks: whose trace the pictures show, and who waits beside it."""
SIZE = (100, 26)
KEYS: dict[str, tuple[str, ...]] = {
    "traces": ("G", *"kkkkkk"),
    "trace": (),
    "verdict": (),
    "recovery": (),
    "review": ("j", "c"),
    "sql": ("f5",),
    "live": (),
}
"""Screens to the keys pressed on them."""


class ClockOfTheLog(SystemClock):
    """Five minutes after the newest sample began."""

    def __init__(self, ns: int) -> None:
        self._ns = ns

    def now_ns(self) -> int:
        return self._ns


def now_of(rows: Iterable[TraceRow]) -> ClockOfTheLog:
    """The clock at which all pictures are made."""
    newest = max(row.started_at for row in rows if row.started_at is not None)
    return ClockOfTheLog(int((newest.timestamp() + 300) * 1e9))


def opened(folder: Path) -> tuple[Controller, list[TraceRow]]:
    """The samples, with a store in which two of their tasks wait for a person; the shown trace comes first."""
    samples = [Path("sample_traces") / f"{name}.jsonl" for name in SAMPLES]
    controller = open_controller(samples, store=None, app=None, reader=None)
    rows = controller.analysis.traces().rows
    waiting = [next(row for row in rows if row.task_id == task) for task in (SHOWN, ALSO_WAITING)]
    with clock.use(now_of(rows)):
        url = sample_store(folder, controller.analysis, waiting)
    controller.recoveries = Recoveries(url)
    controller.named = "ada"
    return controller, [*waiting, *rows]


async def captures() -> dict[str, str]:
    """Name of each screen to what it shows, walked through in one run of the app."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        controller, (killed, *rows) = opened(Path(folder))
        with clock.use(now_of(rows)):
            async with explorer(lambda: controller, size=SIZE) as (app, pilot):
                for name, keys in KEYS.items():
                    if name != "traces":
                        app.look_at(killed.trace_id, killed.failed_step)
                        app.go(name)
                        await settle(pilot)
                    await press(pilot, *keys)
                    app.clear_notifications()
                    await settle(pilot)
                    found[name] = "\n".join(line.rstrip() for line in screen_text(app).split("\n"))
    return found


def place_of(name: str, page: str) -> str:
    """The block of *page* that holds the picture *name*."""
    found = re.search(rf"<!-- capture {name} -->.*?<!-- end -->", page, re.DOTALL)
    assert found is not None, f"{PAGE} has no place for {name}"
    return found[0]


def main() -> None:
    """Make all pictures anew."""
    os.chdir(ROOT)
    page = PAGE.read_text(encoding="utf-8")
    for name, text in asyncio.run(captures()).items():
        block = f"<!-- capture {name} -->\n```text\n{text}\n```\n<!-- end -->"
        page = page.replace(place_of(name, page), block)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
