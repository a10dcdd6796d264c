"""
Carry the current step into a thread, a thread pool or another process.

Context travels by itself through `await`, `asyncio.gather`, task groups and `asyncio.to_thread`. It does not travel
into `threading.Thread`, `ThreadPoolExecutor.submit`, `loop.run_in_executor` and process pools: wrap what runs there.

    with ThreadPoolExecutor() as pool:
        pool.submit(carry(lookup), "A-1024")
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, Generic, ParamSpec, TypeVar, cast

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan

from tracekit.recording.recorder import current_ref
from tracekit.recording.spans import StepRef, attach, detach, span_context
from tracekit.tools import is_async, mark_async

P = ParamSpec("P")
R = TypeVar("R")


class Carried(Generic[P, R]):
    """A callable that runs below the step that was current where it was made; it can be pickled."""

    def __init__(self, function: Callable[P, R], parent: StepRef | None, context: Context | None) -> None:
        self._function = function
        self._parent = parent
        self._context = context
        functools.update_wrapper(self, function, updated=())
        self._is_async = is_async(function)
        if self._is_async:
            mark_async(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._is_async:
            return cast(R, self._awaited(*args, **kwargs))
        if self._context is not None:
            # a copy for each call: one context can't be entered by two threads at once
            return self._context.copy().run(self._function, *args, **kwargs)
        if self._parent is None:
            return self._function(*args, **kwargs)
        token = attach(trace.set_span_in_context(NonRecordingSpan(span_context(self._parent))))
        try:
            return self._function(*args, **kwargs)
        finally:
            detach(token)

    async def _awaited(self, *args: Any, **kwargs: Any) -> Any:
        """As `__call__`, for a function whose work begins only when it is awaited, in whatever task that is."""
        function: Any = self._function
        if self._context is not None:

            async def work() -> Any:
                return await function(*args, **kwargs)

            return await asyncio.get_running_loop().create_task(work(), context=self._context.copy())
        if self._parent is None:
            return await function(*args, **kwargs)
        token = attach(trace.set_span_in_context(NonRecordingSpan(span_context(self._parent))))
        try:
            return await function(*args, **kwargs)
        finally:
            detach(token)

    def __reduce__(self) -> tuple[Any, ...]:
        return Carried, (self._function, self._parent, None)


def carry(function: Callable[P, R]) -> Carried[P, R]:
    """*function*, so that it runs below the step that is current now, in whatever thread or process calls it."""
    return Carried(function, current_ref(), copy_context())
