"""
`@tool`: what a tool declares about itself, and the one door through which it is called.

Outside a task a call runs the plain function and is observed. Inside a task, or in a `task_scope`, the same call goes
through the effect ledger: whoever owns the context variable `handler` decides.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from tracekit.arguments import INJECTED, Parsed
from tracekit.errors import NotExecuted, Rejected, TracekitError
from tracekit.model import EffectRisk, StepKind, StepStatus
from tracekit.modules import home_of, loaded_module
from tracekit.policy import Policy, Retry, name_of

if TYPE_CHECKING:
    from tracekit.arguments import ArgumentSchema
    from tracekit.recording.ending import StepBlock

P = ParamSpec("P")
R = TypeVar("R")


class ToolHandler(Protocol):
    """What a task puts in place so that direct calls of a tool reach its ledger."""

    def call_tool(self, tool: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The tool's result, or an awaitable of it for an asynchronous tool."""


handler: ContextVar[ToolHandler | None] = ContextVar("tracekit_tool_handler", default=None)
"""The task that direct calls belong to; None outside."""

current_key: ContextVar[str | None] = ContextVar("tracekit_idempotency_key", default=None)
"""The key of the effect that is being dispatched; set by the ledger."""


class Carrying:
    """A call of the model that a framework is carrying out."""

    def __init__(self, call_id: str | None) -> None:
        self.call_id = call_id
        self.is_taken = False
        """Whether a tool of ours ran for it, and so recorded it."""


carrying: ContextVar[Carrying | None] = ContextVar("tracekit_carrying", default=None)
"""The call that the first tool to run here is."""


@contextmanager
def carrying_out(call_id: str | None) -> Iterator[Carrying]:
    """A block in which the first tool that runs is the call *call_id* of the model."""
    call = Carrying(call_id)
    token = carrying.set(call)
    try:
        yield call
    finally:
        carrying.reset(token)


def take_call_id() -> str | None:
    """Id of the call that is carried out here, for the first who asks: tools that it calls in turn are other calls."""
    call = carrying.get()
    if call is None or call.is_taken:
        return None
    call.is_taken = True
    return call.call_id


running_tasks: set[int] = set()
"""Ids of the attempts and scopes that run in this process."""


