"""A task that waits for a person, in a real SQLite store: its payment was sent and got no answer."""

from __future__ import annotations

import json
from pathlib import Path

from tracekit import clock
from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus, TaskStatus
from tracekit.snapshot import digest
from tracekit.store import open_store
from tracekit.store.contract import InsertEffect, InsertReview, PutBlob, PutStep, UpdateTask
from tracekit.store.rows import EffectRow, ReviewRow, StepRow, TaskRow

TASK = "ticket-0"
TRACE = "0" * 32
KEY = "3c9e" * 8
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
    assert store.create(task, [arguments])
    lease = store.acquire(TASK, owner="worker-1", ttl_s=30)
    assert lease is not None
    panel = {
        "goal": "refund A-1024",
        "break_point": "call 2 (payment.refund)",
        "reason": "the payment was sent and got no answer",
        "recommendation": "look at the payment service, then retry or skip",
        "options": ["retry", "skip", "done", "edit", "rollback", "abort"],
    }
    review = ReviewRow(
        "rev-1", TASK, "2", KEY, "effect.unknown", json.dumps(panel), "d" * 32, created_ms=now - 120_000
    )
    effect = EffectRow(
        KEY, TASK, "2", 1, "payment.refund", EffectRisk.PAYMENT, False, "d" * 32, arguments.hash,
        EffectStatus.EXECUTED_UNKNOWN, intent_ms=now,
    )  # fmt: skip
    steps = [
        StepRow(TASK, "1", "c" * 16, 1, StepKind.MODEL, "ask", StepStatus.OK, tokens=900, started_ms=now, finished_ms=now + 2000),
        StepRow(TASK, "2", "e" * 16, 2, StepKind.TOOL, "payment.refund", StepStatus.UNKNOWN, started_ms=now),
    ]  # fmt: skip
    writes = [
        *map(PutStep, steps),
        InsertEffect(effect),
        InsertReview(review),
        UpdateTask({"status": TaskStatus.REQUIRES_REVIEW}),
    ]
    store.commit(lease, writes, durable=True)
    store.release(lease)
    store.close()
    return url
