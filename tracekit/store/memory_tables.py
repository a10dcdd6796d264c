"""The tables of the memory store, and a transaction that can take its changes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from tracekit import clock
from tracekit.model import EffectStatus
from tracekit.store import ownership
from tracekit.store.claims import ClaimRow
from tracekit.store.contract import PutBlob
from tracekit.store.rows import (
    CompensationRow,
    DecisionRow,
    EffectRow,
    EventRow,
    ReviewRow,
    StepRow,
    TaskRow,
    WorkerRow,
)
from tracekit.store.sealed import Bodies
from tracekit.store.tables import CLAIM, COMPENSATION, DECISION, EFFECT, EVENT, REVIEW, STEP, TASK
from tracekit.store.transaction import Claimant

K = TypeVar("K")
V = TypeVar("V")

_PLAIN = Bodies()


@dataclass
class Tables:
    """All rows, by key."""

    tasks: dict[str, TaskRow] = field(default_factory=dict)
    steps: dict[tuple[str, str], StepRow] = field(default_factory=dict)
    effects: dict[tuple[str, str], EffectRow] = field(default_factory=dict)
    reviews: dict[str, ReviewRow] = field(default_factory=dict)
    claims: dict[str, ClaimRow] = field(default_factory=dict)
    compensations: dict[tuple[str, int], CompensationRow] = field(default_factory=dict)
    decisions: list[DecisionRow] = field(default_factory=list)
    events: dict[tuple[str, int], EventRow] = field(default_factory=dict)
    blobs: dict[str, PutBlob] = field(default_factory=dict)
    stored_ms: dict[str, int] = field(default_factory=dict)
    workers: dict[str, WorkerRow] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)

    def steps_of(self, task_id: str) -> list[StepRow]:
        """The journal of a task."""
        return [row for row in self.steps.values() if row.task_id == task_id]

    def effects_of(self, task_id: str) -> list[EffectRow]:
        """The ledger of a task."""
        return [row for row in self.effects.values() if row.task_id == task_id]

    def reviews_of(self, task_id: str) -> list[ReviewRow]:
        """The questions of a task, oldest first."""
        rows = [row for row in self.reviews.values() if row.task_id == task_id]
        return sorted(rows, key=lambda row: (row.created_ms, row.review_id))

    def compensations_of(self, task_id: str) -> list[CompensationRow]:
        """The undo of a task."""
        return [row for row in self.compensations.values() if row.task_id == task_id]

    def thin_events(self, before_ms: int, keep_every: int) -> int:
        """Remove old events except the first, the last, those of reviews and every *keep_every*th; how many."""
        last: dict[str, int] = {}
        for row in self.events.values():
            last[row.task_id] = max(row.seq, last.get(row.task_id, 0))
        return self._drop(
            self.events,
            lambda row: (
                row.ts_ms < before_ms
                and 1 < row.seq < last[row.task_id]
                and "review" not in row.kind
                and row.seq % keep_every != 0
            ),
        )

    def drop_steps(self, task_ids: Set[str]) -> int:
        """Remove the journals of these tasks; how many rows."""
        return self._drop(self.steps, lambda row: row.task_id in task_ids)

    def forget(self, task_ids: Set[str]) -> dict[str, int]:
        """Remove everything of these tasks; rows by table."""
        kept = [row for row in self.decisions if row.task_id not in task_ids]
        removed = len(self.decisions) - len(kept)
        self.decisions[:] = kept
        tables: dict[str, dict[Any, Any]] = {
            "event": self.events,
            "compensation": self.compensations,
            "review_claim": self.claims,
            "review": self.reviews,
            "effect": self.effects,
            "step": self.steps,
            "task": self.tasks,
        }
        return {"decision": removed} | {
            name: self._drop(rows, lambda row: row.task_id in task_ids) for name, rows in tables.items()
        }

    @staticmethod
    def _drop(rows: dict[K, V], is_old: Callable[[V], bool]) -> int:
        old = [key for key, row in rows.items() if is_old(row)]
        for key in old:
            del rows[key]
        return len(old)


class MemoryTransaction:
    """A `Transaction` that changes the tables in place and remembers how to take it back."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._undo: list[Callable[[], Any]] = []

    def undo(self) -> None:
        """Take all changes back, the last one first."""
        while self._undo:
            self._undo.pop()()

    @cached_property
    def now_ms(self) -> int:
        return clock.now_ms()

    def task(self, task_id: str) -> TaskRow | None:
        return self._tables.tasks.get(task_id)

    def waiting_task(self, claimant: Claimant, functions: Sequence[str], skip: Sequence[str]) -> str | None:
        rows = [
            row
            for row in self._tables.tasks.values()
            if row.task_id not in skip
            and (not functions or row.function in functions)
            and ownership.is_free(self, row, claimant)
        ]
        rows.sort(key=lambda row: (-row.priority, row.created_ms, row.task_id))
        return rows[0].task_id if rows else None

    def add_task(self, row: TaskRow) -> bool:
        if row.task_id in self._tables.tasks:
            return False
        self.put_task(row)
        return True

    def put_task(self, row: TaskRow) -> None:
        TASK.params(row, _PLAIN)
        self._set(self._tables.tasks, row.task_id, row)

    def put_step(self, row: StepRow) -> None:
        STEP.params(row, _PLAIN)
        self._set(self._tables.steps, (row.task_id, row.place), row)

    def effect(self, task_id: str, key: str) -> EffectRow | None:
        return self._tables.effects.get((task_id, key))

    def pending_effects(self, task_id: str) -> list[EffectRow]:
        return [row for row in self._tables.effects_of(task_id) if row.status is EffectStatus.PENDING]

    def put_effect(self, row: EffectRow) -> None:
        EFFECT.params(row, _PLAIN)
        self._set(self._tables.effects, (row.task_id, row.key), row)

    def review(self, review_id: str) -> ReviewRow | None:
        return self._tables.reviews.get(review_id)

    def reviews_of(self, task_id: str) -> list[ReviewRow]:
        return self._tables.reviews_of(task_id)

    def put_review(self, row: ReviewRow) -> None:
        REVIEW.params(row, _PLAIN)
        self._set(self._tables.reviews, row.review_id, row)

    def review_claim(self, review_id: str) -> ClaimRow | None:
        return self._tables.claims.get(review_id)

    def put_review_claim(self, row: ClaimRow) -> None:
        CLAIM.params(row, _PLAIN)
        self._set(self._tables.claims, row.review_id, row)

    def drop_review_claim(self, review_id: str) -> None:
        if (row := self._tables.claims.pop(review_id, None)) is not None:
            self._undo.append(lambda: self._tables.claims.__setitem__(review_id, row))

    def put_compensation(self, row: CompensationRow) -> None:
        COMPENSATION.params(row, _PLAIN)
        self._set(self._tables.compensations, (row.task_id, row.ord), row)

    def add_decision(self, row: DecisionRow) -> None:
        DECISION.params(row, _PLAIN)
        self._tables.decisions.append(row)
        self._undo.append(self._tables.decisions.pop)

    def add_event(self, row: EventRow) -> None:
        EVENT.params(row, _PLAIN)
        self._set(self._tables.events, (row.task_id, row.seq), row)

    def put_blob(self, blob: PutBlob) -> None:
        if blob.hash not in self._tables.blobs:
            self._set(self._tables.blobs, blob.hash, blob)
        self._set(self._tables.stored_ms, blob.hash, self.now_ms)

    def _set(self, rows: dict[K, V], key: K, row: V) -> None:
        if key in rows:
            self._undo.append(lambda before=rows[key]: rows.__setitem__(key, before))  # type: ignore[misc]
        else:
            self._undo.append(lambda: rows.pop(key))
        rows[key] = row
