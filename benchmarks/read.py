"""
How fast a large native log is read, asked and diagnosed, beside what DuckDB and Polars need for the bare reading.

The question is the same for all: per tool and error the number of steps, the mean and the longest duration. Every method
runs in a process of its own over a log made here, with a warm page cache; wall and CPU seconds and peak memory are printed.
`first query` makes the index beside the log and looks for damage, `second query` answers from it.

    python benchmarks/read.py                       # 1 GiB, and a diagnosis of 1,000,000 steps
    python benchmarks/read.py --mib 100 --steps 50000
    python benchmarks/read.py --only query          # or diagnosis
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

START = datetime(2026, 1, 1, tzinfo=UTC)
TOOLS = ("order.find", "stock.count", "refund.compute", "payment.refund", "mail.send", "web.search")
WORDS = (
    "order",
    "paid",
    "friday",
    "customer",
    "refund",
    "part",
    "late",
    "退款",
    "naïve",
    "stock",
    "mail",
    "and",
    "the",
    "of",
)
LONG, SHORT = (30, 200), (2, 6)
"""Words in a text: logs of 1,700 and of 530 bytes a step."""
SUMMED = "select tool_name, error_type, count(*) as n, avg(duration_ms) as m, max(duration_ms) as x from {} group by all order by 1, 2"
NARROW = "{tool_name: 'VARCHAR', error_type: 'VARCHAR', duration_ms: 'DOUBLE'}"


def runs(seed: int, *, words: tuple[int, int] = LONG) -> Iterator[list[dict[str, Any]]]:
    """Runs without end, the same each time: a model asks, a tool answers, some calls are refused; texts of so many *words*."""
    chance = random.Random(seed)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(*words))) for _ in range(400)]
    begun = START
    number = 0
    while True:
        number += 1
        trace, root = f"{chance.getrandbits(128):032x}", f"{chance.getrandbits(64):016x}"
        head = {"record": "step", "trace_id": trace, "task_id": f"task-{number}"}
        steps = []
        for turn in range(chance.randint(3, 30)):
            tool, refused = chance.choice(TOOLS), chance.random() < 0.03
            took = timedelta(milliseconds=chance.expovariate(1 / 300) + 1)
            args = {
                "order_id": f"A-{1000 + number}",
                "amount": round(chance.random() * 500, 2),
                "note": chance.choice(texts),
            }
            times = {
                "started_at": _text(begun),
                "finished_at": _text(begun + took),
                "duration_ms": took.total_seconds() * 1000,
            }
            begun += took
            common = {**head, **times, "parent_step_id": root, "attempt": 1, "seq": turn + 2}
            if turn % 2 == 0:
                steps.append(common | {
                    "step_id": f"{chance.getrandbits(64):016x}", "kind": "model", "name": "ask", "status": "ok", "model": "m",
                    "model_raw_output": chance.choice(texts), "usage": {"input_tokens": 900, "output_tokens": 80},
                })  # fmt: skip
                continue
            steps.append(common | {
                "step_id": f"{chance.getrandbits(64):016x}", "kind": "tool", "name": tool, "tool_name": tool,
                "status": "error" if refused else "ok", "error_type": "Refused" if refused else None,
                "error_message": "declined: the order is closed" if refused else None, "input_snapshot": args,
                "model_raw_output": orjson.dumps(args).decode(),
                "output_snapshot": {"order_id": args["order_id"], "state": "paid", "text": chance.choice(texts)},
            })  # fmt: skip
        last = steps[-1]
        yield [
            head
            | {"step_id": root, "kind": "task", "name": "ticket", "status": "ok", "started_at": steps[0]["started_at"],
               "finished_at": last["finished_at"], "output_snapshot": "done"},
            *steps,
        ]  # fmt: skip


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def write_log(path: Path, *, least_bytes: int = 0, steps: int = 0, words: tuple[int, int] = LONG) -> int:
    """A log of at least so many bytes or steps; its number of steps."""
    count = 0
    with path.open("wb", buffering=1 << 20) as out:
        for run in runs(7, words=words):
            if out.tell() >= least_bytes and count >= steps:
                break
            for record in run:
                out.write(orjson.dumps(record) + b"\n")
            count += len(run)
    return count


def bare_duckdb(path: str) -> Any:
    import duckdb

    table = f"read_json('{path}', format = 'newline_delimited', columns = {NARROW})"
    return len(duckdb.connect().execute(SUMMED.format(table)).fetchall())


def bare_polars(path: str) -> Any:
    import polars

    names = {"tool_name": polars.String, "error_type": polars.String, "duration_ms": polars.Float64}
    took = polars.col("duration_ms")
    lines = polars.scan_ndjson(path, schema=names).group_by("tool_name", "error_type")
    summed = lines.agg(polars.len().alias("n"), took.mean().alias("m"), took.max().alias("x"))
    return summed.collect(engine="streaming").height


def query(path: str) -> Any:
    from tracekit_analyzers.shortcuts import quick

    answer = quick.answer([path], SUMMED.format("steps"), reader=None, limit=1000)
    return None if answer is None else len(answer.table.rows)


def diagnosis(path: str) -> Any:
    from tracekit_analyzers.engine import Engine

    with Engine([path]) as engine:
        engine.load()
        return len(engine.verdicts)


NEEDED = {
    "duckdb bare": "duckdb",
    "polars bare": "polars",
    "first query": "tracekit_analyzers.shortcuts.quick",
    "second query": "tracekit_analyzers.shortcuts.quick",
    "diagnosis": "tracekit_analyzers.engine",
}
"""What each method imports, which is not measured."""
METHODS = {
    "duckdb bare": bare_duckdb,
    "polars bare": bare_polars,
    "first query": query,
    "second query": query,
    "diagnosis": diagnosis,
}


def measure(method: str, path: str) -> None:
    """Run one method in this process and print what it took, as JSON."""
    import_module(NEEDED[method])
    wall, cpu = time.perf_counter(), time.process_time()
    found = METHODS[method](path)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 if sys.platform != "darwin" else 1 << 20
    )
    told = {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2), "peak_mb": round(peak), "rows": found}
    print(json.dumps({"method": method, **told}))


def compared(methods: tuple[str, ...], path: Path) -> None:
    """Run *methods* in turn, each in a fresh process."""
    for method in methods:
        subprocess.run([sys.executable, __file__, "--measure", method, str(path)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mib", type=int, default=1024, help="size of the log that is queried (1024)")
    parser.add_argument(
        "--steps", type=int, default=1_000_000, help="steps of the log that is diagnosed (1,000,000)"
    )
    parser.add_argument("--only", choices=("query", "diagnosis"))
    parser.add_argument(
        "--short", action="store_true", help="a diagnosed log of short texts, a third of the size"
    )
    parser.add_argument("--measure", nargs=2, metavar=("METHOD", "LOG"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    print(json.dumps({"cores": os.cpu_count(), "load": [round(load, 1) for load in os.getloadavg()]}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        if options.only != "diagnosis":
            count = write_log(path, least_bytes=options.mib << 20)
            print(json.dumps({"log": "query", "steps": count, "mib": path.stat().st_size >> 20}), flush=True)
            compared(("duckdb bare", "polars bare", "first query", "second query"), path)
        if options.only != "query":
            count = write_log(path, steps=options.steps, words=SHORT if options.short else LONG)
            print(
                json.dumps({"log": "diagnosis", "steps": count, "mib": path.stat().st_size >> 20}), flush=True
            )
            compared(("diagnosis",), path)


if __name__ == "__main__":
    main()
