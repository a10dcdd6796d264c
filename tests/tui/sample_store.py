"""
A real store as the runs of two sample traces left it: both wait for a person.

The journal is that of the log; the question and the ledger row are those that the agent's own store held.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from tracekit import clock
from tracekit.durable.places import named_call
from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus, TaskStatus
from tracekit.snapshot import digest, encode
from tracekit.store import open_store
from tracekit.store.contract import InsertEffect, InsertReview, PutBlob, PutStep, Store, UpdateTask
from tracekit.store.rows import EffectRow, ReviewRow, StepRow, TaskRow
from tracekit_analyzers.views import Analysis, StepLine, TraceRow

ARGUMENTS = encode({"order_id": "A-1024", "amount": Decimal("99.50")})
REASON = (
    "refund was sent and no answer was recorded; the tool declares nothing that could tell, so it may or may not have "
    "happened."
)
RECOMMENDED = "look at the service behind refund, then decide `done` with its result or `retry`"


def sample_store(folder: Path, analysis: Analysis, traces: Sequence[TraceRow]) -> str:
    """Url of a store with the tasks of *traces*, each stopped at its payment."""
    url = f"sqlite:{folder / 'state.db'}"
    store = open_store(url)
    for number, trace in enumerate(traces):
        _add(store, trace, analysis.steps(trace.trace_id).rows, asked_ms=clock.now_ms() - 60_000 * number)
    store.close()
    return url


def _add(store: Store, trace: TraceRow, lines: Sequence[StepLine], *, asked_ms: int) -> None:
    assert trace.task_id is not None
    task_id = trace.task_id
    arguments = PutBlob(digest(ARGUMENTS), ARGUMENTS)
    root, *called = lines
    task = TaskRow(
        task_id,
        trace.trace_id,
        root.step_id,
        "agent:handle_ticket",
        arguments.hash,
        goal="The lamp of order A-1024 came broken.",
        created_ms=asked_ms,
        updated_ms=asked_ms,
    )
    assert store.create(task, [arguments])
    lease = store.acquire(task_id, owner="worker-1", ttl_s=30)
    assert lease is not None
    steps = [_journal(task_id, line) for line in called]
    store.commit(
        lease,
        [
            *map(PutStep, steps),
            InsertEffect(_effect(task_id, steps[-1], arguments)),
            InsertReview(_question(task_id, task.goal, steps[-1], asked_ms)),
            UpdateTask({"status": TaskStatus.REQUIRES_REVIEW}),
        ],
        durable=True,
    )
    store.release(lease)


def _journal(task_id: str, line: StepLine) -> StepRow:
    assert line.started_at is not None
    began_ms = int(line.started_at.timestamp() * 1000)
    took_ms = round(line.duration_ms or 0)
    is_model = line.kind == "model"
    return StepRow(
        task_id,
        str(line.seq - 1),
        line.step_id,
        line.seq - 1,
        StepKind.MODEL if is_model else StepKind.TOOL,
        line.name,
        StepStatus.OK if line.status == "ok" else StepStatus.UNKNOWN,
        tokens=200 if is_model else 0,
        started_ms=began_ms,
        finished_ms=began_ms + took_ms if line.status == "ok" else None,
    )


def _effect(task_id: str, step: StepRow, arguments: PutBlob) -> EffectRow:
    return EffectRow(
        digest(f"{task_id}/{step.place}".encode()),
        task_id,
        step.place,
        1,
        step.name,
        EffectRisk.PAYMENT,
        False,
        "d" * 32,
        arguments.hash,
        EffectStatus.EXECUTED_UNKNOWN,
        intent_ms=step.started_ms,
    )


def _question(task_id: str, goal: str, step: StepRow, asked_ms: int) -> ReviewRow:
    panel = {
        "goal": goal,
        "break_point": named_call(step.place, step.name),
        "reason": REASON,
        "recommendation": RECOMMENDED,
        "options": ["retry", "skip", "done", "edit", "rollback", "abort"],
    }
    return ReviewRow(
        f"rev-{digest(task_id.encode())[:12]}",
        task_id,
        step.place,
        digest(f"{task_id}/{step.place}".encode()),
        "effect.unknown",
        json.dumps(panel),
        "d" * 32,
        created_ms=asked_ms - 120_000,
    )
