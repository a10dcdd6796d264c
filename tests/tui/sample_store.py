"""
A real store as the runs of two sample traces left it: both wait for a person.

The journal is that of the log; the question and the ledger row are those that the agent's own store held.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from tests.tui.waiting import leave_waiting
from tracekit import clock
from tracekit.durable.places import named_call
from tracekit.model import StepKind, StepStatus
from tracekit.snapshot import digest, encode
from tracekit.store import open_store
from tracekit.store.contract import PutBlob, Store
from tracekit.store.rows import StepRow, TaskRow
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
    steps = [_journal(task_id, line) for line in called]
    last = steps[-1]
    panel = {
        "goal": task.goal,
        "break_point": named_call(last.place, last.name),
        "reason": REASON,
        "recommendation": RECOMMENDED,
    }
    leave_waiting(
        store,
        task,
        arguments,
        steps,
        panel,
        key=digest(f"{task_id}/{last.place}".encode()),
        review_id=f"rev-{digest(task_id.encode())[:12]}",
        asked_ms=asked_ms - 120_000,
    )


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
