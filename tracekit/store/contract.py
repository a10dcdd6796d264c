"""
What every store promises: writes as frozen values, and one `commit` that is all or nothing; rows.py has the rows.

The durable layer decides *what* is written and hands over a list of writes; a store decides *how*: it checks the
fence first, applies the list in one transaction, and syncs to the disk when `durable` is asked for. So no rule
about effects or recovery lives in a store, and the three stores (SQLite, PostgreSQL, memory) differ only in dialect. One
suite, `tests/store/test_conformance*.py`, runs on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tracekit.errors import Damaged
from tracekit.model import EffectStatus, TaskStatus
from tracekit.store.claims import Claims
from tracekit.store.rows import (
    CompensationRow,
    DecisionRow,
    EffectRow,
    EventRow,
    Lease,
    ReviewRow,
    StepRow,
    TaskRow,
    TaskState,
    WorkerRow,
)


@dataclass(frozen=True, slots=True)
class PutBlob:
    """
    Store *data* once under its content hash; writing it again changes nothing.

    A body that no row names is swept away by `prune`, so a body that names others (a list of messages) says so in
    *refs*. Name an earlier list instead of repeating its hashes, else a store grows with the square of a talk.
    """

    hash: str
    """`tracekit.snapshot.digest(data)`; another value is refused."""
    data: bytes
    secret: bool = False
    """Sealed in the store, whatever the store does with the rest."""
    refs: tuple[str, ...] = ()
    """Hashes of the bodies that this one names: they live as long as it does, and `load` brings them."""


@dataclass(frozen=True, slots=True)
class PutStep:
    """Insert the step, or replace the row at its place."""

    row: StepRow


@dataclass(frozen=True, slots=True)
class InsertEffect:
    """
    Book an effect. A key that is booked already is a `Conflict`: `effect.other_arguments` when `args_hash` differs,
    else `effect.booked`; an effect that is there is moved on by `UpdateEffect`.
    """

    row: EffectRow


@dataclass(frozen=True, slots=True)
class UpdateEffect:
    """Move a ledger row on; a `Conflict` unless its status is one of *expect*."""

    key: str
    expect: frozenset[EffectStatus]
    changes: Mapping[str, Any]
    """Column name to new value; names of `EffectRow`."""


@dataclass(frozen=True, slots=True)
class AppendEvent:
    """Append to the history; the store gives the sequence number."""

    kind: str
    place: str | None
    body: str


@dataclass(frozen=True, slots=True)
class UpdateTask:
    """
    Change columns of the task row; names of `TaskRow`, never those that name the task (`task_id`, `trace_id`,
    `root_step_id`, `function`, `arguments`, `parent_task`, `created_ms`) nor those that the store keeps (owner, fence,
    lease, `next_seq`, `updated_ms`, and usage, which `AddUsage` adds to).
    """

    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AddUsage:
    """Add to the task's spent tokens and cost."""

    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class InsertReview:
    """Ask a person. An open review of the same place and reason is kept instead of a second one."""

    row: ReviewRow


@dataclass(frozen=True, slots=True)
class UseReview:
    """Turn a decided review into a used one; a `Conflict` when it was used before."""

    review_id: str


@dataclass(frozen=True, slots=True)
class PutCompensation:
    """Insert an undo step, or replace its row."""

    row: CompensationRow


@dataclass(frozen=True, slots=True)
class AppendDecision:
    """Write down an automatic choice."""

    row: DecisionRow


Write = (
    PutBlob
    | PutStep
    | InsertEffect
    | UpdateEffect
    | AppendEvent
    | UpdateTask
    | AddUsage
    | InsertReview
    | UseReview
    | PutCompensation
    | AppendDecision
)