def idempotency_key() -> str | None:
    """The ledger key of the call that is running, to be sent to the server; None outside a task's effect."""
    return current_key.get()


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of *function* has to be awaited: a coroutine function, an object with such a call, an async tool."""
    if isinstance(function, Tool):
        return function.is_async
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  an object with an async __call__
    )


class Tool(Generic[P, R]):
    """A function together with what it declares; called like the function itself."""

    def __init__(
        self, function: Callable[P, R], policy: Policy, *, name: str = "", schema: Any = None
    ) -> None:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TracekitError(
                "tool.generator",
                f"expected a function that gives its result as tool {name_of(function)!r}, got a generator, which has "
                'done nothing yet when it returns; return a list, or record it with @tracekit.step(kind="tool")',
            )
        functools.update_wrapper(cast(Any, self), function)
        self.function = function
        self.policy = policy
        self.name = name or getattr(function, "__name__", "tool")
        self.is_async = is_async(function)
        self._schema = schema
        self._signature = inspect.signature(function)
        if self.is_async:
            mark_async(self, function)

    def __repr__(self) -> str:
        return f"<tool {self.name} effect={self.policy.effect.value}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function's result; through the ledger when a task is running, observed otherwise."""
        owner = handler.get()
        if owner is not None:
            return cast(R, owner.call_tool(self, args, dict(kwargs)))
        if running_tasks and self.policy.effect is not EffectRisk.READ:
            _warn_unbooked(self.name)
        return cast(R, self.observed(args, dict(kwargs)))

    def observed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function's result, recorded as a step and booked nowhere; an awaitable of it for an async tool."""
        if not self.is_async:
            return _observe(self, args, kwargs)
        made: Any = _observe_async(self, args, kwargs)
        made.__name__, made.__qualname__ = self.name, getattr(self, "__qualname__", self.name)
        return made  # asyncio names tasks, and Python what was never awaited, by the coroutine

    def __get__(self, instance: Any, owner: type | None = None) -> Tool[..., R]:
        """The tool as a method of *instance*; the instance is no part of what is stored."""
        if instance is None:
            return self
        method = cast(Any, self.function).__get__(instance, owner)
        return Tool(method, self.policy, name=self.name, schema=self._schema)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name, as its function would be pickled: another process takes the tool that it declares itself."""
        owner, name = getattr(self.function, "__self__", None), getattr(self.function, "__name__", "")
        if owner is not None and isinstance(getattr(owner, name, None), Tool):
            return getattr, (owner, name)
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        path = getattr(self, "__qualname__", "")
        for part in path.split("."):
            found = getattr(found, part, None)
        return path if found is self else super().__reduce_ex__(protocol)

    @property
    def takes_key(self) -> bool:
        """Whether the function has a parameter for the idempotency key."""
        return INJECTED in self._signature.parameters

    @functools.cached_property
    def arguments(self) -> ArgumentSchema:
        """The schema of the arguments, made on first use."""
        from tracekit.arguments import ArgumentSchema

        return ArgumentSchema(self.name, self.function)

    def definition(self) -> dict[str, Any]:
        """The tool as chat APIs want it: `{"type": "function", "function": {...}}`."""
        parameters = self._schema if isinstance(self._schema, Mapping) else self.arguments.json_schema()
        function = {
            "name": self.name,
            "description": inspect.getdoc(self.function) or "",
            "parameters": dict(parameters),
        }
        return {"type": "function", "function": function}

    def parse(self, raw: str, *, lenient: bool = False) -> Parsed:
        """Arguments from a model's exact text; raises `BadArguments` before anything is executed."""
        return self.arguments.parse(raw, lenient=lenient)

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by parameter name, as the caller gave them; a misfit is the caller's `TypeError`."""
        fill = {INJECTED: None} if self.takes_key and INJECTED not in kwargs else {}
        bound = self._signature.bind(*args, **kwargs, **fill)
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                named.update(value)
            elif name != INJECTED:
                named[name] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
        return named

    def invocation(self, named: Mapping[str, Any], key: str | None) -> Callable[[], Any]:
        """A call without arguments that runs the function with *named*, and *key* where it takes one."""
        args: list[Any] = []
        kwargs: dict[str, Any] = dict(named)
        parameters = self._signature.parameters.values()
        has_rest = any(p.kind is p.VAR_POSITIONAL and p.name in kwargs for p in parameters)
        for parameter in parameters:
            by_position = parameter.kind is parameter.POSITIONAL_ONLY
            by_position |= has_rest and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            if parameter.name not in kwargs:
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                args += kwargs.pop(parameter.name)
            elif by_position and parameter.name != INJECTED:
                args.append(kwargs.pop(parameter.name))
        if self.takes_key:
            kwargs[INJECTED] = key
        return functools.partial(self.function, *args, **kwargs)


def mark_async(stand_in: Any, function: Any) -> None:
    """Frameworks ask `inspect.iscoroutinefunction` before they await: let it say yes to what stands for *function*."""
    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(stand_in)
        return
    # Python 3.11 has no mark: it asks the code of whatever has the parts of a function
    while isinstance(function, functools.partial):
        function = function.func
    made = function if hasattr(function, "__code__") else function.__call__
    for part in ("__code__", "__defaults__", "__kwdefaults__"):
        setattr(stand_in, part, getattr(made, part))
    stand_in.__name__ = getattr(stand_in, "__name__", getattr(stand_in, "name", "call"))


