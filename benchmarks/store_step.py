"""
What one tool step costs in the SQLite store: one light commit, two durable ones, the syncs of the disk beneath.

Run: python -m benchmarks.store_step [--steps 1000]
The first line is the figure of an empty store, the second with 500 KB of history in the same task, the last compares:
with two bare syncs of the same disk in the same run, and with one another.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.disk_shim import Recording, RecordingVFS
from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus
from tracekit.snapshot import digest
from tracekit.store.contract import (
    AppendEvent,
    InsertEffect,
    PutBlob,
    PutStep,
    Store,
    UpdateEffect,
    UpdateTask,
    Write,
)
from tracekit.store.rows import EffectRow, Lease, StepRow, TaskRow
from tracekit.store.sqlite import SqliteStore

ARGUMENTS = b'{"args":["A-1024"],"kwargs":{}}'
PENDING = frozenset({EffectStatus.PENDING})


def body(number: int, kind: str) -> PutBlob:
    """2 KB that no other step has."""
    data = (f"{kind} {number} " + "lorem ipsum dolor sit amet " * 80)[:2000].encode()
    return PutBlob(digest(data), data)


def started(store: Store, task_id: str = "t1") -> Lease:
    """A task that this process owns."""
    arguments = PutBlob(digest(ARGUMENTS), ARGUMENTS)
    store.create(TaskRow(task_id, "a" * 32, "b" * 16, "m:f", arguments.hash), [arguments])
    lease = store.acquire(task_id, owner="w1", ttl_s=3600)
    assert lease is not None
    return lease


def step_writes(number: int, task_id: str = "t1") -> tuple[list[Write], list[Write], list[Write]]:
    """The three commits of one tool step: before_model (light), before_tool, after_tool with step_complete."""
    raw, result = body(number, "raw"), body(number, "result")
    place, key = str(number), f"{task_id}:{number}"
    begun = StepRow(
        task_id, place, f"{number:016x}", number, StepKind.TOOL, "refund", StepStatus.RUNNING, started_ms=1
    )
    booked = EffectRow(
        key,
        task_id,
        place,
        1,
        "refund",
        EffectRisk.PAYMENT,
        False,
        "d" * 32,
        digest(ARGUMENTS),
        EffectStatus.PENDING,
        intent_ms=number,
    )
    ended = StepRow(
        task_id,
        place,
        f"{number:016x}",
        number,
        StepKind.TOOL,
        "refund",
        StepStatus.OK,
        raw=raw.hash,
        result=result.hash,
        started_ms=1,
        finished_ms=2,
    )
    return (
        [PutStep(begun), UpdateTask({"current_step": place}), AppendEvent("before_model", place, "{}")],
        [raw, InsertEffect(booked), AppendEvent("before_tool", place, json.dumps({"effect": key}))],
        [
            UpdateEffect(key, PENDING, {"status": EffectStatus.SUCCESS, "result": result.hash}),
            result,
            PutStep(ended),
            AppendEvent("after_tool", place, json.dumps({"effect": key})),
            AppendEvent("step_complete", place, "{}"),
        ],
    )


def run_steps(store: Store, lease: Lease, numbers: Sequence[int]) -> list[float]:
    """Milliseconds of each step."""
    costs = []
    for number in numbers:
        light, before_tool, after_tool = step_writes(number)
        begun_s = time.perf_counter()
        store.commit(lease, light, durable=False)
        store.commit(lease, before_tool, durable=True)
        store.commit(lease, after_tool, durable=True)
        costs.append((time.perf_counter() - begun_s) * 1000)
    return costs


def bare_sync_ms(folder: Path, *, rounds: int = 200) -> float:
    """Median of appending 4 KB to a file and syncing it: what this disk asks for one durable commit."""
    costs = []
    descriptor = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for _ in range(rounds):
        begun_s = time.perf_counter()
        os.write(descriptor, bytes(4096))
        getattr(os, "fdatasync", os.fsync)(descriptor)
        costs.append((time.perf_counter() - begun_s) * 1000)
    os.close(descriptor)
    return statistics.median(costs)


def measure(folder: Path, *, steps: int, history_bytes: int) -> dict[str, float]:
    """Median, 99th percentile and syncs of a step after *history_bytes* of bodies in the same task."""
    recording = Recording(keeps_data=False)
    vfs = RecordingVFS(recording)
    store = SqliteStore(folder / f"history-{history_bytes}.db", vfs=vfs.name)
    lease = started(store)
    past = history_bytes // 4000
    run_steps(store, lease, range(1, past + 1))
    syncs, checkpoints = recording.syncs, recording.database_syncs
    begun_s = time.process_time()
    costs = run_steps(store, lease, range(past + 1, past + 1 + steps))
    cpu_ms = (time.process_time() - begun_s) * 1000 / steps
    checkpoints = recording.database_syncs - checkpoints
    syncs = recording.syncs - syncs
    store.close()
    return {
        "history_bytes": history_bytes,
        "median_ms": round(statistics.median(costs), 3),
        "p99_ms": round(statistics.quantiles(costs, n=100)[98], 3),
        "cpu_ms": round(cpu_ms, 3),
        "syncs_per_step": round(syncs / steps, 3),
        "checkpoints_per_step": round(checkpoints / steps, 3),
    }


def main() -> None:
    """Print one line of JSON for each amount of history, and the growth between them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument(
        "--folder", type=Path, help="on the disk to be measured; default is the temporary folder"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        bare_ms = bare_sync_ms(Path(folder))
        figures = [
            measure(Path(folder), steps=options.steps, history_bytes=history) for history in (0, 500_000)
        ]
    for figure in figures:
        print(json.dumps(figure))
    print(
        json.dumps(
            {
                "bare_sync_ms": round(bare_ms, 3),
                "step_over_two_bare_syncs_ms": round(figures[0]["median_ms"] - 2 * bare_ms, 3),
                "growth": round(figures[1]["median_ms"] / figures[0]["median_ms"] - 1, 3),
                "cpu_growth": round(figures[1]["cpu_ms"] / figures[0]["cpu_ms"] - 1, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
