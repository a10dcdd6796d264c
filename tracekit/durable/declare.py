"""`@task`: makes a durable task of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from tracekit.durable.decide import Table
from tracekit.durable.limits import Limits, check_limits_given
from tracekit.durable.session import Options
from tracekit.durable.task import Task, register
from tracekit.errors import TracekitError
from tracekit.modules import home_of

if TYPE_CHECKING:
    from tracekit.durable.migrate import Migrate

R = TypeVar("R")

TAKEN = frozenset({"task_id", "store", "priority"})
"""What `start` and `submit` take for themselves."""


class _Declare(Protocol):
    """What `@task(...)` gives: makes the task of a function, whose result an async one gives in the end."""

    @overload
    def __call__(self, function: Callable[..., Coroutine[Any, Any, R]], /) -> Task[R]: ...
    @overload
    def __call__(self, function: Callable[..., R], /) -> Task[R]: ...


@overload
def task(function: Callable[..., Coroutine[Any, Any, R]], /) -> Task[R]: ...
@overload
def task(function: Callable[..., R], /) -> Task[R]: ...
@overload
def task(
    *,
    name: str | None = None,
    goal: str = "",
    max_recoveries: int = 5,
    max_attempts: int = 3,
    max_reinfers: int = 2,
    max_repeats: int = 5,
    tokens: int | None = None,
    cost: float | None = None,
    wall_s: float | None = None,
    lenient: bool = False,
    decisions: str | Path | None = None,
    summarise: Callable[[list[dict[str, Any]]], str] | None = None,
    max_context_tokens: int | None = None,
    review_expires_s: float | None = None,
    on_code_change: str = "continue",
    migrate: Migrate | None = None,
) -> _Declare: ...
def task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    goal: str = "",
    max_recoveries: int = 5,
    max_attempts: int = 3,
    max_reinfers: int = 2,
    max_repeats: int = 5,
    tokens: int | None = None,
    cost: float | None = None,
    wall_s: float | None = None,
    lenient: bool = False,
    decisions: str | Path | None = None,
    summarise: Callable[[list[dict[str, Any]]], str] | None = None,
    max_context_tokens: int | None = None,
    review_expires_s: float | None = None,
    on_code_change: str = "continue",
    migrate: Migrate | None = None,
) -> Any:
    """
    Make a `Task` of a plain or async function whose first parameter is a `Run`.

    Args:
        name: `module:qualified_name` under which another process imports it; worked out where none is given.
        goal: What the task is for, as a person in review reads it; the docstring's first line where none is given.
        max_recoveries: How often a lost process is followed by another before a person is asked.
        max_attempts: Dispatches of one call, over all attempts.
        max_reinfers: Second inferences in a row that bad arguments of one tool may cost.
        max_repeats: Calls in a row that bring nothing new before it counts as a loop.
        tokens: Most tokens, over all attempts.
        cost: Most money, over all attempts.
        wall_s: Most seconds of work, over all attempts.
        lenient: Read a model's arguments leniently when the strict reading fails, and mark it.
        decisions: A decision table of your own, in the form of `tracekit/durable/decisions.toml`.
        summarise: Makes the summary of the messages that no longer fit; rules make it where none is given.
        max_context_tokens: Rebuild a longer context in layers before it is sent.
        review_expires_s: Seconds after which a question to a person has to be asked anew.
        on_code_change: `continue`, or `review` to ask a person when the code changed since the task began.
        migrate: Called with the old run when the code changed; says with which arguments and from which step the new
            code goes on (`tracekit.durable.migrate.Migration`), or None to replay the old journal as it is.
    """
    _check_on_code_change(on_code_change)
    check_limits_given(
        max_attempts=max_attempts,
        max_reinfers=max_reinfers,
        max_repeats=max_repeats,
        max_recoveries=max_recoveries,
        tokens=tokens,
        cost=cost,
        wall_s=wall_s,
        max_context_tokens=max_context_tokens,
        review_expires_s=review_expires_s,
    )
    table = Table.read(decisions) if decisions is not None else None

    declared = partial(
        _declared,
        name=name,
        limits=Limits(max_attempts, max_reinfers, max_repeats, tokens, cost, wall_s),
        options=Options(lenient, table, summarise, max_context_tokens, review_expires_s),
        max_recoveries=max_recoveries,
        goal=goal,
        on_code_change=on_code_change,
        migrate=migrate,
    )
    return declared if function is None else declared(function)


def _check_on_code_change(given: str) -> None:
    if given not in ("continue", "review"):
        raise TracekitError("task.on_code_change", f"on_code_change is 'continue' or 'review', got {given!r}")


def _declared(target: Callable[..., Any], *, name: str | None, **kept: Any) -> Task[Any]:
    """The task of *target*, known in this process by its name."""
    _check_function(target)
    made: Task[Any] = Task(target, name=name or found_name(target), **kept)
    register(made)
    return made


def _check_function(target: Callable[..., Any]) -> None:
    """Raise where *target* can be no task: a generator, or one with a parameter that `start` and `submit` take for themselves."""
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise TracekitError(
            "task.generator",
            f"expected a plain or async function, got the generator {target.__qualname__}: what it yields has no "
            "place to go; return a list, or yield in a function that the task calls",
        )
    taken = sorted(TAKEN & set(inspect.signature(target).parameters))
    if taken:
        raise TracekitError(
            "task.parameter",
            f"the task {getattr(target, '__qualname__', target)} has a parameter named {taken[0]!r}, which `start` and `submit` take "
            f"for themselves; call it another name, such as {taken[0] + '_name'!r}",
        )


def found_name(function: Callable[..., Any]) -> str:
    """`module:qualified_name` under which another process imports *function*; a script is named by its path."""
    if not hasattr(function, "__qualname__"):
        raise TracekitError(
            "task.no_name",
            f"expected a function that another process finds by its name, got {function!r}; write a function that calls it, "
            "or give name='module:attribute' of where the task stands",
        )
    return f"{home_of(function.__module__)}:{function.__qualname__}"