def accepted(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """The part of *offered* that *function* has parameters for: how probes, undos and fallbacks get theirs."""
    target = function.function if isinstance(function, Tool) else function
    parameters = inspect.signature(target).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return dict(offered)
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return {name: value for name, value in offered.items() if name in names}


def as_tool(function: Callable[..., Any], policy: Policy) -> Tool[Any, Any]:
    """*function* itself when it is a tool, else a tool that declares *policy*."""
    if isinstance(function, Tool):
        return function
    return Tool(function, policy)


_registry: dict[str, dict[str, Tool[Any, Any]]] = {}
"""Tools by name, then by the module that declares them; the one declared last stands last."""


def registered(name: str, near: str = "") -> Tool[Any, Any] | None:
    """
    The tool called *name*: the one of the module of *near* (`module:name` of a task), else the one declared last.

    Two modules may use one name; a recovery must not ask the probe of the other one.
    """
    found = _registry.get(name, {})
    home = near.rpartition(":")[0]
    # The script that the task was declared in may be loaded under another name here.
    here = loaded_module(home) if home not in found else None
    own = found.get(home_of(here.__name__) if here is not None else home)
    return own or next(reversed(found.values()), None)


def registry() -> tuple[Tool[Any, Any], ...]:
    """All tools declared in this process."""
    return tuple(tool for tools in _registry.values() for tool in tools.values())


def _register(made: Tool[Any, Any]) -> None:
    tools = _registry.setdefault(made.name, {})
    home = home_of(made.function.__module__)
    tools.pop(home, None)
    tools[home] = made


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    effect: str = "read",
    idempotent: bool = False,
    probe: Callable[..., Any] | None = None,
    undo: Callable[..., Any] | None = None,
    timeout_s: float | None = None,
    settle_s: float = 0.0,
    retry: Retry | None = None,
    fallback: Sequence[Callable[..., Any]] = (),
    critical: bool = True,
    name: str = "",
    schema: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: str = "read",
    idempotent: bool = False,
    probe: Callable[..., Any] | None = None,
    undo: Callable[..., Any] | None = None,
    timeout_s: float | None = None,
    settle_s: float = 0.0,
    retry: Retry | None = None,
    fallback: Sequence[Callable[..., Any]] = (),
    critical: bool = True,
    name: str = "",
    schema: Mapping[str, Any] | None = None,
) -> Any:
    """
    Make a `Tool` of a plain or async function.

    Args:
        effect: `read`, or what it does outside: `write`, `notify`, `payment`, `irreversible`. Anything but `read` is
            booked in the ledger before it is tried.
        idempotent: The server honours the idempotency key, so the same call may be sent again under it.
        probe: Asks the server whether it happened; takes any of the tool's arguments and `idempotency_key` by name.
            `None` or `False` means not found, anything else is the result.
        undo: Takes it back; gets any of the tool's arguments, `result` and `idempotency_key` by name.
        timeout_s: After this long without an answer the outcome is unknown.
        settle_s: How long a request may still be under way at the server after its answer was lost.
        retry: Tries and waits; the task's own limits where none is given.
        fallback: Tools to try in this order when this one is proved not to have done it.
        critical: When False, a step that has used up its tries is skipped and put on the to-do list.
        name: What a model calls it by; the function's name where none is given.
        schema: JSON Schema to show a model instead of the one made from the type hints.
    """
    try:
        risk = EffectRisk(effect)
    except ValueError:
        known = ", ".join(f"{each.value!r}" for each in EffectRisk)
        raise TracekitError("tool.effect", f"effect must be one of {known}, got {effect!r}") from None
    others = tuple(fallback) if isinstance(fallback, list | tuple) else (fallback,)
    policy = Policy(risk, idempotent, probe, undo, timeout_s, settle_s, retry, others, critical)

    def declare(target: Callable[..., Any]) -> Tool[Any, Any]:
        made: Tool[Any, Any] = Tool(target, policy, name=name, schema=schema)
        _register(made)
        return made

    return declare if function is None else declare(function)


@functools.cache
def _warn_unbooked(name: str) -> None:
    """Tell once that an effect ran outside of the ledger although a task runs: threads do not inherit the context."""
    logging.getLogger("tracekit").warning(
        "the effect %s was called outside of any task while a task runs in this process: it is not booked. In a thread "
        'of the task use `with run.branch("name")`, inside a task_scope `tracekit.carry(function)`',
        name,
    )


def _observe(called: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _begun(called, args, kwargs) as block:
        block.output = called.function(*args, **kwargs)
    return block.output


async def _observe_async(called: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _begun(called, args, kwargs) as block:
        block.output = await called.function(*args, **kwargs)
    return block.output


def _begun(called: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> StepBlock:
    from tracekit.recording.ending import StepBlock
    from tracekit.recording.recorder import recorder

    try:
        received: Any = called.named(args, kwargs)
    except TypeError:
        received = {"args": list(args), "kwargs": kwargs}  # the function itself will say what is wrong
    policy = called.policy
    effect = {"risk": policy.effect.value, "idempotent": policy.idempotent, "key": None, "status": None}
    is_read = policy.effect is EffectRisk.READ
    step = recorder().begin(
        StepKind.TOOL,
        called.name,
        tool_name=called.name,
        call_id=take_call_id(),
        input=received,
        effect=None if is_read else effect,
        attributes=policy.declared,
    )
    return StepBlock(step, status_of=functools.partial(_status_of, called))


def _status_of(called: Tool[Any, Any], error: BaseException) -> StepStatus:
    """An effect that raised something we can't read may have happened all the same."""
    from tracekit.outcome import classify

    if isinstance(error, NotExecuted | Rejected) or called.policy.effect is EffectRisk.READ:
        return StepStatus.ERROR
    return StepStatus.UNKNOWN if classify(error, is_effect=True).is_unknown else StepStatus.ERROR
