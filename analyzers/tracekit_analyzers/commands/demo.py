"""
`tracekit demo`: a refund agent is killed between payment and answer, diagnosed, resumed; the money moves once.

Everything in it is real: three processes, HTTP on loopback, SIGKILL, the commands that a user would type. It ends with
0 only when the world's own list holds exactly one payment and the diagnosis named the payment step.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401  a missing extra is told before the first act, not in the second

from tracekit.cli.command import Command, UsageError
from tracekit.folders import make_private
from tracekit.testing.loopback import Fault
from tracekit.testing.model_server import ModelServer
from tracekit.testing.world import World

TASK = "ticket-77"
TICKET = "The lamp of order A-1024 came broken, I want my money back."
EXPECTED_CODES = ("timeout.no_answer", "process.killed")
HELD_S = 60.0
"""How long the world keeps the payment's answer back; the agent is dead long before."""


class DemoFailed(Exception):
    """An act did not show what it should; the message says what came instead."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What every act needs."""

    home: Path
    agent: Path
    world: World
    model: ModelServer
    env: Mapping[str, str]
    """Environment of the agent and of each command."""


def run(options: argparse.Namespace) -> int:
    """Play the acts in order; the exit code."""
    home: Path = options.home
    _clear(home)
    with World(home / WORLD_FILE) as world, ModelServer() as model:
        stage = Stage(home, agent_file(), world, model, _environment(home, world, model))
        try:
            return _play(stage, options)
        except DemoFailed as failed:
            print(f"The demo did not show what it should: {failed}", file=sys.stderr)
            return 1


def _play(stage: Stage, options: argparse.Namespace) -> int:
    _act("1", f"An agent is asked: {TICKET!r} The world books its payment and keeps the answer back.")
    _run_and_kill(stage)
    _say(f"killed with SIGKILL; the world's own list: {_payments(stage)}, and nobody told the agent")
    _act("2", "Which step failed, and why?")
    _check_diagnosis(stage)
    _act("3", "What would going on do? (changes nothing)")
    for line in _tracekit(stage, "plan", TASK, "--home", str(stage.home)).splitlines():
        _say(f"  {line}")
    if options.tui:
        return _look(stage)
    _act(
        "4",
        "Go on, in a new process: finished calls answer from the journal, the payment is looked up by its key.",
    )
    asked_before = len(stage.model.requests("POST"))
    _say(_agent(stage, "resume", TASK))
    _act("5", "The world's own list of what really happened:")
    for row in stage.world.happened():
        print("    " + json.dumps(row))
    return _settle(stage, asked_before)


def _run_and_kill(stage: Stage) -> None:
    """Start the agent and kill it once the payment is in the world's list, before it can be answered."""
    stage.world.misbehave(Fault("POST /refunds", "delay", when="after", seconds=HELD_S))
    command = [sys.executable, str(stage.agent), "start", TICKET, "--task", TASK]
    _say(f"$ {shlex.join(['python', os.path.relpath(stage.agent), *command[2:]])}")
    with (stage.home / "agent.log").open("wb") as log:
        agent = subprocess.Popen(command, env=dict(stage.env), stdout=log, stderr=log)
    until = time.monotonic() + 30
    while not stage.world.happened("refund"):
        if agent.poll() is not None or time.monotonic() > until:
            agent.kill()
            raise DemoFailed(f"the agent never paid: {(stage.home / 'agent.log').read_text()[-2000:]}")
        time.sleep(0.02)
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    stage.world.misbehave()


def _check_diagnosis(stage: Stage) -> None:
    report = json.loads(_tracekit(stage, "analyze", str(stage.home), "--format", "json"))
    trace = next((each for each in report["traces"] if each["task_id"] == TASK), None)
    if trace is None or trace["primary"] is None:
        raise DemoFailed(f"no verdict on task {TASK}: {json.dumps(report['summary'])}")
    verdict = trace["diagnoses"][trace["primary"]]
    _say(f"step {verdict['failed_seq']}: {verdict['code']}: {verdict['message']}")
    for fact in verdict["evidence"]:
        _say(f"  {fact['what']}")
    if verdict["code"] not in EXPECTED_CODES or "refund" not in json.dumps(verdict):
        raise DemoFailed(f"expected the payment step as one of {EXPECTED_CODES}, got {json.dumps(verdict)}")


