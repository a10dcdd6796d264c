"""
Durable tasks beside DBOS and LangGraph in one run: effects repeated after SIGKILL, cost of a step, growth, resume.

    python -m benchmarks.recovery_peers [--dbos PYTHON] [--langgraph PYTHON] [--rounds 3]

The peers live in environments of their own, which you make once:

    python -m venv DIR/dbos && DIR/dbos/bin/pip install dbos==3.4.0
    python -m venv DIR/langgraph && DIR/langgraph/bin/pip install langgraph==1.2.24 langgraph-checkpoint-sqlite==3.1.2

`--dbos DIR/dbos/bin/python` measures it beside ours; a system that is not given is left out. All run on SQLite on the
same disk, in turn, so the figures of one run may be compared. tracekit's step holds the log of the step as well.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import worker_scale_app
from benchmarks.peer_tasks import BODY_BYTES, EFFECTS, GROW_STEPS, LONG_STEPS
from tracekit.durable.owning import close_all

SCRIPT = Path(__file__).with_name("peer_tasks.py")
KILLS = [f"{when}:{number}" for number in range(EFFECTS) for when in ("before", "in", "after")][:-1]
"""All but the one after the last step, where LangGraph runs no code of ours any more."""


@dataclass(frozen=True)
class System:
    """A system and the interpreter that has it."""

    name: str
    python: str

    def run(self, work: str, folder: Path, how: str, kill: str = "") -> int:
        """Exit code of one process."""
        words = [self.python, str(SCRIPT), self.name, work, str(folder), how, *([kill] if kill else [])]
        said = (folder / "said").open("ab")
        with said:
            env = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT_")}
            return subprocess.run(
                words, stdout=said, stderr=said, env=env, timeout=300, cwd=folder
            ).returncode


def found(folder: Path, name: str) -> Any:
    """The last finding of that name; None when there is none."""
    file = folder / "found.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return next((row[name] for row in reversed(rows) if name in row), None)


def stored_bytes(folder: Path) -> int:
    """Bytes of the state on disk: the database with its side files, not the log."""
    files = [*folder.glob("state.db*"), *(folder / "home").glob("state.db*")]
    return sum(file.stat().st_size for file in files)


def kills(system: System) -> dict[str, Any]:
    """SIGKILL before, in and after each of the effects, then one resume: how often they happened."""
    repeated: Counter[str] = Counter()
    missing = unfinished = 0
    for kill in KILLS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            assert system.run("kill", folder, "start", kill) == -9, (folder / "said").read_text()
            system.run("kill", folder, "resume")
            counts = Counter((folder / "world").read_text().split() if (folder / "world").exists() else [])
            repeated[kill.partition(":")[0]] += sum(count - 1 for count in counts.values())
            missing += EFFECTS - len(counts)
            unfinished += found(folder, "ended") is None
    return {
        "kills": len(KILLS),
        **{f"repeated {when} the effect": repeated[when] for when in ("before", "in", "after")},
        "missing": missing,
        "unfinished": unfinished,
    }


def cost(system: System) -> dict[str, Any]:
    """Milliseconds of one durable step with a result of 2 KB."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert system.run("cost", folder, "start") == 0, (folder / "said").read_text()
        return {"step_ms": found(folder, "median_ms"), "step_p99_ms": found(folder, "p99_ms")}


def growth(system: System) -> dict[str, Any]:
    """Bytes of state for each byte of messages after 500 steps that are each given the whole talk."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert system.run("grow", folder, "start") == 0, (folder / "said").read_text()
        times = stored_bytes(folder) / (GROW_STEPS * BODY_BYTES)
        return {
            "grow_disk_times": times,
            "grow_step_ms": found(folder, "median_ms"),
            "grow_last_fifth_ms": found(folder, "last_fifth_ms"),
        }


def resuming(system: System) -> dict[str, Any]:
    """Milliseconds to the first new step of a task with 100 finished ones: from the first line of a new process, and
    from the moment when all is imported and the system is asked to resume."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert system.run("long", folder, "start", f"after:{LONG_STEPS - 1}") == -9
        system.run("long", folder, "resume")
        return {name: found(folder, name) for name in ("process_ms", "resume_ms")}


def take_over_ms() -> float:
    """From SIGKILL of a worker to the work of another that had waited, on one machine, looking every 50 ms."""
    app = SCRIPT.with_name("worker_scale_app.py")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["WORLD"] = str(folder / "world")
        url = f"sqlite:{folder / 'state.db'}"
        worker_scale_app.held.submit(str(folder / "gate"), task_id="t", store=url)
        close_all()
        words = [sys.executable, "-m", "tracekit.cli", "worker", "--app", str(app), "--store", url]
        words += ["--poll-s", "0.05", "--home", name]
        workers = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in "ab"]
        for worker in workers:
            assert worker.stderr is not None
            worker.stderr.readline()  # it is ready
        ((first, _),) = _held(folder, 1)
        owner = next(worker for worker in workers if worker.pid == first)
        killed_s = time.time()
        owner.kill()
        (_, (_, taken_s)) = _held(folder, 2)
        for worker in workers:
            worker.kill()
            worker.communicate()
        return (taken_s - killed_s) * 1000


def _held(folder: Path, times: int) -> list[tuple[int, float]]:
    """Process and time of each go at the task, once there are *times*."""
    world = folder / "world"
    while True:
        lines = world.read_text().splitlines() if world.exists() else []
        if len(lines) >= times:
            return [(int(line.split()[1]), float(line.split()[2])) for line in lines]
        time.sleep(0.005)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dbos", help="interpreter that has dbos")
    parser.add_argument("--langgraph", help="interpreter that has langgraph and langgraph-checkpoint-sqlite")
    parser.add_argument("--rounds", type=int, default=3, help="of the timed parts; medians are printed")
    options = parser.parse_args()
    given = {"tracekit": sys.executable, "dbos": options.dbos, "langgraph": options.langgraph}
    systems = [System(name, os.path.abspath(python)) for name, python in given.items() if python]
    timed: dict[str, list[dict[str, Any]]] = {each.name: [] for each in systems}
    for _ in range(options.rounds):
        for system in systems:  # in turn, so that a busy minute hits all alike
            timed[system.name].append({**cost(system), **growth(system), **resuming(system)})
    took = [take_over_ms() for _ in range(options.rounds)]
    print(json.dumps({"system": "tracekit", "take_over_ms": round(statistics.median(took), 1)}))
    for system in systems:
        rows = timed[system.name]
        medians = {
            name: statistics.median([row[name] for row in rows if row[name] is not None] or [float("nan")])
            for name in rows[0]
        }
        print(
            json.dumps({"system": system.name} | {name: round(value, 2) for name, value in medians.items()})
        )
        print(json.dumps({"system": system.name, **kills(system)}), flush=True)


if __name__ == "__main__":
    main()
