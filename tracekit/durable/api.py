"""
Recovering tasks from Python: `plan`, `resume`, `pending_reviews`, `decide`, `fork`.

    acquire the lease -> load -> settle pending effects -> diagnose -> decide -> review, or replay
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from typing import Any

from tracekit.config import settings
from tracekit.durable.bodies import blob
from tracekit.durable.decide import Table
from tracekit.durable.finding import find_task, load_app
from tracekit.durable.ids import SCOPE_FUNCTION
from tracekit.durable.owning import Ownership, existing_store, ownership
from tracekit.durable.plan import AtRisk, Plan, make_plan
from tracekit.durable.reviewing import is_open, requires_review
from tracekit.durable.session import Session, now_ms
from tracekit.durable.task import Task
from tracekit.durable.unopened import REASON as UNOPENED
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.snapshot import decode
from tracekit.store.contract import Store
from tracekit.store.liveness import survey
from tracekit.store.rows import Lease, ReviewRow, TaskRow, TaskState

__all__ = ["AtRisk", "Plan", "decide", "pending_reviews", "plan", "resume", "resume_async"]

RESUMING_DECIDES = ("task.exception", "divergence", "code.changed", UNOPENED)
"""Reasons for which resuming by hand is itself the person's `retry`: nothing outside is in doubt."""


def plan(task_id: str, *, store: str | Store | None = None, app: str | None = None) -> Plan:
    """
    What resuming *task_id* would do; changes nothing.

    Args:
        app: Module or script that declares the task and its tools, so that probes are known.
    """
    found = _looked_at(store)
    state = state_of(found, task_id, with_bodies=True)
    if app is not None:
        load_app(app)
    task, missing = _task_if_there(state.task)
    return make_plan(
        state,
        _table(task),
        code_changed=task.changes_since(state.task) if task is not None else (),
        code_missing=missing,
        is_held=state.task.owner in survey(found).alive,
    )


def table_of(row: TaskRow) -> Table:
    """The decision table that the task of *row* declares, where its code can be found; else the standard one."""
    return _table(_task_if_there(row)[0])


def _table(task: Task[Any] | None) -> Table:
    return task.options.table if task is not None and task.options.table is not None else Table.standard()


def _task_if_there(row: TaskRow) -> tuple[Task[Any] | None, TracekitError | None]:
    """The declared task, its module imported so that its tools are known; else None and why it can't be had here."""
    if row.function == SCOPE_FUNCTION:
        return None, None
    try:
        return find_task(row.function), None
    except TracekitError as error:
        # A plan can be shown without the code; what it can't know then, it says.
        return None, error


def resume(task_id: str, *, store: str | Store | None = None, app: str | None = None) -> Any:
    """
    Go on with *task_id* from where it broke, in this process; returns the task's result.

    The result of a finished task is given again. A task that stopped at its own exception is tried again: calling
    this is the decision.

    Raises:
        RequiresReview: Only a person can say how it goes on.
        TracekitError: `task.unknown`, `task.ended`, `task.held` (another process has it), `task.not_found`.
    """
    owner, session, task, value = _resumed(task_id, store, app)
    return value if session is None or task is None else task.run_session(owner, session)


async def resume_async(task_id: str, *, store: str | Store | None = None, app: str | None = None) -> Any:
    """`resume` for a task made of an async function, inside a running loop."""
    owner, session, task, value = _resumed(task_id, store, app)
    return value if session is None or task is None else await task.run_session_async(owner, session)


def _resumed(
    task_id: str, store: str | Store | None, app: str | None
) -> tuple[Ownership, Session | None, Task[Any] | None, Any]:
    """The owned attempt with its task, or the result of a finished task."""
    owner = ownership(store) if not isinstance(store, str | None) else existing(store)
    row = state_of(owner.store, task_id).task
    if row.status is TaskStatus.DONE:
        return owner, None, None, _result(owner.store, row)
    if row.status.is_final:
        raise TracekitError(
            "task.ended", f"task {task_id!r} is {row.status.value} and can't go on; fork it instead"
        )
    if row.function == SCOPE_FUNCTION:
        raise TracekitError(
            "task.scope",
            f"{task_id!r} is a task_scope: run the program again that enters it, its effects are guarded",
        )
    task = find_task(row.function, app)
    settle_reviews(owner.store, task_id)
    return owner, task.session_again(owner, row), task, None


@dataclass(frozen=True, slots=True)
class Taken:
    """A lease, and whether it may only be used to ask a person."""

    lease: Lease
    beyond_limit: bool