class Store(Claims, Protocol):
    """
    Where tasks live. Every method may be called from any thread.

    Raises, everywhere: `TracekitError("store.busy")` when the database stays locked, `("store.damaged")` with task
    and place when a row fails its checksum, `("store.newer_schema")` when a newer tracekit wrote it.
    """

    url: str
    """What `open_store` was given, without any password."""

    @property
    def lock_folder(self) -> Path | None:
        """Where the workers of this machine hold their liveness locks; None when the store is in memory."""

    def create(self, task: TaskRow, blobs: Iterable[PutBlob]) -> bool:
        """Admit *task* durably as `queued`; False when the id is already there, and then nothing is written."""

    def acquire(
        self,
        task_id: str,
        *,
        owner: str,
        ttl_s: float,
        dead: Sequence[str] = (),
        alive: Sequence[str] = (),
        recover: bool = True,
        beyond_limit: bool = False,
    ) -> Lease | None:
        """
        Take the lease, before anything of the task is read; every go raises `attempt` by one.

        Only a queued task, or a running or rolling one that nobody owns, whose lease is over or whose owner is in
        *dead*, can be had; one in review when none of its reviews is open any more (an expired one is not open).
        Taking a running task from another owner counts one recovery (before the work, so that a task that kills
        its process is not retried without end); with `recover=False` only a queued task is taken. Pending effects
        of the lost owner become `executed_unknown` in the same transaction. None when it can't be had.

        Args:
            dead: Workers whose liveness lock is free: their tasks are taken at once.
            alive: Workers whose liveness lock is held: never robbed, whatever the clock says of their lease.
            beyond_limit: Take it also when its recoveries are used up, to lay it before a person; counts nothing.
        """

    def claim(
        self,
        *,
        owner: str,
        ttl_s: float,
        dead: Sequence[str] = (),
        alive: Sequence[str] = (),
        functions: Sequence[str] = (),
    ) -> Lease | None:
        """As `acquire` of the oldest free task of the highest priority; of *functions* only, unless that is empty."""

    def renew(self, lease: Lease, *, ttl_s: float) -> bool:
        """Put the end of the lease off; False when it is lost."""

    def release(self, lease: Lease) -> None:
        """Give the lease back; nothing happens when it is lost."""

    def commit(self, lease: Lease, writes: Sequence[Write], *, durable: bool) -> int:
        """
        Apply *writes* in one transaction after checking the fence; all or nothing.

        Args:
            durable: Synced to the disk before it returns. Light commits before it are synced with it.

        Returns:
            The task's last sequence number: that of the last event appended. Numbers have no gaps.

        Raises:
            LeaseLost: The fence has moved on; nothing was written.
            Conflict: A guarded write found another state; nothing was written.
        """

    def load(self, task_id: str, *, with_bodies: bool = False) -> TaskState | None:
        """The task as it stands; with every body that its rows name when *with_bodies*. None when unknown."""

    def blobs(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Bodies by hash. Raises `store.damaged` when one does not match its hash, `store.missing` when absent."""

    def events(self, task_id: str, *, after_seq: int = 0, limit: int = 1000) -> list[EventRow]:
        """History after *after_seq*, in order."""

    def tasks(
        self,
        *,
        status: Sequence[TaskStatus] = (),
        after: str = "",
        limit: int = 1000,
        damaged: Damaged | None = None,
    ) -> list[TaskRow]:
        """Tasks in the order of their id, after the id *after*."""

    def left_out(self, task_ids: Sequence[str]) -> dict[str, int]:
        """By id, how many steps of these tasks were skipped and are still to be done; tasks without any are not named."""

    def reviews(
        self, *, open_only: bool = True, limit: int = 1000, damaged: Damaged | None = None
    ) -> list[ReviewRow]:
        """Questions to people, oldest first."""

    def decide(
        self,
        review_id: str,
        *,
        decision: str,
        by: str,
        args_digest: str,
        payload: PutBlob | None,
        now_ms: int,
    ) -> ReviewRow:
        """
        Record a person's decision durably; the first one wins.

        The same person giving the same decision again gets the same row back.

        Raises:
            Conflict: It was decided by somebody else or otherwise (the message names who), it has expired, or the
                arguments are not those that the person saw.
        """

    def register_worker(self, worker: WorkerRow) -> None:
        """Insert the worker or refresh its heartbeat."""

    def forget_worker(self, worker_id: str) -> None:
        """Remove the worker, after it gave its leases back; nothing happens when it is unknown."""

    def workers(self) -> list[WorkerRow]:
        """All workers known, also dead ones."""

    def prune(
        self,
        *,
        before_ms: int,
        keep_every: int = 10,
        forget_before_ms: int | None = None,
        damaged: Damaged | None = None,
    ) -> Mapping[str, int]:
        """
        Remove what retention allows; counts of removed rows by table.

        Events older than *before_ms* go, except the first, the last, those of reviews and every *keep_every*th of a
        task. Of tasks that ended before *before_ms* the steps go too; task, ledger, reviews and decisions stay, so
        that the same id is not run twice. Tasks that ended before *forget_before_ms* go whole, ledger included:
        nothing guards their ids after that. Bodies that no row names any more go. Never anything but events of an
        open task. A task whose own row is damaged may be open, whatever its status says: it is treated so, and *damaged*
        is told.
        """

    def close(self) -> None:
        """Checkpoint and close; a closed store refuses everything."""
