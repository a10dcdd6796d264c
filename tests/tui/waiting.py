"""A task that waits for a person, in a real SQLite store: its payment was sent and got no answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracekit import clock
from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus, TaskStatus
from tracekit.snapshot import digest
from tracekit.store import open_store
from tracekit.store.contract import InsertEffect, InsertReview, PutBlob, PutStep, Store, UpdateTask
from tracekit.store.rows import EffectRow, ReviewRow, StepRow, TaskRow

TASK = "ticket-0"
TRACE = "0" * 32
KEY = "3c9e" * 8
SEEN = "d" * 32
"""Digest of the arguments that a person who decides has seen."""
ARGUMENTS = b'{"order_id":"A-1024","amount":"99.50"}'


def waiting_store(folder: Path) -> str:
    """Url of a store with one task in review."""
    url = f"sqlite:{folder / 'state.db'}"
    store = open_store(url)
    now = clock.now_ms()
    arguments = PutBlob(digest(ARGUMENTS), ARGUMENTS)
    task = TaskRow(
        TASK,
        TRACE,
        "b" * 16,
        "refunds:handle_ticket",
        arguments.hash,
        goal="refund A-1024",
        created_ms=now,
        updated_ms=now,
    )
    steps = [
        StepRow(TASK, "1", "c" * 16, 1, StepKind.MODEL, "ask", StepStatus.OK, tokens=900, started_ms=now, finished_ms=now + 2000),
        StepRow(TASK, "2", "e" * 16, 2, StepKind.TOOL, "payment.refund", StepStatus.UNKNOWN, started_ms=now),
    ]  # fmt: skip
    panel = {
        "goal": "refund A-1024",
        "break_point": "call 2 (payment.refund)",
        "reason": "the payment was sent and got no answer",
        "recommendation": "look at the payment service, then retry or skip",
    }
    leave_waiting(store, task, arguments, steps, panel, key=KEY, review_id="rev-1", asked_ms=now - 120_000)
    store.close()
    return url


def leave_waiting(
    store: Store,
    task: TaskRow,
    arguments: PutBlob,
    steps: Sequence[StepRow],
    panel: Mapping[str, object],
    *,
    key: str,
    review_id: str,
    asked_ms: int,
) -> None:
    """Make *task* as its worker left it: the last of *steps* is a payment whose outcome is asked of a person."""
    last = steps[-1]
    effect = EffectRow(
        key, task.task_id, last.place, 1, last.name, EffectRisk.PAYMENT, False, SEEN, arguments.hash,
        EffectStatus.EXECUTED_UNKNOWN, intent_ms=last.started_ms,
    )  # fmt: skip
    shown = json.dumps({**panel, "options": ["retry", "skip", "done", "edit", "rollback", "abort"]})
    review = ReviewRow(
        review_id, task.task_id, last.place, key, "effect.unknown", shown, SEEN, created_ms=asked_ms
    )
    assert store.create(task, [arguments])
    lease = store.acquire(task.task_id, owner="worker-1", ttl_s=30)
    assert lease is not None
    writes = [
        *map(PutStep, steps),
        InsertEffect(effect),
        InsertReview(review),
        UpdateTask({"status": TaskStatus.REQUIRES_REVIEW}),
    ]
    store.commit(lease, writes, durable=True)
    store.release(lease)