def take(owner: Ownership, row: TaskRow) -> Taken:
    """The lease of a task that waits for an owner; raises `task.held` while another process has it."""
    lease = owner.acquire(row.task_id, recover=True)
    beyond_limit = lease is None and row.recoveries >= row.max_recoveries
    if beyond_limit:
        lease = owner.acquire(row.task_id, recover=True, beyond_limit=True)
    if lease is None:
        state = state_of(owner.store, row.task_id)
        if state.task.status.is_final:
            raise TracekitError("task.ended", f"task {row.task_id!r} is {state.task.status.value} by now")
        raise TracekitError(
            "task.held",
            f"task {row.task_id!r} is held by {state.task.owner}, which is alive or whose lease is not over; "
            "wait for it, or end that process first",
        )
    return Taken(lease, beyond_limit)


def settle_reviews(store: Store, task_id: str) -> None:
    """Decide what resuming by hand decides; raises `RequiresReview` for what is left."""
    left = []
    state = state_of(store, task_id)
    for review in _open_reviews(state):
        if review.reason in RESUMING_DECIDES:
            store.decide(
                review.review_id,
                decision="retry",
                by=person(),
                args_digest=review.args_digest,
                payload=None,
                now_ms=now_ms(),
            )
        else:
            left.append(review)
    if left:
        raise requires_review(store, state.task, left[0])


def pending_reviews(*, store: str | Store | None = None, task_id: str | None = None) -> list[ReviewRow]:
    """Questions that wait for a person, oldest first."""
    found = _looked_at(store)
    if task_id is not None:
        return _open_reviews(state_of(found, task_id))
    return found.reviews(open_only=True)


def decide(
    review_id: str,
    decision: str,
    *,
    by: str | None = None,
    result: Any = None,
    arguments: dict[str, Any] | None = None,
    args_digest: str | None = None,
    store: str | Store | None = None,
) -> ReviewRow:
    """
    Record a person's decision; it takes effect when the task is resumed.

    Args:
        decision: One of the review's options, such as `retry`, `skip`, `done`, `edit`, `rollback`, `abort`.
        by: Who decides; the user of this process where none is given.
        result: With `done`: what the step is taken to have answered.
        arguments: With `edit`: the arguments to use instead.
        args_digest: Digest of the arguments that the person saw; those of the review as it is now where none is given.

    Raises:
        TracekitError: `review.unknown`, `review.option`.
        Conflict: Somebody decided otherwise before, it expired, or the arguments are others by now.
    """
    found = _looked_at(store)
    review = review_of(found, review_id)
    options = panel_of(review)["options"]
    if decision not in options:
        raise TracekitError(
            "review.option", f"review {review_id} allows {', '.join(options)}; got {decision!r}"
        )
    if decision == "edit" and not isinstance(arguments, dict):
        raise TracekitError("review.arguments", "decision 'edit' needs the new arguments by name")
    payload = blob(arguments) if decision == "edit" else blob(result) if decision == "done" else None
    return found.decide(
        review_id,
        decision=decision,
        by=by or person(),
        args_digest=review.args_digest if args_digest is None else args_digest,
        payload=payload,
        now_ms=now_ms(),
    )


def panel_of(review: ReviewRow) -> dict[str, Any]:
    """The four facts and the options of a question."""
    import orjson

    panel: dict[str, Any] = orjson.loads(review.panel)
    return panel


def review_of(store: Store, review_id: str) -> ReviewRow:
    """The question of that id; raises `review.unknown`."""
    found = next(
        (row for row in store.reviews(open_only=False, limit=100_000) if row.review_id == review_id), None
    )
    if found is None:
        raise TracekitError(
            "review.unknown", f"there is no review {review_id!r}; `tracekit review list --all` shows them"
        )
    return found


def _open_reviews(state: TaskState) -> list[ReviewRow]:
    return [row for row in state.reviews if is_open(row)]


def state_of(store: Store, task_id: str, *, with_bodies: bool = False) -> TaskState:
    """The task as it stands; raises `task.unknown`."""
    state = store.load(task_id, with_bodies=with_bodies)
    if state is None:
        raise TracekitError(
            "task.unknown", f"there is no task {task_id!r} in {store.url}; `tracekit ls` shows them"
        )
    return state


def _result(store: Store, row: TaskRow) -> Any:
    return decode(store.blobs([row.result])[row.result]) if row.result else None


def _looked_at(store: str | Store | None) -> Store:
    return existing_store(store) if isinstance(store, str | None) else store


def existing(store: str | None) -> Ownership:
    """This process in a store that is there already."""
    existing_store(store)
    return ownership(store or settings().store_url)


def person() -> str:
    """Who decides where nobody is named: `TRACEKIT_PERSON`, else the user of this process."""
    if named := os.environ.get("TRACEKIT_PERSON"):
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
