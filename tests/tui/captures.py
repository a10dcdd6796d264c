"""
Writes the pictures of the seven screens into docs/tui.md, from `sample_traces/`: `python -m tests.tui.captures`.

Each picture stands between `<!-- capture NAME -->` and `<!-- end -->`; the text around them is left alone.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from pathlib import Path

from tests.tui.driving import explorer, press, screen_text, settle
from tests.tui.waiting import waiting_store
from tracekit import clock
from tracekit.clock import SystemClock
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
)
"""Named, so that a new sample changes no picture."""
TRACE_OF = "refund_killed.jsonl"
SIZE = (100, 26)
KEYS: dict[str, tuple[str, ...]] = {
    "traces": (),
    "trace": (),
    "verdict": (),
    "recovery": (),
    "review": (),
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


def opened(folder: Path) -> Controller:
    """The samples, with a store that holds the killed task as waiting for a person."""
    samples = [Path("sample_traces") / f"{name}.jsonl" for name in SAMPLES]
    controller = open_controller(samples, store=None, app=None, reader=None)
    rows = controller.analysis.traces().rows
    killed = next(row for row in rows if row.source.file.endswith(TRACE_OF))
    newest = max(row.started_at for row in rows if row.started_at is not None)
    with clock.use(ClockOfTheLog(int((newest.timestamp() + 300) * 1e9))):
        url = waiting_store(folder, task_id=str(killed.task_id), trace_id=killed.trace_id)
    controller.recoveries = Recoveries(url)
    controller.who = "ada"
    return controller


async def captures() -> dict[str, str]:
    """Name of each screen to what it shows, walked through in one run of the app."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        controller = opened(Path(folder))
        rows = controller.analysis.traces().rows
        killed = next(row for row in rows if row.source.file.endswith(TRACE_OF))
        newest = max(row.started_at for row in rows if row.started_at is not None)
        with clock.use(ClockOfTheLog(int((newest.timestamp() + 300) * 1e9))):
            async with explorer(lambda: controller, size=SIZE) as (app, pilot):
                for name, keys in KEYS.items():
                    if name != "traces":
                        app.look_at(killed.trace_id, killed.failed_step)
                        app.go(name)
                        await settle(pilot)
                    await press(pilot, *keys)
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
