"""Rows for store tests: small, valid, and different only where a test says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tracekit.clock import SystemClock
from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus, TaskStatus
from tracekit.snapshot import digest
from tracekit.store.contract import InsertReview, PutBlob, Store, UpdateTask
from tracekit.store.rows import EffectRow, Lease, ReviewRow, StepRow, TaskRow, TaskState

FUNCTION = "refunds:handle_ticket"


class SetClock(SystemClock):
    """A clock that stands still until it is set."""

    def __init__(self, ms: int = 1_800_000_000_000) -> None:
        self.ms = ms

    def now_ns(self) -> int:
        return self.ms * 1_000_000


def blob(text: str, **changes: Any) -> PutBlob:
    return replace(PutBlob(digest(text.encode()), text.encode()), **changes)


ARGUMENTS = blob('{"args":["A-1024"],"kwargs":{}}')


def task(task_id: str = "t1", **changes: Any) -> TaskRow:
    row = TaskRow(
        task_id,
        "a" * 32,
        "b" * 16,
        FUNCTION,
        ARGUMENTS.hash,
        goal="refund A-1024",
        created_ms=1,
        updated_ms=1,
    )
    return replace(row, **changes)


def step(place: str = "1", **changes: Any) -> StepRow:
    row = StepRow("t1", place, "c" * 16, 1, StepKind.TOOL, "refund", StepStatus.RUNNING, started_ms=5)
    return replace(row, **changes)


def effect(key: str = "k1", **changes: Any) -> EffectRow:
    row = EffectRow(
        key,
        "t1",
        "1",
        1,
        "refund",
        EffectRisk.PAYMENT,
        False,
        "d" * 32,
        ARGUMENTS.hash,
        EffectStatus.PENDING,
        intent_ms=7,
    )
    return replace(row, **changes)


def review(review_id: str = "r1", **changes: Any) -> ReviewRow:
    row = ReviewRow(review_id, "t1", "1", "k1", "effect.unknown", '{"goal":"refund"}', "d" * 32, created_ms=9)
    return replace(row, **changes)


def started(
    store: Store, task_id: str = "t1", *, owner: str = "w1", ttl_s: float = 60, **changes: Any
) -> Lease:
    """A task that *owner* has taken."""
    assert store.create(task(task_id, **changes), [ARGUMENTS])
    lease = store.acquire(task_id, owner=owner, ttl_s=ttl_s)
    assert lease is not None
    return lease


def waiting_review(store: Store, **changes: Any) -> ReviewRow:
    """A task `t1` that waits for a person."""
    lease = started(store)
    row = review(**changes)
    store.commit(lease, [InsertReview(row), UpdateTask({"status": TaskStatus.REQUIRES_REVIEW})], durable=True)
    store.release(lease)
    return row


def state_of(store: Store, task_id: str = "t1", *, with_bodies: bool = False) -> TaskState:
    """The whole picture of a task that is there."""
    found = store.load(task_id, with_bodies=with_bodies)
    assert found is not None
    return found
