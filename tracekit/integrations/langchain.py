"""
LangChain's tools, and so LangGraph's: each call is a tool step; effects can be put under the ledger.

    from tracekit.integrations import langchain
    langchain.instrument()
    refund = langchain.guard(refund_tool, effect="payment")     # a tool made by `@langchain_core.tools.tool`

    with tracekit.task_scope("ticket-77"):
        graph.invoke(...)

A function that is a `@tracekit.tool` already can be handed to LangChain as it is: `langchain_core.tools.tool(refund)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tracekit import tools
from tracekit.errors import TracekitError
from tracekit.integrations._patching import Patches, client
from tracekit.model import StepKind, StepStatus
from tracekit.recording.ending import StepBlock, finish_with
from tracekit.recording.failure import ToldError
from tracekit.recording.recorder import recorder

_patches = Patches()
_watched_classes: set[type] = set()
_NOT_ARGUMENTS = ("run_manager", "callbacks", "config")


class _Call:
    """One call of a LangChain tool, from its arguments to its message."""

    def __init__(self, tool: Any, call_id: str | None) -> None:
        self.tool = tool
        self.call_id = call_id
        self.is_recorded = False
        """Whether its function was reached: arguments that do not fit end the call before."""


_current: ContextVar[_Call | None] = ContextVar("tracekit_langchain_call", default=None)


def instrument() -> None:
    """Record every tool call from here on."""
    if _patches:
        return
    base = client("langchain_core.tools", "langchain-core").BaseTool
    _patches.wrap(base, "run", _sync_run)
    _patches.wrap(base, "arun", _async_run)


def uninstrument() -> None:
    """Leave the classes as they were."""
    _patches.undo()
    _watched_classes.clear()


def guard(tool: Any, *, effect: str, **declared: Any) -> Any:
    """
    *tool* of LangChain with its function declared as `@tracekit.tool(effect=..., **declared)` would declare it.

    In a `task_scope` it is then booked, dispatched at most once, and a repeat returns the recorded result.

    Raises:
        TracekitError: the tool is of a class that does not hold a function.
    """
    functions = {name: getattr(tool, name, None) for name in ("func", "coroutine")}
    found = {name: function for name, function in functions.items() if function is not None}
    if not found:
        raise TracekitError(
            "integration.no_function",
            f"expected a LangChain tool that holds a function (such as StructuredTool), got {type(tool).__name__}; "
            "put @tracekit.tool on the function that it calls",
        )
    declare = tools.tool(effect=effect, name=tool.name, **declared)
    return tool.model_copy(update={name: declare(function) for name, function in found.items()})


@contextmanager
def _calling(tool: Any, tool_input: Any, call_id: str | None) -> Iterator[_Call]:
    _watch(type(tool))
    call = _Call(tool, call_id)
    token = _current.set(call)
    try:
        yield call
    except BaseException as error:
        if not call.is_recorded:
            finish_with(_begin(call, tool_input), error)
        raise
    finally:
        _current.reset(token)


def _tell_refused(call: _Call, tool_input: Any, output: Any) -> None:
    """Arguments that did not fit and were answered with a text, as LangChain does where it is told to."""
    if not call.is_recorded and getattr(output, "status", None) == "error":
        _begin(call, tool_input).finish("error", error=ToldError("tool_error", str(output.content)))


def _sync_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with _calling(self, tool_input, kwargs.get("tool_call_id")) as call:
            output = original(self, tool_input, *args, **kwargs)
            _tell_refused(call, tool_input, output)
        return output

    return run


def _async_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def arun(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with _calling(self, tool_input, kwargs.get("tool_call_id")) as call:
            output = await original(self, tool_input, *args, **kwargs)
            _tell_refused(call, tool_input, output)
        return output

    return arun


def _watch(cls: type) -> None:
    """See what reaches the function of tools of *cls*: arguments as LangChain's checks left them."""
    if cls in _watched_classes:
        return
    _watched_classes.add(cls)
    for name, make in (("_run", _sync_function), ("_arun", _async_function)):
        owner = next((each for each in cls.__mro__ if name in vars(each)), None)
        if owner is not None and not hasattr(vars(owner)[name], "__tracekit__"):
            _patches.wrap(owner, name, make)


def _sync_function(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _reached(self)
        if call is None:
            return original(self, *args, **kwargs)
        if _is_ours(self.func if hasattr(self, "func") else None):
            with tools.carrying_out(call.call_id):
                return original(self, *args, **kwargs)
        with _block(call, _received(self, args, kwargs)) as block:
            block.output = original(self, *args, **kwargs)
        return block.output

    _run.__tracekit__ = True  # type: ignore[attr-defined]  # so that no class is wrapped twice
    return _run


def _async_function(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = None if _falls_back(self) else _reached(self)
        if call is None:
            return await original(self, *args, **kwargs)
        if _is_ours(getattr(self, "coroutine", None)):
            with tools.carrying_out(call.call_id):
                return await original(self, *args, **kwargs)
        with _block(call, _received(self, args, kwargs)) as block:
            block.output = await original(self, *args, **kwargs)
        return block.output

    _arun.__tracekit__ = True  # type: ignore[attr-defined]  # so that no class is wrapped twice
    return _arun


def _falls_back(tool: Any) -> bool:
    """Whether its asynchronous form only runs the plain function in a thread, where `_run` is seen."""
    return hasattr(tool, "coroutine") and tool.coroutine is None


def _reached(tool: Any) -> _Call | None:
    """The call that *tool* is carrying out, the first time its function is reached."""
    call = _current.get()
    if call is None or call.tool is not tool or call.is_recorded:
        return None
    call.is_recorded = True
    return call


def _is_ours(function: Any) -> bool:
    """Whether the function records itself."""
    return isinstance(function, tools.Tool)


def _received(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments without what LangChain injects: its state, its runtime, its call-backs."""
    named = {name: value for name, value in kwargs.items() if name not in _NOT_ARGUMENTS}
    named = tool._filter_injected_args(named) if hasattr(tool, "_filter_injected_args") else named
    if not args:
        return named
    return args[0] if len(args) == 1 and not named else {"args": list(args), **named}


def _block(call: _Call, received: Any) -> StepBlock:
    return StepBlock(_begin(call, received), status_of=_status_of)


def _status_of(error: BaseException) -> StepStatus:
    """A graph that waits for a person, or goes on elsewhere, says so by raising: the tool did not fail, it was left."""
    is_left = isinstance(error, GeneratorExit) or any(
        each.__name__ == "GraphBubbleUp" for each in type(error).__mro__
    )
    return StepStatus.ABANDONED if is_left else StepStatus.ERROR


def _begin(call: _Call, received: Any) -> Any:
    name = call.tool.name
    return recorder().begin(StepKind.TOOL, name, tool_name=name, call_id=call.call_id, input=received)
