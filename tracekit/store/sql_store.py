"""The reading half of both SQL stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from tracekit.errors import Damaged, TracekitError
from tracekit.model import TaskStatus
from tracekit.store.base import Result, RuleStore
from tracekit.store.claims import ClaimRow
from tracekit.store.gathering import Parts, body_hashes
from tracekit.store.rows import EventRow, ReviewRow, TaskRow, TaskState, WorkerRow
from tracekit.store.sealed import Bodies
from tracekit.store.sql_transaction import Execute, blob_checksum
from tracekit.store.tables import (
    CLAIM,
    COMPENSATION,
    DECISION,
    EFFECT,
    EVENT,
    REVIEW,
    STEP,
    TASK,
    WORKER,
    Row,
    Table,
    intact,
)
from tracekit.store.tables import damaged as damaged_row

_PAGE_ROWS = 1000


class SqlStore(RuleStore):
    """Reads rows through named statements; a dialect adds its connections."""

    _bodies: Bodies

    @abstractmethod
    def _read(self, work: Callable[[Execute], Result]) -> Result:
        """Run *work* with statements that see the store as it is at one moment; it may be run again."""

    @abstractmethod
    def _change(self, statement: str, params: Mapping[str, Any]) -> int:
        """Run one statement in a light transaction of its own; how many rows it changed."""

    @staticmethod
    @abstractmethod
    def _to_list(values: Sequence[str]) -> Any:
        """A list of texts as the dialect takes it."""

    def load(self, task_id: str, *, with_bodies: bool = False) -> TaskState | None:
        return self._read(lambda execute: self._load(execute, task_id, with_bodies=with_bodies))

    def blobs(self, hashes: Iterable[str]) -> dict[str, bytes]:
        wanted = set(hashes)
        found = self._read(lambda execute: self._read_blobs(execute, wanted))
        return {name: data for name, (data, _) in found.items()}

    def events(self, task_id: str, *, after_seq: int = 0, limit: int = 1000) -> list[EventRow]:
        return self._list(EVENT, "events_of", task_id=task_id, after_seq=after_seq, limit=limit)

    def tasks(
        self,
        *,
        status: Sequence[TaskStatus] = (),
        after: str = "",
        limit: int = 1000,
        damaged: Damaged | None = None,
    ) -> list[TaskRow]:
        statuses = self._to_list([each.value for each in status])
        return self._listed(TASK, "tasks_list", damaged, after=after, statuses=statuses, limit=limit)

    def left_out(self, task_ids: Sequence[str]) -> dict[str, int]:
        params = {"task_ids": self._to_list(task_ids)}
        return dict(self._read(lambda execute: [(row[0], row[1]) for row in execute("left_out", params)]))

    def reviews(
        self, *, open_only: bool = True, limit: int = 1000, damaged: Damaged | None = None
    ) -> list[ReviewRow]:
        return self._listed(REVIEW, "reviews_all", damaged, open_only=open_only, limit=limit)

    def claims(self) -> list[ClaimRow]:
        return self._list(CLAIM, "claims_open")

    def workers(self) -> list[WorkerRow]:
        return self._list(WORKER, "workers_all")

    def register_worker(self, worker: WorkerRow) -> None:
        self._change("worker_put", WORKER.params(worker, self._bodies))

    def forget_worker(self, worker_id: str) -> None:
        self._change("worker_delete", {"worker_id": worker_id})

    def _untrusted(self, told: Damaged | None) -> list[str]:
        """Ids of the tasks whose row says that they ended, but is not what was stored; each one is *told*."""
        ended = self._to_list([each.value for each in TaskStatus if each.is_final])
        found, after = [], ""
        while page := self._page_of_tasks(ended, after):
            for values in page:
                row = dict(zip(TASK.columns, values, strict=False))
                if not intact(values):
                    error = damaged_row(TASK, row, "its checksum does not match")
                    if not isinstance(row["task_id"], str):
                        # Without an id that is a text it can't be spared, so nothing may go.
                        raise error
                    found.append(row["task_id"])
                    if told is not None:
                        told(error)
            after = row["task_id"]
        return found

    def _page_of_tasks(self, statuses: Any, after: str) -> list[Sequence[Any]]:
        params = {"after": after, "statuses": statuses, "limit": _PAGE_ROWS}
        return list(self._read(lambda execute: execute("tasks_list", params)))

    def _load(self, execute: Execute, task_id: str, *, with_bodies: bool) -> TaskState | None:
        rows = self._rows(execute, TASK, "task_read", task_id=task_id)
        if not rows:
            return None
        parts = Parts(
            task=rows[0],
            steps=self._rows(execute, STEP, "steps_of", task_id=task_id),
            effects=self._rows(execute, EFFECT, "effects_of", task_id=task_id),
            reviews=self._rows(execute, REVIEW, "reviews_of", task_id=task_id),
            compensations=self._rows(execute, COMPENSATION, "compensations_of", task_id=task_id),
            decisions=self._rows(execute, DECISION, "decisions_of", task_id=task_id),
        )
        return parts.state(self._bodies_of(execute, body_hashes(parts, with_steps=with_bodies)))

    def _list(self, table: Table[Row], statement: str, **params: Any) -> list[Row]:
        return self._read(lambda execute: self._rows(execute, table, statement, **params))

    def _listed(self, table: Table[Row], statement: str, damaged: Damaged | None, **params: Any) -> list[Row]:
        """As `_list`, but one damaged row does not hide the others from whoever wants to be told of it."""
        if damaged is None:
            return self._list(table, statement, **params)
        rows = []
        for values in self._read(lambda execute: execute(statement, params)):
            try:
                rows.append(table.row(values, self._bodies))
            except TracekitError as error:
                if error.code != "store.damaged":
                    raise
                damaged(error)
        return rows

    def _rows(self, execute: Execute, table: Table[Row], statement: str, **params: Any) -> list[Row]:
        return [table.row(values, self._bodies) for values in execute(statement, params)]

    def _bodies_of(self, execute: Execute, hashes: Iterable[str]) -> dict[str, bytes]:
        """The bodies, and those that they name in turn."""
        found: dict[str, bytes] = {}
        wanted = set(hashes)
        while wanted:
            refs: set[str] = set()
            for name, (data, named) in self._read_blobs(execute, wanted).items():
                found[name] = data
                refs.update(named)
            wanted = refs - found.keys()
        return found

    def _read_blobs(self, execute: Execute, hashes: Iterable[str]) -> dict[str, tuple[bytes, Sequence[str]]]:
        wanted = sorted(set(hashes))
        found: dict[str, tuple[bytes, Sequence[str]]] = {}
        for name, codec, data, refs, crc in execute("blobs_read", {"hashes": self._to_list(wanted)}):
            if blob_checksum(codec, data, refs) != crc:
                raise TracekitError(
                    "store.damaged",
                    f"expected an intact body {name}, but its checksum does not match; nothing of it was loaded. "
                    "Copy the store away, then restore it from a backup",
                )
            found[name] = self._bodies.read_blob(codec, data, hash=name), orjson.loads(refs) if refs else ()
        check_all_found(wanted, found)
        return found


def check_all_found(wanted: Iterable[str], found: Mapping[str, Any]) -> None:
    """Raises `store.missing` when a body is not there."""
    if missing := sorted(set(wanted) - found.keys()):
        raise TracekitError(
            "store.missing",
            f"expected {len(missing)} more bodies in the store, among them {missing[0]}; it was pruned or never stored",
        )
