"""
Who may have a task: the rules of leases, the same for every store.

A lease is a fence number that only grows. Whoever holds an older number writes nothing any more, so a process that
was thought dead and comes back can do no harm to the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracekit.errors import LeaseLost, TracekitError
from tracekit.model import EffectStatus, TaskStatus
from tracekit.store.rows import Lease, ReviewRow, TaskRow
from tracekit.store.transaction import Claimant, Transaction

_UNDER_WAY = (TaskStatus.RUNNING, TaskStatus.ROLLING_BACK)


def acquire(
    tx: Transaction, task_id: str, claimant: Claimant, *, recover: bool, beyond_limit: bool
) -> Lease | None:
    """Take the lease of *task_id* for *claimant*; None when it can't be had."""
    task = tx.task(task_id)
    if task is None or not (recover or task.status is TaskStatus.QUEUED):
        return None
    return take(tx, task, claimant, beyond_limit=beyond_limit)


def claim(tx: Transaction, claimant: Claimant, functions: Sequence[str]) -> Lease | None:
    """Take the lease of the first task that waits for a worker; None when none does."""
    refused: list[str] = []
    while (task_id := tx.waiting_task(claimant, functions, refused)) is not None:
        if (lease := _take_if_intact(tx, task_id, claimant)) is not None:
            return lease
        refused.append(task_id)
    return None


def _take_if_intact(tx: Transaction, task_id: str, claimant: Claimant) -> Lease | None:
    """One damaged task must not keep the workers from all the others; whoever asks for it by name is told."""
    try:
        task = tx.task(task_id)
    except TracekitError as error:
        if error.code != "store.damaged":
            raise
        return None
    return take(tx, task, claimant, beyond_limit=False) if task is not None else None


def take(tx: Transaction, task: TaskRow, claimant: Claimant, *, beyond_limit: bool) -> Lease | None:
    """Move *task* to *claimant* if it is free, and settle what its lost owner left pending."""
    if not is_free(tx, task, claimant):
        return None
    is_recovery = task.status in _UNDER_WAY and task.owner is not None
    if is_recovery and task.recoveries >= task.max_recoveries:
        if not beyond_limit:
            return None
        is_recovery = False
    now_ms = tx.now_ms
    lease = Lease(task.task_id, claimant.owner, task.fence + 1, now_ms + round(claimant.ttl_s * 1000))
    tx.put_task(
        replace(
            task,
            owner=lease.owner,
            fence=lease.fence,
            lease_until_ms=lease.lease_until_ms,
            status=task.status if task.status in _UNDER_WAY else TaskStatus.RUNNING,
            attempt=task.attempt + 1,
            recoveries=task.recoveries + is_recovery,
            updated_ms=now_ms,
        )
    )
    _settle_pending(tx, task.task_id, now_ms)
    return lease


def is_free(tx: Transaction, task: TaskRow, claimant: Claimant) -> bool:
    """Whether the task waits for an owner: queued, left by a lost one, or answered by a person."""
    if task.status is TaskStatus.QUEUED:
        return True
    if task.status is TaskStatus.REQUIRES_REVIEW:
        return not any(is_open(review, tx.now_ms) for review in tx.reviews_of(task.task_id))
    return task.status in _UNDER_WAY and _owner_is_lost(task, claimant, tx.now_ms)


def is_open(review: ReviewRow, now_ms: int) -> bool:
    """Whether the question still waits for its answer."""
    return review.status == "open" and (review.expires_ms is None or review.expires_ms > now_ms)


def _owner_is_lost(task: TaskRow, claimant: Claimant, now_ms: int) -> bool:
    if task.owner is None or task.owner in claimant.dead:
        return True
    # A held lock beats the clock: a slow owner, or a clock that was set forward, robs nobody on this machine.
    return task.owner not in claimant.alive and task.lease_until_ms <= now_ms


def _settle_pending(tx: Transaction, task_id: str, now_ms: int) -> None:
    """Nobody saw the answer of what is pending: it may have happened, and is never pending again."""
    for effect in tx.pending_effects(task_id):
        tx.put_effect(
            replace(
                effect,
                status=EffectStatus.EXECUTED_UNKNOWN,
                outcome_ms=now_ms,
                error="its owner was lost before an answer was recorded",
            )
        )


def held_task(tx: Transaction, lease: Lease) -> TaskRow:
    """The task behind *lease*, locked; raises `LeaseLost` when the fence has moved on."""
    task = tx.task(lease.task_id)
    if task is None or task.owner != lease.owner or task.fence != lease.fence:
        now = "the task is gone" if task is None else f"{task.owner or 'nobody'} has it under {task.fence}"
        raise LeaseLost(
            "lease.lost",
            f"expected {lease.owner} to own task {lease.task_id!r} under fence {lease.fence}, but {now}; "
            "nothing was written, stop working on this task",
        )
    return task


def renew(tx: Transaction, lease: Lease, *, ttl_s: float) -> bool:
    """Put the end of the lease off; False when it is lost."""
    try:
        task = held_task(tx, lease)
    except LeaseLost:
        return False
    tx.put_task(replace(task, lease_until_ms=tx.now_ms + round(ttl_s * 1000)))
    return True


def release(tx: Transaction, lease: Lease) -> None:
    """Leave the task without an owner; nothing happens when the lease is lost."""
    try:
        task = held_task(tx, lease)
    except LeaseLost:
        return
    tx.put_task(replace(task, owner=None, lease_until_ms=0, updated_ms=tx.now_ms))
