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
from tracekit.durable.bodies import blob
from tracekit.durable.ids import SCOPE_FUNCTION, checked_id
from tracekit.durable.limits import check_limits_given
from tracekit.durable.owning import Ownership, opened, ownership
from tracekit.durable.places import entered
from tracekit.durable.requests import Commit
from tracekit.durable.session import Options, Session, event, now_ms
from tracekit.durable.settle_lost import settle_lost
from tracekit.durable.tool_call import Asked, tool_call
from tracekit.durable.trail import root_step
from tracekit.errors import TracekitError
from tracekit.model import EffectRisk, StepStatus, TaskStatus
from tracekit.snapshot import canonical, digest
from tracekit.store.contract import Store, UpdateTask
from tracekit.store.rows import Lease, TaskRow, TaskState
from tracekit.tools import Tool, handler, running_tasks, take_call_id


class Guard:
    """Leads direct calls of tools in the block to the ledger; its task id is `task_id`."""

    def __init__(self, session: Session, *, is_over: bool = False) -> None:
        self._session = session
        self._is_over = is_over
        self._equal: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.task_id = session.task.task_id

    def call_tool(self, tool: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A guarded effect, or an observed read."""
        if tool.policy.effect is EffectRisk.READ:
            return tool.observed(args, kwargs)
        named = tool.named(args, kwargs)
        place = self._place(tool, named)
        if self._is_over and place not in self._session.steps:
            raise TracekitError(
                "task.ended",
                f"scope {self.task_id!r} was left at its end before, and {tool.name} is not among what it did; "
                "a run that is to do more needs an id of its own",
            )
        op = tool_call(self._session, place, Asked(tool, named, call_id=take_call_id()))
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

    A scope that was left at its end gives recorded results and refuses anything new.

    Raises:
        RequiresReview: An effect of an earlier run is unknown and only a person can say.
        TracekitError: `task.held` while another process is in the scope; `task.ended` for one that a person ended.
    """
    owner = ownership(store)
    there = _admitted(owner, task_id, goal, max_recoveries)
    if there.status is TaskStatus.DONE:
        over = _finished_session(owner, task_id)
        with entered(over.scope), _led_to(Guard(over, is_over=True)) as guard:
            yield guard
        return
    settle_reviews(owner.store, task_id)
    lease = take(owner, there).lease
    session = Session(
        owner.store, lease, opened(owner, lease, lambda: _loaded(owner, task_id)), options=Options()
    )
    session.root = root_step(session, task_id)
    owner.hold(session)
    error: BaseException | None = None
    try:
        with session.root.active(), entered(session.scope), _led_to(Guard(session)) as guard:
            shell_sync.drive(session, settle_lost(session))
            yield guard
            session.check()
            done = UpdateTask({"status": TaskStatus.DONE}), event("scope_left", None)
            session.commit(Commit("task_done", done, True))
    except BaseException as caught:
        error = caught
        raise
    finally:
        session.root.finish(StepStatus.OK if error is None else StepStatus.ERROR, error=error)
        owner.release(session)


@contextmanager
def _led_to(guard: Guard) -> Iterator[Guard]:
    token = handler.set(guard)
    running_tasks.add(id(guard))
    try:
        yield guard
    finally:
        running_tasks.discard(id(guard))
        handler.reset(token)


def _admitted(owner: Ownership, task_id: str, goal: str, max_recoveries: int) -> TaskRow:
    """The scope's row, admitted if it is new; raises where the id belongs to a task."""
    check_limits_given(max_recoveries=max_recoveries)
    arguments = blob({"args": [], "kwargs": {}})
    random = clock.current().random_hex
    row = TaskRow(
        checked_id(task_id),
        random(32),
        random(16),
        SCOPE_FUNCTION,
        arguments.hash,
        goal=goal,
        max_recoveries=max_recoveries,
        created_ms=now_ms(),
        updated_ms=now_ms(),
    )
    owner.store.create(row, [arguments])
    there = _loaded(owner, task_id).task
    if there.function != SCOPE_FUNCTION:
        raise TracekitError(
            "task.exists", f"task id {task_id!r} belongs to {there.function}; give the scope its own id"
        )
    return there


def _loaded(owner: Ownership, task_id: str) -> TaskState:
    state = owner.store.load(task_id, with_bodies=True)
    if state is None:
        raise TracekitError("task.unknown", f"task {task_id!r} vanished from {owner.store.url}")
    return state


def _finished_session(owner: Ownership, task_id: str) -> Session:
    """A picture of a finished scope; it holds no lease, so nothing can be written through it."""
    return Session(owner.store, Lease(task_id, "", 0, 0), _loaded(owner, task_id))
