"""
`tracekit.step`: record a named piece of work, as a block or as a decorator.

Works on plain functions, coroutines, generators and async generators. The step of a generator is current only while
its own code runs, so closing it in another task or thread leaves nothing behind.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Mapping
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from tracekit.errors import TracekitError
from tracekit.model import StepKind
from tracekit.recording.ending import StepBlock
from tracekit.recording.generators import driven, driven_async
from tracekit.recording.open_step import OpenStep
from tracekit.recording.recorder import recorder
from tracekit.recording.spans import StepRef
from tracekit.recording.step_lines import NOT_GIVEN
from tracekit.tools import is_async

P = ParamSpec("P")
R = TypeVar("R")


class step:
    """
    A named piece of work: `with step("load"):`, `async with step("load"):` or `@step("load")`.

    As a decorator the arguments become the input and the returned value the output. In a block, `as s` gives the
    open step; `s.result(value)` tells the output.

    Args:
        name: Names the step; a decorated function gives its own where it is left out.
        kind: `step` for a piece of work; `agent`, `model` and `tool` are the other useful ones.
        fields: Any other argument of `Recorder.begin`, such as `agent="planner"` or `depends_on=[...]`.

    Raises:
        TracekitError: `step.name`: *name* is no text, as for `@step` without parentheses.
    """

    def __init__(
        self, name: str | None = None, *, kind: StepKind | str = StepKind.STEP, **fields: Any
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TracekitError(
                "step.name",
                f'expected the name of a step, got {name!r}; write @step() or @step("name") above a function',
            )
        self._name = name
        self._kind = kind
        self._fields = fields
        self._open: OpenStep | None = None
        self._block: StepBlock | None = None

    @property
    def ref(self) -> StepRef | None:
        """Names the step of the block (`StepRef`), also after it has ended; None before."""
        return self._open.ref if self._open else None

    def result(self, output: Any) -> None:
        """Tell what came out of the block; shown as the output of the step."""
        if self._block is not None:
            self._block.output = output

    def note(self, **attributes: Any) -> None:
        """Add attributes to the step."""
        if self._open:
            self._open.note(**attributes)

    def __enter__(self) -> step:
        self._open = self._begin(self._name or "step", NOT_GIVEN)
        self._block = StepBlock(self._open)
        self._block.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if self._block is not None:
            self._block.__exit__(kind, error, stack)

    async def __aenter__(self) -> step:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, stack)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        return cast("Callable[P, R]", self._wrap(function))

    def _begin(self, name: str, given: Any) -> OpenStep:
        return recorder().begin(self._kind, name, **{"input": given, **self._fields})

    def _wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(function, classmethod | staticmethod):
            return type(function)(self._wrap(function.__func__))  # written above its decorator
        name = self._name or getattr(function, "__qualname__", None) or repr(function)
        if inspect.isasyncgenfunction(function):
            return self._async_generator(function, name)
        if inspect.isgeneratorfunction(function):
            return self._generator(function, name)
        if is_async(function):
            return self._coroutine(function, name)
        return self._plain(function, name)

    def _plain(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with StepBlock(self._begin(name, arguments(function, args, kwargs))) as block:
                block.output = function(*args, **kwargs)
            return block.output

        return recorded

    def _coroutine(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        async def recorded(*args: Any, **kwargs: Any) -> Any:
            with StepBlock(self._begin(name, arguments(function, args, kwargs))) as block:
                block.output = await function(*args, **kwargs)
            return block.output

        return recorded

    def _generator(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            inner = function(*args, **kwargs)
            return (yield from driven(inner, self._begin(name, arguments(function, args, kwargs))))

        return recorded

    def _async_generator(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        return driven_async(
            function, lambda args, kwargs: self._begin(name, arguments(function, args, kwargs))
        )


def arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """What *function* is called with, by parameter name; `self` and `cls` are left out."""
    try:
        bound = _signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {"args": list(args), "kwargs": dict(kwargs)}  # the call itself will say what is wrong
    return {name: value for name, value in bound.items() if name not in ("self", "cls")}


@functools.lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)
