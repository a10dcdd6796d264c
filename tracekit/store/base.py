"""What all stores share: each call that writes is one transaction under one set of rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from tracekit.errors import TracekitError
from tracekit.store import claiming, deciding, ownership
from tracekit.store import writes as write_rules
from tracekit.store.claims import ClaimRow
from tracekit.store.contract import PutBlob, Write
from tracekit.store.rows import Lease, ReviewRow, TaskRow
from tracekit.store.transaction import Claimant, Transaction

Result = TypeVar("Result")


class RuleStore(ABC):
    """The writing half of the contract; a store adds its transactions and its reading."""

    url: str

    @abstractmethod
    def _write(self, work: Callable[[Transaction], Result], *, durable: bool) -> Result:
        """
        Run *work* in one transaction: committed at its end, synced when *durable*, undone by an exception.

        *work* may be run again when the store is sure that nothing of it was kept.
        """

    def create(self, task: TaskRow, blobs: Iterable[PutBlob]) -> bool:
        kept = tuple(blobs)

        def admit(tx: Transaction) -> bool:
            if not tx.add_task(task):
                return False
            for blob in kept:
                write_rules.put_blob(tx, blob)
            return True

        return self._write(admit, durable=True)

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
        claimant = Claimant(owner, ttl_s, dead, alive)
        return self._write(
            lambda tx: ownership.acquire(tx, task_id, claimant, recover=recover, beyond_limit=beyond_limit),
            durable=True,
        )

    def claim(
        self,
        *,
        owner: str,
        ttl_s: float,
        dead: Sequence[str] = (),
        alive: Sequence[str] = (),
        functions: Sequence[str] = (),
    ) -> Lease | None:
        return self._write(
            lambda tx: ownership.claim(tx, Claimant(owner, ttl_s, dead, alive), functions), durable=True
        )

    def renew(self, lease: Lease, *, ttl_s: float) -> bool:
        return self._write(lambda tx: ownership.renew(tx, lease, ttl_s=ttl_s), durable=False)

    def release(self, lease: Lease) -> None:
        self._write(lambda tx: ownership.release(tx, lease), durable=False)

    def commit(self, lease: Lease, writes: Sequence[Write], *, durable: bool) -> int:
        return self._write(lambda tx: write_rules.commit(tx, lease, writes), durable=durable)

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
        return self._write(
            lambda tx: deciding.decide(
                tx,
                review_id,
                decision=decision,
                by=by,
                args_digest=args_digest,
                payload=payload,
                now_ms=now_ms,
            ),
            durable=True,
        )

    def claim_review(
        self, review_id: str, *, by: str, for_s: float, instead_of: str | None = None
    ) -> ClaimRow:
        return self._write(
            lambda tx: claiming.claim(tx, review_id, by=by, for_s=for_s, instead_of=instead_of), durable=False
        )

    def unclaim_review(self, review_id: str, *, by: str) -> bool:
        return self._write(lambda tx: claiming.unclaim(tx, review_id, by=by), durable=False)


def closed(url: str) -> TracekitError:
    """The error of a store that was closed."""
    return TracekitError("store.closed", f"the store {url} was closed; open it again with open_store")
