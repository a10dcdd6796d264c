"""
Where in a task a call stands: the path of its scope and its number there.

The main scope counts `1`, `2`, `3`; a child task of asyncio gets a scope of its own, numbered when it is created, so
the order in which parallel work *finishes* changes no place. So does what `asyncio.to_thread` runs, since whoever
called it waits for it. Any other thread has no such moment and must name its branch.

A loop that plain code runs (`asyncio.run` in a plain task or tool) does not number its tasks: the first that makes a call
counts on where that code stands, each further one for itself, numbered at its first call.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tracekit.errors import TracekitError


def named_call(place: str, name: str) -> str:
    """
    How every message names the call at *place*: `call 6 (refund)`.

    Never "step 6": the numbers that `analyze` and `show` give count the log's steps, the task's own one too.
    """
    return f"call {place} ({name})"


class Scope:
    """One line of numbered calls within the task of *owner*."""

    def __init__(self, owner: object, path: str, thread: int | None = None) -> None:
        self.owner = owner
        self.path = path
        self.thread = thread
        """Thread that counts here; bound at the first use where none is given."""
        self._calls = itertools.count(1)
        self._children = itertools.count(1)
        self._tasks = itertools.count(1)
        self._names: set[str] = set()
        self._loops: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()

    def next_place(self) -> str:
        """The place of the next call."""
        number = next(self._calls)
        return f"{self.path}/{number}" if self.path else str(number)

    def next_task(self) -> str:
        """The place of the next task that is started here; it does not count among the calls."""
        return f"{self.path}-{next(self._tasks)}"

    def child(self) -> Scope:
        """A scope for a child task of asyncio; numbered in the order of creation."""
        number = next(self._children)
        return Scope(self.owner, f"{self.path}.{number}" if self.path else f".{number}", self.thread)

    def in_loop(self, loop: asyncio.AbstractEventLoop) -> Scope:
        """The scope of the next task of a *loop* that code of this scope runs: the first one counts on here."""
        if loop in self._loops:
            return self.child()
        self._loops.add(loop)
        return self

    def branch(self, name: str) -> Scope:
        """A scope with a name, for a thread; a name is used once per scope."""
        if not name or any(character in name for character in "/.~:"):
            raise TracekitError(
                "task.branch_name", f"a branch name has no '/', '.', '~' or ':', got {name!r}"
            )
        if name in self._names:
            raise TracekitError(
                "task.branch_name",
                f"branch {name!r} was opened before in scope {self.path or 'main'!r}; give each branch its own name, "
                "such as the id of what it works on, so that a resumed run finds its calls again",
            )
        self._names.add(name)
        return Scope(self.owner, f"{self.path}~{name}", threading.get_ident())


@dataclass(frozen=True, slots=True)
class _Entered:
    scope: Scope
    task: asyncio.Task[Any] | None
    """The asyncio task that entered it: its children have scopes of their own and must not count in this one."""


_context: ContextVar[_Entered | None] = ContextVar("tracekit_scope", default=None)
_of_task: ContextVar[Scope | None] = ContextVar("tracekit_task_scope", default=None)
"""The scope of the asyncio task whose context this is: what a thread of `asyncio.to_thread` inherits."""
_by_task: weakref.WeakKeyDictionary[asyncio.Task[Any], Scope] = weakref.WeakKeyDictionary()
"""Scopes of the tasks that were numbered when they were created."""
_unnumbered: weakref.WeakKeyDictionary[asyncio.Task[Any], Scope] = weakref.WeakKeyDictionary()
"""Scopes of the tasks of other loops, given at their first call."""


def current_scope(owner: object) -> Scope | None:
    """The scope of the code that runs now, when it belongs to *owner*; raises in a thread that has not named its branch."""
    scope = _scope_here()
    if scope is None or scope.owner is not owner:
        return None
    here = threading.get_ident()
    if scope.thread is None:
        scope.thread = here
    if scope.thread != here:
        if not _is_worker_of_asyncio():
            raise unnamed_thread()
        scope = scope.child()
        scope.thread = here
        # The context is a copy that `to_thread` made for this one call, or that of a task of a loop in that thread.
        _context.set(_Entered(scope, _current_task()))
    return scope


def scope_around() -> Scope | None:
    """The scope of the code that runs now, whosever it is; None outside all tasks."""
    scope = _scope_here()
    return scope and current_scope(scope.owner)


def _is_worker_of_asyncio() -> bool:
    """Whether this thread belongs to a loop's default executor; what runs there with our context, `to_thread` started."""
    return threading.current_thread().name.startswith("asyncio_")


