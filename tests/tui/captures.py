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
TRACE_OF = "refund_killed.jsonl"
SIZE = (100, 26)
KEYS = {
    "traces": (),
    "trace": ("enter",),
    "verdict": ("v",),
    "recovery": ("r",),
    "review": ("5",),
    "sql": ("6", "f5"),
    "live": ("7",),
}


class ClockOfTheLog(SystemClock):
    """Five minutes after the newest sample began."""

    def __init__(self, ns: int) -> None:
        self._ns = ns

    def now_ns(self) -> int:
        return self._ns


def opened(folder: Path) -> Controller:
    """The samples, with a store that holds the killed task as waiting for a person."""
    controller = open_controller([Path("sample_traces")], store=None, app=None, reader=None)
    rows = controller.analysis.traces().rows
    killed = next(row for row in rows if row.source.file.endswith(TRACE_OF))
    newest = max(row.started_at for row in rows if row.started_at is not None)
    with clock.use(ClockOfTheLog(int((newest.timestamp() + 300) * 1e9))):
        url = waiting_store(folder, task_id=str(killed.task_id), trace_id=killed.trace_id)
    controller.recoveries = Recoveries(url)
    controller.who = "ada"
    return controller


async def capture(name: str, controller: Controller) -> str:
    """The screen *name* as text."""
    async with explorer(lambda: controller, size=SIZE) as (app, pilot):
        killed = next(row for row in controller.analysis.traces().rows if row.source.file.endswith(TRACE_OF))
        app.look_at(killed.trace_id, killed.failed_step)
        if name in ("traces", "review", "sql", "live"):
            await press(pilot, *KEYS[name])
        else:
            app.go(name)
            await settle(pilot)
        return "\n".join(line.rstrip() for line in screen_text(app).split("\n"))


def main() -> None:
    """Make all pictures anew."""
    os.chdir(ROOT)
    page = PAGE.read_text(encoding="utf-8")
    for name in KEYS:
        with tempfile.TemporaryDirectory() as folder:
            controller = opened(Path(folder))
            newest = max(row.started_at for row in controller.analysis.traces().rows if row.started_at)
            with clock.use(ClockOfTheLog(int((newest.timestamp() + 300) * 1e9))):
                text = asyncio.run(capture(name, controller))
            controller.close()
        block = f"<!-- capture {name} -->\n```text\n{text}\n```\n<!-- end -->"
        found = re.search(rf"<!-- capture {name} -->.*?<!-- end -->", page, re.DOTALL)
        assert found is not None, f"{PAGE} has no place for {name}"
        page = page.replace(found[0], block)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
