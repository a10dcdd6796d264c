"""What each write of a commit does and when it is refused: the same for every store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from tracekit.errors import Conflict, TracekitError
from tracekit.snapshot import digest
from tracekit.store.contract import (
    AddUsage,
    AppendDecision,
    AppendEvent,
    EffectRow,
    EventRow,
    InsertEffect,
    InsertReview,
    Lease,
    PutBlob,
    PutCompensation,
    PutStep,
    TaskRow,
    UpdateEffect,
    UpdateTask,
    UseReview,
    Write,
)
from tracekit.store.ownership import held_task, is_open
from tracekit.store.transaction import Transaction

_OWNERSHIP = frozenset({"owner", "fence", "lease_until_ms", "next_seq", "updated_ms"})
_IDENTITY = frozenset(
    {"task_id", "trace_id", "root_step_id", "function", "arguments", "parent_task", "created_ms"}
)
TASK_COLUMNS = frozenset(field.name for field in fields(TaskRow)) - _OWNERSHIP - _IDENTITY
"""Columns that `UpdateTask` may change."""
EFFECT_COLUMNS = frozenset(field.name for field in fields(EffectRow)) - {"key", "task_id", "args_hash"}
"""Columns that `UpdateEffect` may change."""


def commit(tx: Transaction, lease: Lease, writes: Sequence[Write]) -> int:
    """Check the fence, apply *writes* in order, and return the task's last sequence number."""
    task = held_task(tx, lease)
    for write in writes:
        _check_task(lease, write)
        task = _APPLY[type(write)](tx, task, write)
    tx.put_task(replace(task, updated_ms=tx.now_ms))
    return task.next_seq - 1


def _check_task(lease: Lease, write: Write) -> None:
    """A lease covers its own task only."""
    row = getattr(write, "row", None)
    if row is not None and row.task_id != lease.task_id:
        raise TracekitError(
            "store.other_task",
            f"expected {type(write).__name__} for task {lease.task_id!r}, whose lease this is, got {row.task_id!r}",
        )


def put_blob(tx: Transaction, blob: PutBlob) -> None:
    """Store a body under its hash; refuses one whose hash is not that of its content."""
    if digest(blob.data) != blob.hash:
        raise TracekitError(
            "store.bad_value",
            f"expected the hash {digest(blob.data)} for a body of {len(blob.data)} bytes, got {blob.hash!r}",
        )
    tx.put_blob(blob)


def _put_blob(tx: Transaction, task: TaskRow, write: PutBlob) -> TaskRow:
    put_blob(tx, write)
    return task


def _put_step(tx: Transaction, task: TaskRow, write: PutStep) -> TaskRow:
    tx.put_step(write.row)
    return task


def _insert_effect(tx: Transaction, task: TaskRow, write: InsertEffect) -> TaskRow:
    booked = tx.effect(write.row.key)
    if booked is None:
        tx.put_effect(replace(write.row, fence=task.fence))
        return task
    if booked.args_hash != write.row.args_hash:
        raise Conflict(
            "effect.other_arguments",
            f"expected the arguments {booked.args_hash} that {booked.tool} was booked with at place "
            f"{booked.place!r} of task {booked.task_id!r}, got {write.row.args_hash}; the same call may not change",
        )
    raise Conflict(
        "effect.booked",
        f"{booked.tool} at place {booked.place!r} of task {booked.task_id!r} is booked already and stands at "
        f"{booked.status}; move it on instead of booking it again",
    )


def _update_effect(tx: Transaction, task: TaskRow, write: UpdateEffect) -> TaskRow:
    booked = tx.effect(write.key)
    if booked is None or booked.task_id != task.task_id:
        raise Conflict(
            "effect.unknown", f"expected effect {write.key!r} of task {task.task_id!r}, found none"
        )
    if booked.status not in write.expect:
        raise Conflict(
            "effect.moved",
            f"expected {booked.tool} at place {booked.place!r} of task {task.task_id!r} to stand at "
            f"{' or '.join(sorted(write.expect))}, but it stands at {booked.status}",
        )
    changes = _checked(write.changes, EFFECT_COLUMNS, "UpdateEffect")
    tx.put_effect(replace(booked, **{"fence": task.fence, **changes}))
    return task


def _append_event(tx: Transaction, task: TaskRow, write: AppendEvent) -> TaskRow:
    tx.add_event(
        EventRow(task.task_id, task.next_seq, task.fence, tx.now_ms, write.kind, write.place, write.body)
    )
    return replace(task, next_seq=task.next_seq + 1)


def _update_task(tx: Transaction, task: TaskRow, write: UpdateTask) -> TaskRow:
    return replace(task, **_checked(write.changes, TASK_COLUMNS, "UpdateTask"))


def _add_usage(tx: Transaction, task: TaskRow, write: AddUsage) -> TaskRow:
    return replace(task, tokens_used=task.tokens_used + write.tokens, cost_used=task.cost_used + write.cost)


def _insert_review(tx: Transaction, task: TaskRow, write: InsertReview) -> TaskRow:
    row = write.row
    for review in tx.reviews_of(task.task_id):
        if review.status == "open" and (review.place, review.reason) == (row.place, row.reason):
            if is_open(review, tx.now_ms):
                return task
            tx.put_review(replace(review, status="expired", version=review.version + 1))
    if tx.review(row.review_id) is not None:
        raise Conflict(
            "review.exists", f"review {row.review_id!r} was asked before; give the new one its own id"
        )
    tx.put_review(row)
    return task


def _use_review(tx: Transaction, task: TaskRow, write: UseReview) -> TaskRow:
    review = tx.review(write.review_id)
    if review is None or review.task_id != task.task_id:
        raise Conflict(
            "review.unknown", f"expected review {write.review_id!r} of task {task.task_id!r}, found none"
        )
    if review.status != "decided":
        raise Conflict(
            "review.not_usable",
            f"expected review {review.review_id!r} to be decided and not used yet, but it is {review.status}; "
            "a decision allows one dispatch",
        )
    tx.put_review(replace(review, status="used", version=review.version + 1))
    return task


def _put_compensation(tx: Transaction, task: TaskRow, write: PutCompensation) -> TaskRow:
    tx.put_compensation(write.row)
    return task


def _append_decision(tx: Transaction, task: TaskRow, write: AppendDecision) -> TaskRow:
    tx.add_decision(write.row)
    return task


def _checked(changes: Mapping[str, Any], allowed: frozenset[str], what: str) -> Mapping[str, Any]:
    if unknown := sorted(set(changes) - allowed):
        raise TracekitError(
            "store.bad_value", f"{what} may change {', '.join(sorted(allowed))}, got {', '.join(unknown)}"
        )
    return changes


_APPLY: Mapping[type[Any], Callable[[Transaction, TaskRow, Any], TaskRow]] = {
    PutBlob: _put_blob,
    PutStep: _put_step,
    InsertEffect: _insert_effect,
    UpdateEffect: _update_effect,
    AppendEvent: _append_event,
    UpdateTask: _update_task,
    AddUsage: _add_usage,
    InsertReview: _insert_review,
    UseReview: _use_review,
    PutCompensation: _put_compensation,
    AppendDecision: _append_decision,
}
