"""A declared task: a function that can be killed at any moment and goes on in any process."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tracekit import clock
from tracekit.durable.bodies import blob
from tracekit.durable.code_version import code_change, code_version, tool_schema_hash
from tracekit.durable.ids import checked_id
from tracekit.durable.life import Body, run_async, run_sync
from tracekit.durable.limits import Limits
from tracekit.durable.next_commands import resume_command
from tracekit.durable.owning import UNDER_WAY, Ownership, opened, ownership
from tracekit.durable.places import scope_around
from tracekit.durable.points import point
from tracekit.durable.session import Options, Session, now_ms
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.snapshot import decode
from tracekit.store.contract import PutBlob, Store
from tracekit.store.liveness import survey
from tracekit.store.rows import Lease, TaskRow

if TYPE_CHECKING:
    from tracekit.durable.migrate import Migrate

R = TypeVar("R")

_registry: dict[str, Task[Any]] = {}


class Task(Generic[R]):
    """A declared task: `start` runs it here, `submit` leaves it to a worker."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        limits: Limits,
        options: Options,
        max_recoveries: int,
        goal: str,
        on_code_change: str,
        migrate: Migrate | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        """Where it is found again: `module:qualified_name`."""
        self.limits = limits
        self.options = options
        self.max_recoveries = max_recoveries
        self.goal = goal
        self.on_code_change = on_code_change
        self.migrate = migrate
        self.is_async = inspect.iscoroutinefunction(function)

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function; for tests that bring a `Run` of their own."""
        return self.function(*args, **kwargs)

    def start(
        self, *args: Any, task_id: str | None = None, store: str | Store | None = None, **kwargs: Any
    ) -> R:
        """
        Admit the task durably and run it here to its end; returns its result.

        A finished task with this id gives its recorded result again.

        Raises:
            TracekitError: `task.exists` when the id is taken by an unfinished task (resume it), or by other arguments.
            RequiresReview: it waits for a person.
        """
        self._refuse_running_loop("start_async")
        owner, session, value = self._admitted(args, kwargs, task_id, store)
        if session is None:
            recorded: R = value
            return recorded
        return self.run_session(owner, session)

    async def start_async(
        self, *args: Any, task_id: str | None = None, store: str | Store | None = None, **kwargs: Any
    ) -> R:
        """`start` for a task made of an async function, inside a running loop."""
        owner, session, value = self._admitted(args, kwargs, task_id, store)
        if session is None:
            recorded: R = value
            return recorded
        result: R = await run_async(owner, session, self._body(session))
        return result

    def submit(
        self,
        *args: Any,
        task_id: str | None = None,
        store: str | Store | None = None,
        priority: int = 0,
        **kwargs: Any,
    ) -> str:
        """Admit the task durably for any worker and return its id; a task that is there already stays as it is."""
        row, blobs = self._new_row(args, kwargs, task_id, priority)
        ownership(store).store.create(row, blobs)
        return row.task_id

    def run_session(self, owner: Ownership, session: Session) -> R:
        """Run an attempt that this process owns; an async task on a loop of its own."""
        moved = self._migrated(owner, session)
        if moved is not None:
            from tracekit.durable.api import resume  # imports this module

            went_on: R = resume(moved, store=owner.store)
            return went_on
        body = self._body(session)
        result: R = (
            asyncio.run(run_async(owner, session, body)) if self.is_async else run_sync(owner, session, body)
        )
        return result

    async def run_session_async(self, owner: Ownership, session: Session) -> R:
        """Run an attempt that this process owns inside a running loop."""
        moved = self._migrated(owner, session)
        if moved is not None:
            from tracekit.durable.api import resume_async  # imports this module

            went_on: R = await resume_async(moved, store=owner.store)
            return went_on
        result: R = await run_async(owner, session, self._body(session))
        return result

    def changes_since(self, row: TaskRow) -> tuple[str, ...]:
        """What differs from the code that the task of *row* began with, in words."""
        return tuple(code_change(row, *self.code()))

    def code(self) -> tuple[str, str]:
        """Digests of the task function's source and of the schemas of the tools beside it."""
        return code_version(self.function), tool_schema_hash(self.function.__module__)

    def _migrated(self, owner: Ownership, session: Session) -> str | None:
        """The task that goes on instead, where the code changed and the user's function says how."""
        if self.migrate is None:
            return None
        from tracekit.durable.migrate import migrated  # imports this module

        return migrated(owner, session, self)

    def _refuse_running_loop(self, instead: str) -> None:
        """Raise before anything is admitted or owned when an async task can't be run from here."""
        if self.is_async and asyncio._get_running_loop() is not None:
            raise TracekitError(
                "task.running_loop",
                f"{self.name} is async and a loop is running here: `await ...{instead}(...)`",
            )

    def session(self, owner: Ownership, lease: Lease) -> Session:
        """The attempt behind *lease*, loaded."""
        state = owner.store.load(lease.task_id, with_bodies=True)
        if state is None:
            raise TracekitError("task.unknown", f"task {lease.task_id!r} vanished from {owner.store.url}")
        return Session(owner.store, lease, state, options=self.options)

    def session_again(self, owner: Ownership, row: TaskRow) -> Session:
        """The next attempt of the task of *row*, owned by this process; raises `task.held` while another one has it."""
        from tracekit.durable.api import take  # imports this module

        taken = take(owner, row)
        session = opened(owner, taken.lease, lambda: self.session(owner, taken.lease))
        session.beyond_limit = taken.beyond_limit
        return session

    def _body(self, session: Session) -> Body:
        given = session.body(session.task.arguments)
        return Body(
            self.function,
            tuple(given["args"]),
            dict(given["kwargs"]),
            code_version(self.function),
            tool_schema_hash(self.function.__module__),
            self.on_code_change,
        )

    def _admitted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], task_id: str | None, store: str | Store | None
    ) -> tuple[Ownership, Session | None, Any]:
        """
        The owned first attempt, or the result of the finished task that has this id.

        A task that another one started before it was killed is gone on with: whoever replays the outer one means the same.
        """
        owner = ownership(store)
        row, blobs = self._new_row(args, kwargs, task_id, 0)
        point("before_commit:admit")
        created = owner.store.create(row, blobs)
        point("after_commit:admit")
        if not created:
            there = self._there(owner.store, row)
            if there.status in UNDER_WAY and scope_around() is not None:
                return owner, self.session_again(owner, there), None
            return owner, None, self._finished(owner.store, there)
        lease = owner.acquire(row.task_id, recover=False)
        if lease is None:
            raise TracekitError(
                "task.taken", f"task {row.task_id!r} was taken by a worker as soon as it was admitted"
            )
        return owner, opened(owner, lease, lambda: self.session(owner, lease)), None

    def _check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise before anything is written where the function can't be called like that; its first parameter is the run."""
        try:
            inspect.signature(self.function).bind(None, *args, **kwargs)
        except TypeError as error:
            raise TracekitError(
                "task.arguments",
                f"{self.name} can't be called like that: {error}; nothing was admitted. Its parameters after the run: "
                + (", ".join(list(inspect.signature(self.function).parameters)[1:]) or "none"),
            ) from error

    def _there(self, store: Store, row: TaskRow) -> TaskRow:
        """The task that has the id of *row*; raises where it is another one."""
        state = store.load(row.task_id)
        there = state.task if state is not None else row
        if there.function != row.function or there.arguments != row.arguments:
            raise TracekitError(
                "task.exists",
                f"task id {row.task_id!r} belongs to {there.function} with other arguments; give this one its own id",
            )
        return there

    def _finished(self, store: Store, there: TaskRow) -> Any:
        if there.status is not TaskStatus.DONE:
            raise TracekitError("task.exists", _unfinished_words(store, there))
        return decode(store.blobs([there.result])[there.result]) if there.result else None

    def _new_row(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], task_id: str | None, priority: int
    ) -> tuple[TaskRow, list[PutBlob]]:
        self._check_call(args, kwargs)
        arguments = blob({"args": list(args), "kwargs": kwargs})
        now = now_ms()
        random = clock.current().random_hex
        row = TaskRow(
            _id_here() if task_id is None else checked_id(task_id),
            random(32),
            random(16),
            self.name,
            arguments.hash,
            goal=self.goal or _first_line(self.function),
            code_version=code_version(self.function),
            tool_schema_hash=tool_schema_hash(self.function.__module__),
            limits=self.limits.to_json(),
            max_recoveries=self.max_recoveries,
            priority=priority,
            created_ms=now,
            updated_ms=now,
        )
        return row, [arguments]


