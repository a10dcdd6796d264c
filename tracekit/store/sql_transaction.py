"""The transaction of both SQL stores: named statements in, rows out."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import orjson

from tracekit.store.claims import ClaimRow
from tracekit.store.contract import PutBlob
from tracekit.store.rows import CompensationRow, DecisionRow, EffectRow, EventRow, ReviewRow, StepRow, TaskRow
from tracekit.store.sealed import Bodies
from tracekit.store.tables import CLAIM, COMPENSATION, DECISION, EFFECT, EVENT, REVIEW, STEP, TASK, Table
from tracekit.store.transaction import Claimant

Row = TypeVar("Row")
Execute = Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]]
"""Runs the statement of that name and gives all its rows."""


class SqlTransaction:
    """A `Transaction` over named statements; *to_list* writes a list of texts as the dialect takes it."""

    def __init__(
        self,
        execute: Execute,
        bodies: Bodies,
        *,
        to_list: Callable[[Sequence[str]], Any],
        clock: Callable[[], int],
    ) -> None:
        self._execute = execute
        self._bodies = bodies
        self._to_list = to_list
        self._clock = clock
        self._tasks: dict[str, TaskRow] = {}
        """As they are known to stand in the store."""

    @cached_property
    def now_ms(self) -> int:
        return self._clock()

    def task(self, task_id: str) -> TaskRow | None:
        row = self._first(TASK, "task_lock", task_id=task_id)
        if row is not None:
            self._tasks[task_id] = row
        return row

    def waiting_task(self, claimant: Claimant, functions: Sequence[str], skip: Sequence[str]) -> str | None:
        rows = self._execute(
            "waiting_task",
            {
                "now_ms": self.now_ms,
                "dead": self._to_list(claimant.dead),
                "alive": self._to_list(claimant.alive),
                "functions": self._to_list(functions),
                "skip": self._to_list(skip),
            },
        )
        return str(rows[0][0]) if rows else None

    def add_task(self, row: TaskRow) -> bool:
        return bool(self._execute("task_insert", TASK.params(row, self._bodies)))

    def put_task(self, row: TaskRow) -> None:
        before = self._tasks.get(row.task_id)
        stays = before is not None and (before.status, before.priority) == (row.status, row.priority)
        self._execute("task_put" if stays else "task_move", TASK.params(row, self._bodies))
        self._tasks[row.task_id] = row

    def put_step(self, row: StepRow) -> None:
        self._execute("step_put", STEP.params(row, self._bodies))

    def effect(self, task_id: str, key: str) -> EffectRow | None:
        return self._first(EFFECT, "effect_get", task_id=task_id, key=key)

    def pending_effects(self, task_id: str) -> list[EffectRow]:
        return self._all(EFFECT, "pending_effects", task_id=task_id)

    def put_effect(self, row: EffectRow) -> None:
        self._execute("effect_put", EFFECT.params(row, self._bodies))

    def review(self, review_id: str) -> ReviewRow | None:
        return self._first(REVIEW, "review_lock", review_id=review_id)

    def reviews_of(self, task_id: str) -> list[ReviewRow]:
        return self._all(REVIEW, "reviews_lock", task_id=task_id)

    def put_review(self, row: ReviewRow) -> None:
        self._execute("review_put", REVIEW.params(row, self._bodies))

    def review_claim(self, review_id: str) -> ClaimRow | None:
        return self._first(CLAIM, "claim_get", review_id=review_id)

    def put_review_claim(self, row: ClaimRow) -> None:
        self._execute("claim_put", CLAIM.params(row, self._bodies))

    def drop_review_claim(self, review_id: str) -> None:
        self._execute("claim_delete", {"review_id": review_id})

    def put_compensation(self, row: CompensationRow) -> None:
        self._execute("compensation_put", COMPENSATION.params(row, self._bodies))

    def add_decision(self, row: DecisionRow) -> None:
        self._execute("decision_insert", DECISION.params(row, self._bodies))

    def add_event(self, row: EventRow) -> None:
        self._execute("event_insert", EVENT.params(row, self._bodies))

    def put_blob(self, blob: PutBlob) -> None:
        codec, data = self._bodies.write_blob(blob.data, secret=blob.secret)
        refs = orjson.dumps(blob.refs).decode() if blob.refs else None
        self._execute(
            "blob_put",
            {
                "hash": blob.hash,
                "codec": codec,
                "data": data,
                "refs": refs,
                "stored_ms": self.now_ms,
                "crc": blob_checksum(codec, data, refs),
            },
        )

    def _first(self, table: Table[Row], statement: str, **params: Any) -> Row | None:
        rows = self._all(table, statement, **params)
        return rows[0] if rows else None

    def _all(self, table: Table[Row], statement: str, **params: Any) -> list[Row]:
        return [table.row(values, self._bodies) for values in self._execute(statement, params)]


def blob_checksum(codec: str, data: bytes, refs: str | None) -> int:
    """CRC-32 over a body as stored, so that damage is told apart from a wrong key."""
    return zlib.crc32(data, zlib.crc32(f"{codec} {refs}".encode()))
