"""
How fast the explorer opens and answers: 30,000 steps in one trace, 100,000 traces, a log of 1 GiB, and a log of 100 MB
that gets 50 lines a second while the live screen follows it.

Each case runs in a process of its own over a log made here, through the real app. Printed: first paint and first rows
(since the process was started), the whole analysis, how long a key takes until its row stands there, memory, and what
following costs.

    python benchmarks/bench_tui.py                 # all four
    python benchmarks/bench_tui.py --only steps    # or traces, large, growing
    python benchmarks/bench_tui.py --large-mb 200  # a smaller large one
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.strip import Strip

    from tracekit_tui.app import Explorer
    from tracekit_tui.list import VirtualList

START = datetime(2026, 1, 1, tzinfo=UTC)
CASES = {
    "steps": (1, 30_000, 40),
    "traces": (100_000, 2, 40),
    "large": (500, 1000, 1900),
    "growing": (12_000, 20, 40),
}
"""Case to traces, steps in each, characters of each value."""
KEYS = ("j", "ctrl+d", "G", "k", "ctrl+u", "g")
ROUNDS = 25
FOLLOWED_S = 30
LINES_A_SECOND = 50


def lines(traces: int, steps: int, characters: int) -> Iterator[str]:
    """The lines of a native log: one ended step a line, each trace with its task step."""
    process = {
        "record": "process",
        "schema": "tracekit.log/1",
        "event": "start",
        "service": "bench",
        "process_id": "b" * 16,
    }
    yield json.dumps(process)
    for trace in range(traces):
        trace_id = f"{trace:032x}"
        for step in range(steps):
            begun = START + timedelta(seconds=trace, milliseconds=step)
            record: dict[str, object] = {
                "record": "step", "trace_id": trace_id, "step_id": f"{trace * steps + step:016x}",
                "parent_step_id": None if step == 0 else f"{trace * steps:016x}", "seq": step + 1,
                "task_id": f"task-{trace}", "process_id": "b" * 16, "kind": "task" if step == 0 else "tool",
                "name": "bench" if step == 0 else f"tool_{step % 9}", "status": "ok",
                "started_at": begun.isoformat().replace("+00:00", "Z"),
                "finished_at": (begun + timedelta(milliseconds=1)).isoformat().replace("+00:00", "Z"),
            }  # fmt: skip
            if step:
                record["input_snapshot"] = {"order": f"A-{trace}-{step}", "text": "x" * (characters // 2)}
                record["output_snapshot"] = {"n": step, "text": "y" * (characters // 2)}
            yield json.dumps(record)


def write_log(path: Path, case: str, large_mb: int) -> int:
    """A log for *case*; its size in bytes."""
    traces, steps, characters = CASES[case]
    limit = large_mb * 1024 * 1024
    with path.open("w") as file:
        for line in lines(traces, steps, characters):
            file.write(line + "\n")
            if case == "large" and file.tell() >= limit:
                break
    return path.stat().st_size


async def measure(path: Path, case: str, began: float) -> dict[str, float]:
    """Open *path* in the real app, walk by keys, and say how long all of it took."""
    from tracekit_tui.app import Explorer
    from tracekit_tui.controller import open_controller
    from tracekit_tui.list import VirtualList

    found: dict[str, float] = {}
    app = Explorer(lambda: open_controller([path], store=None, app=None, reader=None))
    async with app.run_test(size=(100, 30)) as pilot:
        found["first_paint_s"] = time.time() - began
        rows = app.screen.query_one(VirtualList)
        while not rows.total:
            await asyncio.sleep(0.01)
        found["first_rows_s"] = time.time() - began
        while app.loading:
            await asyncio.sleep(0.01)
        found["all_read_s"] = time.time() - began
        found["all_read_cpu_s"] = time.process_time()
        if case == "growing":
            await pilot.press("7")
            found |= await following(app, path)
            return found | {"memory_mb": peak_mb()}
        if case == "steps":
            opened = time.perf_counter()
            await pilot.press("enter")
            rows = app.screen.query_one("#steps", VirtualList)
            while rows.current is None:
                await asyncio.sleep(0.001)
            found["trace_open_s"] = time.perf_counter() - opened
        waits = await key_waits(app, rows)
        found["key_median_ms"] = statistics.median(waits)
        found["key_p99_ms"] = statistics.quantiles(waits, n=100)[98]
    return found | {"memory_mb": peak_mb()}


def peak_mb() -> float:
    """Most memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024 / 1024


