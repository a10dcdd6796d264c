"""What all stores share: each call that writes is one transaction under one set of rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from tracekit.errors import TracekitError
from tracekit.store import deciding, ownership
from tracekit.store import writes as write_rules
from tracekit.store.contract import Lease, PutBlob, ReviewRow, TaskRow, Write
from tracekit.store.transaction import Claimant, Transaction


class RuleStore(ABC):
    """The writing half of the contract; a store adds its transactions and its reading."""

    url: str

    @abstractmethod
    def _writing(self, *, durable: bool) -> AbstractContextManager[Transaction]:
        """One transaction: committed at the end of the block, synced when *durable*, undone by an exception."""

    def create(self, task: TaskRow, blobs: Iterable[PutBlob]) -> bool:
        with self._writing(durable=True) as tx:
            if not tx.add_task(task):
                return False
            for blob in blobs:
                write_rules.put_blob(tx, blob)
            return True

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
        with self._writing(durable=True) as tx:
            return ownership.acquire(tx, task_id, claimant, recover=recover, beyond_limit=beyond_limit)

    def claim(
        self,
        *,
        owner: str,
        ttl_s: float,
        dead: Sequence[str] = (),
        alive: Sequence[str] = (),
        functions: Sequence[str] = (),
    ) -> Lease | None:
        with self._writing(durable=True) as tx:
            return ownership.claim(tx, Claimant(owner, ttl_s, dead, alive), functions)

    def renew(self, lease: Lease, *, ttl_s: float) -> bool:
        with self._writing(durable=False) as tx:
            return ownership.renew(tx, lease, ttl_s=ttl_s)

    def release(self, lease: Lease) -> None:
        with self._writing(durable=False) as tx:
            ownership.release(tx, lease)

    def commit(self, lease: Lease, writes: Sequence[Write], *, durable: bool) -> int:
        with self._writing(durable=durable) as tx:
            return write_rules.commit(tx, lease, writes)

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
        with self._writing(durable=True) as tx:
            return deciding.decide(
                tx,
                review_id,
                decision=decision,
                by=by,
                args_digest=args_digest,
                payload=payload,
                now_ms=now_ms,
            )


def closed(url: str) -> TracekitError:
    """The error of a store that was closed."""
    return TracekitError("store.closed", f"the store {url} was closed; open it again with open_store")
