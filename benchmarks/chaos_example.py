"""
The refund agent killed again and again while its services misbehave: does the money ever move twice?

    python -m benchmarks.chaos_example [--tasks 30] [--kills 4] [--seed 7]

Each task is started in a process of its own and gets SIGKILL, at a random named point or after a random time; it is
resumed in a new process, which is killed too, and so on; the last one is left alone. The world drops answers after
booking, breaks connections before, answers 503 or late. Printed: what became of the tasks, and what the world's own
list holds. Ends with 1 when one task paid twice, wrote twice, or was done without paying.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.testing.faults import POINTS
from tracekit.testing.loopback import Fault
from tracekit.testing.model_server import ModelServer
from tracekit.testing.world import World

AGENT = Path(__file__).parents[1] / "examples" / "refund_agent" / "agent.py"
TICKET = "The lamp of order A-1024 came broken."
DONE, WAITING = 0, 5
UNUSED = (
    "retry_",
    "before_step",
    "after_step",
    "note",
    "plan",
    "skipped",
    "context",
    "undo",
    "decision_used",
    "review",
)
PASSED = tuple(point for point in POINTS if not point.partition(":")[2].startswith(UNUSED))
"""Points that a refund passes; the others would never be reached."""
FAULTS = (
    Fault("POST /refunds", "drop", when="after"),
    Fault("POST /refunds", "drop"),
    Fault("POST /refunds", "answer", status=503),
    Fault("POST /refunds", "delay", when="after", seconds=0.3),
    Fault("GET /refunds", "answer", status=503),
    Fault("GET /orders/*", "cut", when="after"),
    Fault("POST /notifications", "delay", when="after", seconds=0.3),
)


@dataclass
class Tally:
    """What happened over all tasks."""

    kills: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    """Last words of processes that ended otherwise than done or waiting."""


def play(
    task: str, env: dict[str, str], world: World, *, kills: int, dice: random.Random, tally: Tally
) -> None:
    """One task from its start to its last resume."""
    for _ in range(dice.randint(1, kills)):
        world.misbehave(*dice.sample(FAULTS, dice.randint(0, 2)))
        tally.kills += go(task, env, dice)
    world.misbehave()
    code, said = attempt(task, env)
    if code not in (DONE, WAITING):
        tally.said.append(f"{task}: {said.strip().splitlines()[-1:]}")
    tally.ends[{DONE: "done", WAITING: "waits for a person"}.get(code, f"exit {code}")] += 1


def go(task: str, env: dict[str, str], dice: random.Random) -> int:
    """One process that is to be killed; 1 when it was, 0 when it ended before."""
    if dice.random() < 0.7:
        point = f"{dice.choice(PASSED)}#{dice.randint(1, 3)}"
        return int(attempt(task, {**env, "TRACEKIT_KILL_AT": point})[0] == -9)
    return int(attempt(task, env, dice.uniform(0.05, 1.5))[0] == -9)


def attempt(task: str, env: dict[str, str], kill_after_s: float | None = None) -> tuple[int, str]:
    """Exit code and last words of one process: started, or resumed where it was started before."""
    for words in (["start", TICKET, "--task", task], ["resume", task]):
        process = subprocess.Popen(
            [sys.executable, str(AGENT), *words],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _, said = process.communicate(timeout=kill_after_s or 120)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
        if "is there already" not in said:
            break
    return process.returncode, said


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--kills", type=int, default=4, help="most kills of one task")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    dice, tally = random.Random(options.seed), Tally()
    with (
        tempfile.TemporaryDirectory() as folder,
        World(Path(folder) / "world.jsonl") as world,
        ModelServer() as model,
    ):
        env = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT_")}
        env |= {"TRACEKIT_HOME": f"{folder}/home", "WORLD_URL": world.url, "MODEL_URL": model.base_url}
        for number in range(options.tasks):
            play(f"ticket-{number}", env, world, kills=options.kills, dice=dice, tally=tally)
        return report(options.tasks, tally, world)


def report(tasks: int, tally: Tally, world: World) -> int:
    """Print the tally beside the world's list; 1 when they do not fit."""
    paid = Counter(str(row["key"]) for row in world.happened("refund"))
    written = Counter(str(row["text"]) for row in world.happened("notification"))
    twice = sum(count > 1 for count in paid.values()), sum(count > 1 for count in written.values())
    done = tally.ends["done"]
    print(f"tasks            {tasks}, {tally.kills} processes killed")
    print(f"ends             {', '.join(f'{count} {name}' for name, count in tally.ends.most_common())}")
    for words in tally.said:
        print(f"                 {words}")
    print(f"payments         {paid.total()} under {len(paid)} keys, {twice[0]} twice")
    print(f"mails            {written.total()}, {twice[1]} twice")
    failed = any(twice) or len(paid) < done or len(paid) > tasks
    print("the money moved at most once for each task" if not failed else "A PROMISE IS BROKEN")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