async def following(app: Explorer, path: Path) -> dict[str, float]:
    """What the live screen costs over *path* while another process writes to it."""
    assert app.controller is not None
    before = app.controller.analysis.version
    command = [sys.executable, __file__, "--write", str(path)]
    with subprocess.Popen(command) as writer:
        began, cpu = time.time(), time.process_time()
        while writer.poll() is None:
            await asyncio.sleep(0.1)
        wall, cpu = time.time() - began, time.process_time() - cpu
    app.following = False
    while app.loading:
        await asyncio.sleep(0.1)
    readings = app.controller.analysis.version - before
    return {
        "readings": readings,
        "cpu_s_a_reading": cpu / max(1, readings),
        "cores": cpu / wall,
    }


def write_slowly(path: Path) -> None:
    """Add 50 lines a second to the log, of traces of 20 steps."""
    made = lines(100_000, 20, 40)
    next(made)
    with path.open("a", buffering=1) as file:
        for _ in range(FOLLOWED_S):
            for line in islice(made, LINES_A_SECOND):
                # Other traces than those that are there.
                file.write(line.replace('"trace_id": "0000', '"trace_id": "ffff') + "\n")
            time.sleep(1)


async def key_waits(app: Explorer, rows: VirtualList) -> list[float]:
    """Milliseconds from each key to the moment at which the row under the cursor has been drawn in its new place."""
    drawn = -1
    draw = rows.render_line

    def watched(y: int) -> Strip:
        nonlocal drawn
        if y and rows.scroll_offset.y + y - 1 == rows.cursor and rows.current is not None:
            drawn = rows.cursor
        return draw(y)

    rows.render_line = watched  # type: ignore[method-assign]  # measured on the way to the screen
    waits = []
    for key in KEYS * ROUNDS:
        before = rows.cursor
        pressed = time.perf_counter()
        app.simulate_key(key)
        while rows.cursor == before or drawn != rows.cursor:
            await asyncio.sleep(0.001)
        waits.append((time.perf_counter() - pressed) * 1000)
        # A person reads between keys: what a key sets off beside the list is done before the next one.
        await asyncio.sleep(0.1)
    return waits


def run_case(case: str, large_mb: int) -> None:
    """Make the log of *case*, measure it in a fresh process, print what came."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        size = write_log(path, case, large_mb)
        command = [sys.executable, __file__, "--child", case, str(path), str(time.time())]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{case}: failed\n{done.stderr[-2000:]}")
        return
    found = json.loads(done.stdout.splitlines()[-1])
    traces, steps, _ = CASES[case]
    what = {
        "steps": f"{steps:,} steps in one trace",
        "traces": f"{traces:,} traces",
        "large": "one large log",
        "growing": f"a log that gets {LINES_A_SECOND} lines a second",
    }[case]
    print(f"{what}, {size / 1_048_576:,.0f} MiB")
    for name, value in found.items():
        print(f"  {name:<16} {value:10,.2f}")


def main() -> None:
    """Run the cases that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=tuple(CASES))
    parser.add_argument("--large-mb", type=int, default=1024)
    parser.add_argument("--child", nargs=3, metavar=("CASE", "PATH", "BEGAN"), help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write is not None:
        write_slowly(options.write)
        return
    if options.child is not None:
        case, path, began = options.child
        print(json.dumps(asyncio.run(measure(Path(path), case, float(began)))))
        return
    for case in CASES if options.only is None else (options.only,):
        run_case(case, options.large_mb)


if __name__ == "__main__":
    main()
