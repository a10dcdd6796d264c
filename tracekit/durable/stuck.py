"""Which tasks nobody will ever pick up by themselves, and why."""

from __future__ import annotations

from collections.abc import Iterable

from tracekit import clock
from tracekit.durable.ids import SCOPE_FUNCTION
from tracekit.durable.reviewing import is_open
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store.contract import Store
from tracekit.store.liveness import Survey, survey
from tracekit.store.rows import TaskRow


def stuck_reasons(store: Store, rows: Iterable[TaskRow]) -> dict[str, str]:
    """By task id, why it stays as it is unless a person or a new worker acts; a living owner's task is not stuck."""
    seen = survey(store)
    found = {}
    for row in rows:
        try:
            reason = _reason(store, row, seen)
        except TracekitError as error:
            reason = f"it can't be read: {error}"
        if reason is not None:
            found[row.task_id] = reason
    return found


def _reason(store: Store, row: TaskRow, seen: Survey) -> str | None:
    if row.status.is_final:
        return None
    again = "run its program again" if row.function == SCOPE_FUNCTION else "resume it"
    if row.status is TaskStatus.REQUIRES_REVIEW:
        state = store.load(row.task_id)
        asked = [r for r in state.reviews if r.status == "open"] if state is not None else []
        if open_ids := [r.review_id for r in asked if is_open(r)]:
            return f"waits for a person: {', '.join(open_ids)}"
        if asked:
            return f"its question has expired: {again} to be asked anew"
        if row.function == SCOPE_FUNCTION:
            return f"decided: {again}"
        return None if seen.alive else f"decided, but no worker lives to carry it out: {again}"
    if row.owner is not None and row.owner in seen.alive:
        return None
    lost = row.owner in seen.dead or row.lease_until_ms <= clock.now_ms()
    if row.owner is not None and not lost:
        return None
    if row.owner is not None and row.recoveries >= row.max_recoveries:
        return f"its {row.max_recoveries} recoveries are used up: {again} to be asked what to do"
    if row.function == SCOPE_FUNCTION:
        return f"no worker can enter its task_scope: {again}"
    if not seen.alive:
        return "no worker of this store lives: resume it, or start `tracekit worker`"
    return None
