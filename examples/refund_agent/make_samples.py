"""
Make the sample traces of the refund agent again: real runs against the example's services, one fault each.

    python examples/refund_agent/make_samples.py

Ids, times and process numbers are those of the run; the host's name and boot id are replaced.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.testing.loopback import Fault
from tracekit.testing.model_server import ModelServer
from tracekit.testing.world import World

AGENT = Path(__file__).with_name("agent.py")
ROOT = AGENT.parents[2]
TARGET = ROOT / "sample_traces"
LAMP = "The lamp of order A-1024 came broken."


@dataclass(frozen=True)
class Sample:
    """One run: what the customer wrote, and what goes wrong."""

    name: str
    """Of the file; with hyphens, the id of the task."""
    ticket: str = LAMP
    world: tuple[Fault, ...] = ()
    model: tuple[Fault, ...] = ()
    kill_once_booked: bool = False
    resume: bool = False
    probe: str = "on"

    @property
    def task(self) -> str:
        """Id of the task, which tells the runs apart where they are listed together."""
        return self.name.replace("_", "-")


HELD = Fault("POST /refunds", "delay", when="after", seconds=60)
SAMPLES = (
    Sample("refund_ok"),
    Sample("refund_killed", world=(HELD,), kill_once_booked=True),
    Sample("refund_killed_and_resumed", world=(HELD,), kill_once_booked=True, resume=True),
    Sample("refund_answer_lost", world=(Fault("POST /refunds", "drop", when="after"),), probe="off"),
    Sample("refund_rejected", ticket="I want money for order B-2001, though nothing of it came back."),
    Sample("order_not_found", ticket="Refund order Z-9, please."),
    Sample("orders_down", world=(Fault("GET /orders/*", "answer", status=503, times=-1),)),
    Sample(
        "model_rate_limited",
        model=(Fault("POST /v1/*", "answer", status=429, headers={"Retry-After": "1"}),),
    ),
)


def make(sample: Sample, target: Path) -> None:
    """Run *sample* and write its log to *target*."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as model:
        home = Path(folder)
        with World(home / "world.jsonl") as world:
            world.misbehave(*sample.world)
            model.misbehave(*sample.model)
            env = os.environ | {"WORLD_URL": world.url, "MODEL_URL": model.base_url}
            env |= {"TRACEKIT_HOME": str(home), "REFUND_PROBE": sample.probe}
            run(
                ["start", sample.ticket, "--task", sample.task],
                env,
                until=(lambda: bool(world.happened("refund"))) if sample.kill_once_booked else None,
            )
            world.misbehave()
            if sample.resume:
                run(["resume", sample.task], env)
        logs = sorted((home / "traces").glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        target.write_text("".join(clean(line) for log in logs for line in log.read_text().splitlines()))


def run(arguments: Sequence[str], env: dict[str, str], *, until: Callable[[], bool] | None = None) -> None:
    """One go of the agent; killed as soon as *until* is true."""
    process = subprocess.Popen([sys.executable, AGENT.name, *arguments], cwd=AGENT.parent, env=env)
    while until is not None and not until() and process.poll() is None:
        time.sleep(0.02)
    if until is not None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def clean(line: str) -> str:
    """*line* without the name of the machine and its folders."""
    record = json.loads(line)
    if record["record"] == "process":
        record |= {"host": "example", "boot_id": "00000000-0000-4000-8000-000000000000"}
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    for folder, shown in (
        (AGENT.parent, "refund_agent"),
        (ROOT, "site-packages"),
        (sys.base_prefix, "python"),
    ):
        text = text.replace(str(folder), shown)
    return text + "\n"


def main() -> None:
    """Make all of them, or those named on the command line."""
    for sample in SAMPLES:
        if not sys.argv[1:] or sample.name in sys.argv[1:]:
            print(sample.name, file=sys.stderr)
            make(sample, TARGET / f"{sample.name}.jsonl")


if __name__ == "__main__":
    main()
