"""
`task_scope`: guard the effects inside of any framework's run, without making the run itself a task.

Inside the block every effect is booked and dispatched at most once. Entered again after a crash, a call with the same
tool and arguments gives the recorded result; which of several equal calls is meant is told by their order. Reads are
only observed: the framework asks them anew.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracekit import clock
from tracekit.durable import shell_async, shell_sync
from tracekit.durable.api import settle_reviews, take
from tracekit.durable.owning import Ownership, ownership
from tracekit.durable.places import entered
from tracekit.durable.requests import Commit
from tracekit.durable.session import Options, Session, blob, event, now_ms
from tracekit.durable.settle_lost import settle_lost
from tracekit.durable.tool_call import Asked, tool_call
from tracekit.errors import TracekitError
from tracekit.model import EffectRisk, StepKind, StepStatus, TaskStatus
from tracekit.recording.recorder import recorder
from tracekit.recording.spans import StepRef
from tracekit.snapshot import canonical, digest
from tracekit.store.contract import Store, TaskRow, UpdateTask
from tracekit.tools import Tool, handler


class Guard:
    """Leads direct calls of tools in the block to the ledger; its task id is `task_id`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._equal: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.task_id = session.task.task_id

    def call_tool(self, tool: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A guarded effect, or an observed read."""
        if tool.policy.effect is EffectRisk.READ:
            return tool.observed(args, kwargs)
        named = tool.named(args, kwargs)
        op = tool_call(self._session, self._place(tool, named), Asked(tool, named))
        return shell_async.drive(self._session, op) if tool.is_async else shell_sync.drive(self._session, op)

    def _place(self, tool: Tool[Any, Any], named: dict[str, Any]) -> str:
        """A place made of what is asked, since a framework's order is not ours to compare."""
        name = f"{tool.name}@{digest(canonical(named))[:12]}"
        with self._lock:
            self._equal[name] += 1
            return f"{name}/{self._equal[name]}"


@contextmanager
def task_scope(
    task_id: str, *, goal: str = "", store: str | Store | None = None, max_recoveries: int = 20
) -> Iterator[Guard]:
    """
    Book every effect in the block under *task_id*; entered again, finished ones are not repeated.

    Raises:
        RequiresReview: An effect of an earlier run is unknown and only a person can say.
        TracekitError: `task.held` while another process is in the scope; `task.ended` for one that a person ended.
    """
    owner = ownership(store)
    session = _session(owner, task_id, goal, max_recoveries)
    session.root = _root_step(session)
    owner.hold(session)
    guard = Guard(session)
    token = handler.set(guard)
    error: BaseException | None = None
    try:
        with session.root.active(), entered(session.scope):
            shell_sync.drive(session, settle_lost(session))
            yield guard
            session.check()
            _close(session, TaskStatus.DONE)
    except BaseException as caught:
        error = caught
        raise
    finally:
        handler.reset(token)
        session.root.finish(StepStatus.OK if error is None else StepStatus.ERROR, error=error)
        owner.release(session)


def _close(session: Session, status: TaskStatus) -> None:
    session.commit(Commit("task_done", (UpdateTask({"status": status}), event("scope_left", None)), True))


def _session(owner: Ownership, task_id: str, goal: str, max_recoveries: int) -> Session:
    arguments = blob({"args": [], "kwargs": {}})
    random = clock.current().random_hex
    row = TaskRow(
        task_id, random(32), random(16), "tracekit.durable.scope:task_scope", arguments.hash, goal=goal,
        max_recoveries=max_recoveries, created_ms=now_ms(), updated_ms=now_ms(),
    )  # fmt: skip
    owner.store.create(row, [arguments])
    state = owner.store.load(task_id)
    there = state.task if state is not None else row
    if there.function != row.function:
        raise TracekitError(
            "task.exists", f"task id {task_id!r} belongs to {there.function}; give the scope its own id"
        )
    if there.status is TaskStatus.DONE:
        raise TracekitError(
            "task.ended",
            f"scope {task_id!r} was left at its end before; a run that is to happen again needs an id of its own",
        )
    settle_reviews(owner.store, task_id)
    lease = take(owner, there)
    loaded = owner.store.load(task_id, with_bodies=True)
    if loaded is None:
        raise TracekitError("task.unknown", f"task {task_id!r} vanished from {owner.store.url}")
    return Session(owner.store, lease, loaded, options=Options())


def _root_step(session: Session) -> Any:
    task = session.task
    first = task.attempt <= 1
    return recorder().begin(
        StepKind.TASK,
        task.task_id,
        trace_id=task.trace_id,
        step_id=task.root_step_id if first else None,
        parent=None if first else StepRef(task.trace_id, task.root_step_id),
        task_id=task.task_id,
        attempt=task.attempt,
    )
