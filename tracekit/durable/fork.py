"""Forking: a new task with the journal of another one up to a step, to go on differently from there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tracekit import clock
from tracekit.durable.api import resume
from tracekit.durable.journal import is_finished
from tracekit.durable.owning import ownership
from tracekit.durable.session import event, now_ms
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store.contract import PutBlob, PutStep, Store, TaskState, UpdateTask, Write


def fork(
    task_id: str, *, at: str, new_id: str | None = None, store: str | Store | None = None, run: bool = False
) -> Any:
    """
    A new task that has everything *task_id* finished before the step *at*; returns its id.

    Effects of the copied steps stay those of the old task: the new one neither repeats nor undoes them. With *run*
    it is run at once and its result returned.
    """
    owner = ownership(store)
    state = owner.store.load(task_id, with_bodies=True)
    if state is None:
        raise TracekitError("task.unknown", f"there is no task {task_id!r} in {owner.store.url}")
    kept = _kept(state, at)
    now = now_ms()
    name = new_id or f"{task_id}-fork-{clock.current().random_hex(6)}"
    row = replace(
        state.task,
        task_id=name,
        trace_id=clock.current().random_hex(32),
        root_step_id=clock.current().random_hex(16),
        status=TaskStatus.QUEUED,
        owner=None,
        fence=0,
        lease_until_ms=0,
        next_seq=1,
        attempt=0,
        recoveries=0,
        tokens_used=0,
        cost_used=0.0,
        result=None,
        error=None,
        parent_task=task_id,
        created_ms=now,
        updated_ms=now,
    )
    blobs = [PutBlob(hash_, data) for hash_, data in state.blobs.items()]
    if not owner.store.create(row, blobs):
        raise TracekitError("task.exists", f"task {name!r} is there already; give the fork another id")
    _copy(owner, name, [replace(each, task_id=name) for each in kept], task_id, at)
    return resume(name, store=store) if run else name


def _kept(state: TaskState, at: str) -> list[Any]:
    """The finished steps before *at*; raises where one of them is not finished."""
    before = {row.place: row for row in state.steps}
    if at not in before:
        places = ", ".join(row.place for row in state.steps)
        raise TracekitError(
            "fork.no_step", f"task {state.task.task_id!r} has no step {at!r}; it has {places}"
        )
    kept = [row for row in state.steps if row.ord < before[at].ord]
    open_ = [row.place for row in kept if not is_finished(row)]
    if open_:
        raise TracekitError(
            "fork.unfinished", f"steps {', '.join(open_)} before {at} are not finished; fork before them"
        )
    return kept


def _copy(owner: Any, name: str, rows: list[Any], parent: str, at: str) -> None:
    lease = owner.acquire(name, recover=False)
    if lease is None:
        raise TracekitError(
            "task.taken", f"the fork {name!r} was taken by a worker before its journal was copied"
        )
    writes: list[Write] = [PutStep(row) for row in rows]
    writes += [UpdateTask({"status": TaskStatus.QUEUED, "attempt": 0}), event("forked", at, parent=parent)]
    owner.store.commit(lease, writes, durable=True)
    owner.store.release(lease)
