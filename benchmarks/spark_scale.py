"""
The same log through one machine and through a Spark cluster of two executor processes: time, processor time, memory.

    python -m benchmarks.spark_scale [--steps 100000 1000000] [--master 'local-cluster[2,1,4096]'] [--budget-s 600]

Run it in an environment with the extra [spark] (`make spark` makes one: `.venv-spark/bin/python`). Each engine runs in a
session of its own, whose processes are added up twice a second; verdicts are compared. A size that one of them
has no time for within the budget is told as such.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from tracekit.snapshot import context_digest, message_hash

TOOLS = ("find_order", "compute_refund", "refund", "notify", "search", "read_page")
WORDS = [
    "order",
    "refund",
    "amount",
    "status",
    "retry",
    "customer",
    "ticket",
    "policy",
    "invoice",
    "carrier",
    "parcel",
    "address",
]
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGESIZE")


@dataclass(frozen=True, slots=True)
class Took:
    """What one engine took."""

    seconds: float
    cpu_s: float
    peak_mb: float
    digest: str | None
    """Of the traces, in the order of their ids; None when it did not end within its time."""


def write_log(folder: Path, steps: int) -> int:
    """Write *steps* steps as eight processes do; returns the bytes."""
    dice = random.Random(11)
    outs = [(folder / f"agents-{place}.jsonl").open("wb", buffering=1 << 20) for place in range(8)]
    written = 0
    while written < steps:
        trace = f"{dice.getrandbits(128):032x}"
        lines, count = _trace(trace, dice)
        outs[written // 2 % len(outs)].write(b"".join(lines))
        written += count
    for out in outs:
        out.close()
    return sum(path.stat().st_size for path in folder.iterdir())


def _trace(trace: str, dice: random.Random) -> tuple[list[bytes], int]:
    """A conversation of model and tool steps, told at start and end; one in twelve ends with an error."""
    lines: list[bytes] = []
    hashes: list[str] = []
    base: str | None = None
    at = 1_760_000_000_000_000 + dice.randrange(10**13)
    rounds = dice.randint(2, 16)
    for turn in range(rounds):
        order = f"A-{dice.randrange(10**6)}"
        text = f"{' '.join(dice.choices(WORDS, k=30))} {order}"
        message = {"role": "user" if turn == 0 else "assistant", "content": text}
        name = message_hash(message)
        lines.append(orjson.dumps({"record": "message", "trace_id": trace, "hash": name, "role": message["role"], "message": message}) + b"\n")  # fmt: skip
        context = {"digest": context_digest([*hashes, name]), "count": len(hashes) + 1, "base": base, "keep": len(hashes), "hashes": [name], "complete": True}  # fmt: skip
        hashes.append(name)
        base = context["digest"]
        arguments = {
            "order_id": order,
            "amount": dice.randrange(50_000) / 100,
            "note": " ".join(dice.choices(WORDS, k=12)),
        }
        tool, raw, call = dice.choice(TOOLS), orjson.dumps(arguments).decode(), f"c{turn}"
        asked = [{"call_id": call, "name": tool, "arguments": raw}]
        lines += _step(
            trace,
            2 * turn,
            dice,
            at,
            kind="model",
            name="chat",
            model="m",
            context=context,
            asked=asked,
            output_snapshot=text,
        )
        failed = turn == rounds - 1 and dice.random() < 1 / 12
        lines += _step(
            trace, 2 * turn + 1, dice, at + 400_000, kind="tool", name=tool, tool_name=tool, call_id=call, input_snapshot=arguments,
            model_raw_output=raw, status="error" if failed else "ok", error_type="TimeoutError" if failed else None,
            error_message="no answer within 10 s" if failed else None,
            output_snapshot=None if failed else {"status": "done", "order": {"id": order, "lines": dice.choices(WORDS, k=12)}},
        )  # fmt: skip
        at += 1_000_000
    return lines, 2 * rounds


def _step(trace: str, place: int, dice: random.Random, at: int, **fields: object) -> list[bytes]:
    """The two lines of a step."""
    head = {
        "record": "step",
        "trace_id": trace,
        "step_id": f"{dice.getrandbits(64):016x}",
        "seq": place + 1,
        "started_at": at,
    }
    took_ms = dice.expovariate(1 / 300)
    begun = {"status": "running", **{key: fields[key] for key in ("kind", "name")}}
    ended = {
        "status": "ok",
        **fields,
        "finished_at": at + int(took_ms * 1000),
        "duration_ms": round(took_ms, 3),
    }
    return [orjson.dumps(head | begun) + b"\n", orjson.dumps(head | ended) + b"\n"]


def measure(paths: Path, options: list[str], budget_s: float) -> Took:
    """Run `tracekit analyze` over *paths* in a session of its own."""
    command = [sys.executable, "-m", "tracekit", "analyze", str(paths), "--format", "jsonl", *options]
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
        ticks: dict[int, int] = {}
        peak = 0
        while process.poll() is None and time.monotonic() - began < budget_s:
            peak = max(peak, _look(process.pid, ticks))
            time.sleep(0.5)
        seconds = time.monotonic() - began
        ended = process.poll() is not None
        if not ended:
            _end(process)
        out.seek(0)
        digest = _digest(out.read()) if ended and process.returncode == 0 else None
    return Took(seconds, sum(ticks.values()) / _TICKS, peak * _PAGE / 1e6, digest)


def _look(session: int, ticks: dict[int, int]) -> int:
    """Take down the processor time of each process of *session*; returns the pages that all of them hold."""
    pages = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks[int(stat.parent.name)] = int(fields[11]) + int(fields[12])
            pages += int(fields[21])
    return pages


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run that takes too long, with its executors."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == process.pid:
                os.kill(int(stat.parent.name), 9)
        except OSError:
            continue
    process.wait()


def _digest(report: bytes) -> str:
    traces = sorted(report.splitlines()[1:], key=lambda line: json.loads(line)["trace_id"])
    return hashlib.sha256(b"\n".join(traces)).hexdigest()


def main() -> None:
    """Measure each size and print one line for each engine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--master", default="local-cluster[2,1,4096]")
    parser.add_argument("--budget-s", type=float, default=600.0, help="for one engine at one size")
    options = parser.parse_args()
    spark = ["--engine", "spark", "--master", options.master]
    print(
        f"{'steps':>10} {'log MB':>7} {'engine':<10} {'seconds':>8} {'CPU s':>7} {'peak MB':>8}", flush=True
    )
    for steps in options.steps:
        with tempfile.TemporaryDirectory(prefix="tracekit-scale-") as folder:
            size = write_log(Path(folder), steps)
            digests = set()
            for name, arguments in (("one", []), ("spark", spark)):
                took = measure(Path(folder), arguments, options.budget_s)
                digests.add(took.digest)
                note = "" if took.digest else "  did not end within the budget"
                print(f"{steps:>10} {size / 1e6:>7.0f} {name:<10} {took.seconds:>8.1f} {took.cpu_s:>7.1f} {took.peak_mb:>8.0f}{note}", flush=True)  # fmt: skip
            if None not in digests:
                print(
                    f"{'':>10} the verdicts are {'the same' if len(digests) == 1 else 'DIFFERENT'}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
