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
    InsertEffect,
    InsertReview,
    PutBlob,
    PutCompensation,
    PutStep,
    UpdateEffect,
    UpdateTask,
    UseReview,
    Write,
)
from tracekit.store.ownership import held_task, is_open
from tracekit.store.rows import EffectRow, EventRow, Lease, TaskRow
from tracekit.store.transaction import Transaction

_KEPT_BY_STORE = frozenset(
    {"owner", "fence", "lease_until_ms", "next_seq", "updated_ms", "tokens_used", "cost_used"}
)
_IDENTITY = frozenset(
    {"task_id", "trace_id", "root_step_id", "function", "arguments", "parent_task", "created_ms"}
)
TASK_COLUMNS = frozenset(field.name for field in fields(TaskRow)) - _KEPT_BY_STORE - _IDENTITY
"""Columns that `UpdateTask` may change."""
EFFECT_COLUMNS = frozenset(field.name for field in fields(EffectRow)) - {"key", "task_id", "args_hash"}
"""Columns that `UpdateEffect` may change."""


def commit(tx: Transaction, lease: Lease, writes: Sequence[Write]) -> int:
    """Check the fence, apply *writes* in order, and return the task's last sequence number."""
    task = Draft(held_task(tx, lease))
    for write in writes:
        _check_task(lease, write)
        _APPLY[type(write)](tx, task, write)
    tx.put_task(task.changed(updated_ms=tx.now_ms))
    return task.next_seq - 1


class Draft:
    """The task while a commit is applied: its changes are gathered and written once."""

    def __init__(self, row: TaskRow) -> None:
        self.task_id = row.task_id
        self.fence = row.fence
        self.next_seq = row.next_seq
        self.tokens_used = row.tokens_used
        self.cost_used = row.cost_used
        self.changes: dict[str, Any] = {}
        self._row = row

    def changed(self, *, updated_ms: int) -> TaskRow:
        """The row as the commit leaves it."""
        usage = {"tokens_used": self.tokens_used, "cost_used": self.cost_used}
        return replace(
            self._row, **{**usage, **self.changes, "next_seq": self.next_seq, "updated_ms": updated_ms}
        )


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


def _put_blob(tx: Transaction, task: Draft, write: PutBlob) -> None:
    put_blob(tx, write)


def _put_step(tx: Transaction, task: Draft, write: PutStep) -> None:
    tx.put_step(write.row)


def _insert_effect(tx: Transaction, task: Draft, write: InsertEffect) -> None:
    booked = tx.effect(task.task_id, write.row.key)
    if booked is None:
        tx.put_effect(replace(write.row, fence=task.fence))
        return
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


def _update_effect(tx: Transaction, task: Draft, write: UpdateEffect) -> None:
    booked = tx.effect(task.task_id, write.key)
    if booked is None:
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


def _append_event(tx: Transaction, task: Draft, write: AppendEvent) -> None:
    tx.add_event(
        EventRow(task.task_id, task.next_seq, task.fence, tx.now_ms, write.kind, write.place, write.body)
    )
    task.next_seq += 1


def _update_task(tx: Transaction, task: Draft, write: UpdateTask) -> None:
    task.changes.update(_checked(write.changes, TASK_COLUMNS, "UpdateTask"))


def _add_usage(tx: Transaction, task: Draft, write: AddUsage) -> None:
    task.tokens_used += write.tokens
    task.cost_used += write.cost


def _insert_review(tx: Transaction, task: Draft, write: InsertReview) -> None:
    row = write.row
    for review in tx.reviews_of(task.task_id):
        if review.status == "open" and (review.place, review.reason) == (row.place, row.reason):
            if is_open(review, tx.now_ms):
                return
            tx.put_review(replace(review, status="expired", version=review.version + 1))
    if tx.review(row.review_id) is not None:
        raise Conflict(
            "review.exists", f"review {row.review_id!r} was asked before; give the new one its own id"
        )
    tx.put_review(row)


def _use_review(tx: Transaction, task: Draft, write: UseReview) -> None:
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


def _put_compensation(tx: Transaction, task: Draft, write: PutCompensation) -> None:
    tx.put_compensation(write.row)


def _append_decision(tx: Transaction, task: Draft, write: AppendDecision) -> None:
    tx.add_decision(write.row)


def _checked(changes: Mapping[str, Any], allowed: frozenset[str], what: str) -> Mapping[str, Any]:
    if unknown := sorted(set(changes) - allowed):
        raise TracekitError(
            "store.bad_value", f"{what} may change {', '.join(sorted(allowed))}, got {', '.join(unknown)}"
        )
    return changes


_APPLY: Mapping[type[Any], Callable[[Transaction, Draft, Any], None]] = {
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