def _id_here() -> str:
    """
    An id for a task that was given none.

    Within another task it is made of that one's id and the place: a replay that made up a new one would start a new
    task, and pay again what the first has paid.
    """
    scope = scope_around()
    if scope is None:
        return f"task-{clock.current().random_hex(12)}"
    assert isinstance(scope.owner, Session)
    return f"{scope.owner.task.task_id}-inner{scope.next_task()}"


def _unfinished_words(store: Store, there: TaskRow) -> str:
    if there.owner is not None and there.owner in survey(store).alive:
        return (
            f"task {there.task_id!r} is there already: {there.owner} is alive and works on it; wait for it, "
            "then start this again to have its result"
        )
    return (
        f"task {there.task_id!r} is there already, {there.status.value}, and nobody works on it; go on with it by "
        f"`{resume_command(store, there.task_id)}` or tracekit.resume({there.task_id!r})"
    )


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or function.__name__).splitlines()[0]


def register(made: Task[Any]) -> None:
    """Let *made* be found by its name in this process."""
    _registry[made.name] = made


def registered_task(name: str) -> Task[Any] | None:
    """The task of that name that was declared in this process."""
    return _registry.get(name)


def registered_tasks() -> list[str]:
    """Names of all tasks declared in this process."""
    return list(_registry)
