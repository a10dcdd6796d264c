"""What the rules need of one open transaction; three stores provide it, each in its own dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tracekit.store.claims import ClaimRow
from tracekit.store.contract import PutBlob
from tracekit.store.rows import CompensationRow, DecisionRow, EffectRow, EventRow, ReviewRow, StepRow, TaskRow


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who asks for a lease, and what it knows of the other workers."""

    owner: str
    ttl_s: float
    dead: Sequence[str] = ()
    """Workers whose liveness lock is free."""
    alive: Sequence[str] = ()
    """Workers whose liveness lock is held."""


class Transaction(Protocol):
    """
    One transaction on the store; all of its writes are kept or none.

    What `task`, `review` and `reviews_of` give back stays as it is until the transaction ends: no other process
    can change it meanwhile.
    """

    @property
    def now_ms(self) -> int:
        """The store's time: that of the machine for a file, that of the server for a database on the network."""

    def task(self, task_id: str) -> TaskRow | None:
        """The task, locked; None when unknown."""

    def waiting_task(self, claimant: Claimant, functions: Sequence[str], skip: Sequence[str]) -> str | None:
        """Id of the first task that may be free for *claimant* and is not in *skip*; None when there is none."""

    def add_task(self, row: TaskRow) -> bool:
        """Insert *row*; False when the id is taken."""

    def put_task(self, row: TaskRow) -> None:
        """Replace what may change of the task's row."""

    def put_step(self, row: StepRow) -> None:
        """Insert or replace."""

    def effect(self, task_id: str, key: str) -> EffectRow | None:
        """The ledger row of the task; None when not booked."""

    def pending_effects(self, task_id: str) -> list[EffectRow]:
        """Ledger rows of the task that are pending."""

    def put_effect(self, row: EffectRow) -> None:
        """Insert or replace."""

    def review(self, review_id: str) -> ReviewRow | None:
        """The review, locked; None when unknown."""

    def reviews_of(self, task_id: str) -> list[ReviewRow]:
        """All reviews of the task, oldest first."""

    def put_review(self, row: ReviewRow) -> None:
        """Insert or replace."""

    def review_claim(self, review_id: str) -> ClaimRow | None:
        """Who has the question, also when that is over; locked by having read the review."""

    def put_review_claim(self, row: ClaimRow) -> None:
        """Insert or replace."""

    def drop_review_claim(self, review_id: str) -> None:
        """Remove; nothing happens when there is none."""

    def put_compensation(self, row: CompensationRow) -> None:
        """Insert or replace."""

    def add_decision(self, row: DecisionRow) -> None:
        """Append."""

    def add_event(self, row: EventRow) -> None:
        """Append."""

    def put_blob(self, blob: PutBlob) -> None:
        """Insert unless the hash is there."""
