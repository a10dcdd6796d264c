"""Tasks for worker processes; effects are counted in the file WORLD."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import tracekit


def happened(line: str) -> None:
    descriptor = os.open(os.environ["WORLD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, (line + "\n").encode())
    os.fsync(descriptor)
    os.close(descriptor)


@tracekit.tool(effect="write")
def put(name: str) -> str:
    happened(f"put {name} {os.getpid()}")
    return name


@tracekit.tool
def wait_for(path: str) -> bool:
    """Waits for a file, so that a test can act while the task is under way."""
    happened(f"waiting {os.getpid()}")
    while not os.path.exists(path):
        time.sleep(0.01)
    return True


@tracekit.task
def leaves(run: tracekit.Run) -> None:
    """Ends the process that it runs in."""
    run.tool(put, "leaves")
    sys.exit(3)


@tracekit.task
async def cancels(run: tracekit.Run) -> None:
    """Waits for work that it has cancelled."""
    work = asyncio.create_task(asyncio.sleep(60))
    work.cancel()
    await work


@tracekit.task(max_attempts=9)
def job(run: tracekit.Run, name: str, gate: str = "") -> str:
    run.tool(put, f"{name}-1")
    if gate:
        run.tool(wait_for, gate)
    run.tool(put, f"{name}-2")
    return name