def unnamed_thread() -> TracekitError:
    """The error for a durable call from a thread whose place nobody could find again."""
    return TracekitError(
        "task.unnamed_thread",
        "a task was called from a thread of its own; the order of threads differs from run to run, so the call could "
        'not be found again. Open a branch there: `with run.branch("name") as branch: branch.tool(...)`',
    )


def _scope_here() -> Scope | None:
    task = _current_task()
    inner = _context.get()
    if inner is not None and (task is None or inner.task is task):
        return inner.scope
    if task is None:
        return _of_task.get()
    return _by_task.get(task) or (_of_task.get() if inner is None else _scope_in_other_loop(task, inner))


def _scope_in_other_loop(task: asyncio.Task[Any], inner: _Entered) -> Scope:
    """The scope of a task that nobody numbered; *inner* is what the code that began it had entered."""
    found = _unnumbered.get(task)
    if found is None:
        found = inner.scope.in_loop(task.get_loop()) if inner.task is None else inner.scope.child()
        _unnumbered[task] = found
    return found


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


@contextmanager
def entered(scope: Scope) -> Iterator[Scope]:
    """Make *scope* the current one in the block."""
    token = _context.set(_Entered(scope, _current_task()))
    try:
        yield scope
    finally:
        _context.reset(token)


class TaskFactory:
    """
    Gives every asyncio task made while a durable task runs a scope, numbered at creation.

    Chained before the loop's own factory, which still makes the task; put in place once per loop.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.users = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        parent = _scope_here()
        if parent is None:
            return self._made(loop, coro, options)
        scope = parent.child()
        context = contextvars.copy_context()
        context.run(_of_task.set, scope)
        context.run(_context.set, None)  # what its parent had entered is not where the child counts
        made = context.run(self._made, loop, coro, options)
        if isinstance(made, asyncio.Task):
            _by_task[made] = scope
        return made

    def _made(self, loop: asyncio.AbstractEventLoop, coro: Any, options: dict[str, Any]) -> Any:
        return self.inner(loop, coro, **options) if self.inner else asyncio.Task(coro, loop=loop, **options)


@contextmanager
def numbered_tasks(loop: asyncio.AbstractEventLoop, scope: Scope) -> Iterator[None]:
    """Number the child tasks of the block; the current asyncio task counts in *scope*."""
    there = loop.get_task_factory()
    factory = there if isinstance(there, TaskFactory) else TaskFactory(there)
    if factory is not there:
        loop.set_task_factory(factory)
    factory.users += 1
    task = asyncio.current_task()
    before = _by_task.get(task) if task is not None else None
    if task is not None:
        _by_task[task] = scope
    token, outer = _of_task.set(scope), _context.set(None)
    try:
        yield
    finally:
        _context.reset(outer)
        _of_task.reset(token)
        factory.users -= 1
        if task is not None:
            if before is None:
                _by_task.pop(task, None)
            else:
                _by_task[task] = before
        if factory.users == 0 and loop.get_task_factory() is factory:
            loop.set_task_factory(factory.inner)


def children_of(owner: object) -> list[asyncio.Task[Any]]:
    """Unfinished asyncio tasks whose scope belongs to *owner*."""
    return [task for task, scope in list(_by_task.items()) if scope.owner is owner and not task.done()]
