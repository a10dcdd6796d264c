"""
Carrying a task over to changed code: the user's function says with which arguments, and from which step on.

A migrated task is a fork: the old one ends with its journal as it was, the new one has the finished steps before the
place to go on from, and the new arguments. Effects after that place are kept, see `tracekit.durable.carried`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracekit.durable.api import RESUMING_DECIDES
from tracekit.durable.bodies import blob
from tracekit.durable.fork import cut, cut_unfinished, end_as, fork_id, fork_into
from tracekit.durable.session import Session
from tracekit.model import TaskStatus
from tracekit.store.contract import PutBlob
from tracekit.store.rows import TaskState

if TYPE_CHECKING:
    from tracekit.durable.owning import Ownership
    from tracekit.durable.task import Task


@dataclass(frozen=True, slots=True)
class OldStep:
    """One finished step of the old journal."""

    place: str
    kind: str
    name: str
    result: Any


@dataclass(frozen=True, slots=True)
class OldRun:
    """What the old code left."""

    task_id: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    changed: tuple[str, ...]
    """What differs, in words."""
    steps: tuple[OldStep, ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """How the new code goes on."""

    args: tuple[Any, ...] | None = None
    """Arguments for the new code; the old ones where None."""
    kwargs: dict[str, Any] | None = None
    continue_from: str | None = None
    """Place of the first step to be made anew; None keeps every finished one."""


Migrate = Callable[[OldRun], Migration | None]
"""A user's function; None says that the new code replays the old journal as it is."""


def migrated(owner: Ownership, session: Session, task: Task[Any]) -> str | None:
    """The id of the task that goes on instead of the one of *session*, which then has ended; None to go on with it."""
    changed = task.changes_since(session.task)
    if task.migrate is None or not changed or _is_under_decision(session):
        return None
    given = session.body(session.task.arguments)
    wanted = task.migrate(
        OldRun(session.task.task_id, tuple(given["args"]), dict(given["kwargs"]), changed, _steps(session))
    )
    if wanted is None:
        return None
    args = given["args"] if wanted.args is None else list(wanted.args)
    kwargs = given["kwargs"] if wanted.kwargs is None else wanted.kwargs
    state = owner.store.load(session.task.task_id)
    assert state is not None
    return _go_on(owner, session, task, state, wanted.continue_from, blob({"args": args, "kwargs": kwargs}))


def _is_under_decision(session: Session) -> bool:
    """Whether a person's word about a step, or a rollback, has to be carried out by the old journal first."""
    decided = [row for row in session.reviews.values() if row.status == "decided"]
    is_rolling = bool(session.compensations) or session.task.status is TaskStatus.ROLLING_BACK
    return is_rolling or any(row.reason not in RESUMING_DECIDES for row in decided)


def _go_on(
    owner: Ownership, session: Session, task: Task[Any], state: TaskState, at: str | None, arguments: PutBlob
) -> str:
    made = cut(state, at) if at is not None else cut_unfinished(state)
    name = fork_id(state.task.task_id)
    end_as(owner, session.lease, name, made.place, "migrate")
    version, schemas = task.code()
    fork_into(
        owner,
        state,
        made,
        name,
        by="migrate",
        arguments=arguments,
        code_version=version,
        tool_schema_hash=schemas,
    )
    return name


def _steps(session: Session) -> tuple[OldStep, ...]:
    rows = sorted(session.steps.values(), key=lambda row: row.ord)
    return tuple(
        OldStep(row.place, row.kind.value, row.name, session.body(row.result) if row.result else None)
        for row in rows
        if row.finished_ms is not None
    )