def _look(stage: Stage) -> int:
    """Open the explorer on the broken task with the services alive, so that its recovery key works."""
    _act("4", f"The explorer: open the trace, walk to the failed step, press the recovery key for {TASK}.")
    command = [sys.executable, "-m", "tracekit", "tui", str(stage.home), "--app", str(stage.agent)]
    code = subprocess.call(command, env=dict(stage.env))
    _act("5", f"The world's own list: {_payments(stage)}")
    return code


def _settle(stage: Stage, asked_before: int) -> int:
    payments, mails = len(stage.world.happened("refund")), len(stage.world.happened("notification"))
    if (payments, mails) != (1, 1):
        raise DemoFailed(f"expected one payment and one mail, the world holds {payments} and {mails}")
    asked = [len(stage.world.requests(f"{method} /refunds")) for method in ("POST", "GET")]
    print(f"\nOne payment: asked for {asked[0]} time(s), looked up {asked[1]} time(s). ", end="")
    print(
        f"The model was asked {asked_before} times before the kill, {len(stage.model.requests('POST')) - asked_before} after it."
    )
    print(f"Look next: {_shown('tui', str(stage.home))}")
    print(f"           {_shown('show', TASK, str(stage.home))}")
    print(f"           {_shown('demo', '--tui')}    (the same, but you press the recovery key)")
    return 0


# ------------------------------------------------------------------------------------------- small parts

WORLD_FILE = "world.jsonl"


def agent_file() -> Path:
    """The example's agent: beside this file in an installed wheel, under `examples/` in a checkout."""
    here = Path(__file__).resolve()
    places = here.with_name("refund_agent.py"), here.parents[3] / "examples" / "refund_agent" / "agent.py"
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise UsageError(f"the example agent is at neither of {', '.join(map(str, places))}")
    return found


def _clear(home: Path) -> None:
    """Remove what an earlier demo left; a folder that is not a demo's is refused."""
    if home.exists() and any(home.iterdir()):
        if not (home / WORLD_FILE).is_file():
            raise UsageError(
                f"{home} is not empty and no earlier demo made it: choose another folder with --home"
            )
        shutil.rmtree(home)
    make_private(home)


def _environment(home: Path, world: World, model: ModelServer) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT_")}
    return {**kept, "TRACEKIT_HOME": str(home), "WORLD_URL": world.url, "MODEL_URL": model.base_url}


def _tracekit(stage: Stage, *arguments: str) -> str:
    """What the command prints; shown as typed first."""
    _say("$ " + _shown(*arguments))
    done = subprocess.run(
        [sys.executable, "-m", "tracekit", *arguments], env=dict(stage.env), capture_output=True, text=True
    )
    if done.returncode:
        raise DemoFailed(f"tracekit {arguments[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def _agent(stage: Stage, *arguments: str) -> str:
    _say(f"$ {shlex.join(['python', os.path.relpath(stage.agent), *arguments])}")
    done = subprocess.run(
        [sys.executable, str(stage.agent), *arguments], env=dict(stage.env), capture_output=True, text=True
    )
    if done.returncode:
        raise DemoFailed(f"the agent ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout.strip()


def _payments(stage: Stage) -> str:
    paid: list[dict[str, Any]] = stage.world.happened("refund")
    return f"{len(paid)} payment(s), " + ", ".join(f"{row['amount']} for {row['order_id']}" for row in paid)


def _shown(*arguments: str) -> str:
    """The command as the reader can type it here, also where the environment is not activated."""
    beside = Path(sys.executable).with_name("tracekit")
    program = "tracekit" if shutil.which("tracekit") or not beside.exists() else os.path.relpath(beside)
    return shlex.join([program, *arguments])


def _act(number: str, text: str) -> None:
    print(f"\n[{number}] {text}", flush=True)


def _say(text: str) -> None:
    print(f"    {text}", flush=True)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--home",
        type=Path,
        default=Path(".tracekit/demo"),
        help="folder of its log and store (default: %(default)s)",
    )
    parser.add_argument(
        "--tui", action="store_true", help="stop before the recovery and open the explorer, to do it by hand"
    )


COMMAND = Command("demo", "run the refund example: killed, diagnosed, resumed", _configure, run)
