"""The store in this process's memory, for tests: the same rules, nothing on the disk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tracekit import clock
from tracekit.errors import Damaged
from tracekit.model import StepStatus, TaskStatus
from tracekit.store.base import Result, RuleStore, closed
from tracekit.store.claims import ClaimRow
from tracekit.store.contract import PutBlob
from tracekit.store.gathering import Parts, body_hashes
from tracekit.store.memory_tables import MemoryTransaction, Tables
from tracekit.store.retention import SWEEP_GRACE_MS
from tracekit.store.rows import EventRow, ReviewRow, TaskRow, TaskState, WorkerRow
from tracekit.store.sql_store import check_all_found
from tracekit.store.transaction import Transaction

_ended = frozenset(status for status in TaskStatus if status.is_final)
_named: dict[str, Tables] = {}
_counter = itertools.count(1)


def open_memory(name: str = "") -> MemoryStore:
    """The store of that name in this process; a fresh one without a name."""
    if not name:
        return MemoryStore(f"memory:unnamed-{next(_counter)}", Tables())
    return MemoryStore(f"memory:{name}", _named.setdefault(name, Tables()))


class MemoryStore(RuleStore):
    """A store that ends with its process; all stores of one name share their *tables*."""

    def __init__(self, url: str, tables: Tables) -> None:
        self.url = url
        self.lock_folder = None
        self._tables = tables
        self._closed = False

    def _write(self, work: Callable[[Transaction], Result], *, durable: bool) -> Result:
        with self._open() as tables:
            tx = MemoryTransaction(tables)
            try:
                return work(tx)
            except BaseException:
                tx.undo()
                raise

    @contextmanager
    def _open(self) -> Iterator[Tables]:
        if self._closed:
            raise closed(self.url)
        with self._tables.lock:
            yield self._tables

    def load(self, task_id: str, *, with_bodies: bool = False) -> TaskState | None:
        with self._open() as tables:
            task = tables.tasks.get(task_id)
            if task is None:
                return None
            parts = Parts(
                task=task,
                steps=sorted(tables.steps_of(task_id), key=lambda row: (row.ord, row.place)),
                effects=sorted(
                    tables.effects_of(task_id),
                    key=lambda row: (row.intent_ms, row.place, row.call_no, row.key),
                ),
                reviews=tables.reviews_of(task_id),
                compensations=sorted(tables.compensations_of(task_id), key=lambda row: row.ord),
                decisions=[row for row in tables.decisions if row.task_id == task_id],
            )
            return parts.state(self._bodies_of(tables, body_hashes(parts, with_steps=with_bodies)))

    def blobs(self, hashes: Iterable[str]) -> dict[str, bytes]:
        with self._open() as tables:
            return {name: blob.data for name, blob in self._read_blobs(tables, set(hashes)).items()}

    def events(self, task_id: str, *, after_seq: int = 0, limit: int = 1000) -> list[EventRow]:
        with self._open() as tables:
            rows = (row for row in tables.events.values() if row.task_id == task_id and row.seq > after_seq)
            return sorted(rows, key=lambda row: row.seq)[:limit]

    def tasks(
        self,
        *,
        status: Sequence[TaskStatus] = (),
        after: str = "",
        limit: int = 1000,
        damaged: Damaged | None = None,
    ) -> list[TaskRow]:
        with self._open() as tables:
            rows = (
                row
                for row in tables.tasks.values()
                if row.task_id > after and (not status or row.status in status)
            )
            return sorted(rows, key=lambda row: row.task_id)[:limit]

    def left_out(self, task_ids: Sequence[str]) -> dict[str, int]:
        with self._open() as tables:
            skipped = {
                name: sum(row.status is StepStatus.SKIPPED for row in tables.steps_of(name))
                for name in task_ids
            }
            return {name: count for name, count in skipped.items() if count}

    def reviews(
        self, *, open_only: bool = True, limit: int = 1000, damaged: Damaged | None = None
    ) -> list[ReviewRow]:
        with self._open() as tables:
            rows = (row for row in tables.reviews.values() if row.status == "open" or not open_only)
            return sorted(rows, key=lambda row: (row.created_ms, row.review_id))[:limit]

    def claims(self) -> list[ClaimRow]:
        with self._open() as tables:
            rows = (row for row in tables.claims.values() if tables.reviews[row.review_id].status == "open")
            return sorted(rows, key=lambda row: (row.claimed_ms, row.review_id))

    def register_worker(self, worker: WorkerRow) -> None:
        with self._open() as tables:
            tables.workers[worker.worker_id] = worker

    def forget_worker(self, worker_id: str) -> None:
        with self._open() as tables:
            tables.workers.pop(worker_id, None)

    def workers(self) -> list[WorkerRow]:
        with self._open() as tables:
            return sorted(tables.workers.values(), key=lambda row: row.worker_id)

    def prune(
        self,
        *,
        before_ms: int,
        keep_every: int = 10,
        forget_before_ms: int | None = None,
        damaged: Damaged | None = None,
    ) -> Mapping[str, int]:
        with self._open() as tables:
            counts = {"event": tables.thin_events(before_ms, max(1, keep_every))}
            counts["step"] = tables.drop_steps(self._ended_before(tables, before_ms))
            if forget_before_ms is not None:
                for table, removed in tables.forget(self._ended_before(tables, forget_before_ms)).items():
                    counts[table] = counts.get(table, 0) + removed
            counts["blob"] = self._sweep(tables, min(before_ms, clock.now_ms() - SWEEP_GRACE_MS))
            return {table: removed for table, removed in counts.items() if removed}

    def close(self) -> None:
        self._closed = True

    @staticmethod
    def _ended_before(tables: Tables, before_ms: int) -> set[str]:
        return {
            row.task_id
            for row in tables.tasks.values()
            if row.status in _ended and row.updated_ms < before_ms
        }

    def _sweep(self, tables: Tables, before_ms: int) -> int:
        named: set[str] = set()
        for task in tables.tasks.values():
            parts = Parts(
                task,
                tables.steps_of(task.task_id),
                tables.effects_of(task.task_id),
                tables.reviews_of(task.task_id),
                tables.compensations_of(task.task_id),
                (),
            )
            named |= body_hashes(parts, with_steps=True)
        kept = self._reachable(tables, named)
        swept = [name for name in tables.blobs if name not in kept and tables.stored_ms[name] < before_ms]
        for name in swept:
            del tables.blobs[name], tables.stored_ms[name]
        return len(swept)

    @staticmethod
    def _reachable(tables: Tables, hashes: Iterable[str]) -> set[str]:
        """*hashes*, and those that these bodies name in turn."""
        found: set[str] = set()
        wanted = set(hashes)
        while wanted:
            found |= wanted
            wanted = {
                ref for name in wanted if name in tables.blobs for ref in tables.blobs[name].refs
            } - found
        return found

    def _bodies_of(self, tables: Tables, hashes: Iterable[str]) -> dict[str, bytes]:
        found = self._read_blobs(tables, self._reachable(tables, hashes))
        return {name: blob.data for name, blob in found.items()}

    @staticmethod
    def _read_blobs(tables: Tables, hashes: set[str]) -> dict[str, PutBlob]:
        check_all_found(hashes, tables.blobs)
        return {name: tables.blobs[name] for name in hashes}
