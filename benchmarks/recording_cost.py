"""
What recording one step costs over a bare OpenTelemetry span, and what is left after SIGKILL.

Usage: python benchmarks/recording_cost.py [STEPS]

Traces of 20 spans, ten attributes each, one of them 2 KB of text; bare SDK and recorder take turns in one process, so that
the ratio holds on any machine. Then a process finishes 1,000 steps, opens one more and kills itself.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider

import tracekit
from tracekit.recording.recorder import recorder

STEPS_PER_TRACE = 20
ROUNDS = 5
WORDS = [
    "order",
    "refund",
    "amount",
    "status",
    "訂單",
    "金額",
    "退款",
    "café",
    "naïve",
    "ok",
    "null",
    "retry",
    "customer",
    "shipped",
]


def value(seed: int) -> str:
    """2 KB of JSON text in several scripts."""
    chosen = random.Random(seed)
    note = " ".join(chosen.choice(WORDS) for _ in range(300))
    return json.dumps({"order_id": f"A-{seed}", "note": note}, ensure_ascii=False)[:1800]


VALUES = [value(seed) for seed in range(64)]


def figures(number: int) -> dict[str, object]:
    return {
        "step.index": number,
        "step.cost": 0.0123,
        "step.final": False,
        "conversation": "conv_1",
        "region": "eu",
    }


def bare(tracer: object, steps: int) -> list[int]:
    """Nanoseconds of each span of the SDK alone: start, ten attributes, end."""
    taken = []
    for first in range(0, steps, STEPS_PER_TRACE):
        with tracer.start_as_current_span("invoke_agent demo"):  # type: ignore[attr-defined]
            for number in range(first, first + STEPS_PER_TRACE - 1):
                given = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "refund",
                    "gen_ai.tool.call.id": f"call_{number}",
                    "tracekit.name": "refund",
                    "gen_ai.tool.call.arguments": VALUES[number % 64],
                    **figures(number),
                }
                began = time.perf_counter_ns()
                with tracer.start_as_current_span("execute_tool refund") as span:  # type: ignore[attr-defined]
                    for name, content in given.items():
                        span.set_attribute(name, content)
                taken.append(time.perf_counter_ns() - began)
    return taken


def recorded(steps: int) -> list[int]:
    """Nanoseconds of each step: begin with its input, be current, finish; both lines written."""
    taken = []
    for first in range(0, steps, STEPS_PER_TRACE):
        root = recorder().begin("agent", "demo")
        with root.active():
            for number in range(first, first + STEPS_PER_TRACE - 1):
                given, text, call_id = figures(number), VALUES[number % 64], f"call_{number}"
                began = time.perf_counter_ns()
                step = recorder().begin(
                    "tool", "refund", tool_name="refund", call_id=call_id, input=text, attributes=given
                )
                with step.active():
                    pass
                step.finish()
                taken.append(time.perf_counter_ns() - began)
        root.finish()
    return taken


def at(taken: list[int], share: float) -> float:
    """Microseconds that *share* of the values stay below."""
    return sorted(taken)[int(len(taken) * share)] / 1000


def memory_mib() -> float:
    unit = 1024 if sys.platform == "linux" else 1024 * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def compare(steps: int, home: Path) -> None:
    tracekit.init(service="bench", home=home, tracer_provider=TracerProvider(shutdown_on_exit=False))
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("bench")
    bare(tracer, 200), recorded(200)
    before_mib = memory_mib()
    medians: list[tuple[float, float]] = []
    print(f"{'round':>5} {'bare us':>9} {'recorded us':>12} {'over us':>8} {'p99 over us':>12}")
    for number in range(1, ROUNDS + 1):
        gc.collect()
        alone, ours = bare(tracer, steps), recorded(steps)
        medians.append((at(alone, 0.5), at(ours, 0.5)))
        over, over_p99 = at(ours, 0.5) - at(alone, 0.5), at(ours, 0.99) - at(alone, 0.5)
        print(f"{number:>5} {at(alone, 0.5):>9.1f} {at(ours, 0.5):>12.1f} {over:>8.1f} {over_p99:>12.1f}")
    tracekit.shutdown()
    grown_mib = memory_mib() - before_mib
    best = min(ours - alone for alone, ours in medians)
    wanted = ROUNDS * steps + 200
    lines = [line for log in (home / "traces").iterdir() for line in log.read_bytes().splitlines()]
    ended = sum(b'"status":"ok"' in line for line in lines)
    print(f"over the bare span, best round: {best:.1f} us (figure: at most 40)")
    print(f"delivered: {ended} of {wanted} ({ended / wanted:.0%}); memory grew {grown_mib:.1f} MiB")


CRASH = """
import os, signal, tracekit
from tracekit.recording.recorder import recorder
tracekit.init(service="crash")
root = recorder().begin("agent", "demo")
with root.active():
    for number in range(1000):
        recorder().begin("tool", "refund", input={"n": number}).finish(output=number)
    recorder().begin("tool", "hangs")
    END
"""


def crash(end: str, home: Path) -> None:
    """Print how many of 1,000 finished steps are in the log after *end*, and how many open ones show."""
    subprocess.run(
        [sys.executable, "-c", CRASH.replace("END", end)],
        env={**os.environ, "TRACEKIT_HOME": str(home)},
        check=False,
    )
    last: dict[str, str] = {}
    for log in (home / "traces").iterdir():
        for line in map(json.loads, log.read_bytes().splitlines()):
            if line["record"] == "step":
                last[line["step_id"]] = line["status"]
    lost = 1000 - sum(status == "ok" for status in last.values())
    still_open = sum(status == "running" for status in last.values())
    print(f"{end}: {lost} of 1,000 finished steps lost; {still_open} of 2 open steps show")


def main(run: Callable[[int, Path], None] = compare) -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    with tempfile.TemporaryDirectory() as folder:
        run(steps, Path(folder) / "cost")
        crash(f"os.kill(os.getpid(), {int(signal.SIGKILL)})", Path(folder) / "killed")
        crash("os._exit(1)", Path(folder) / "left")


if __name__ == "__main__":
    main()
