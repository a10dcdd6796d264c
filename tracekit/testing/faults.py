"""
Faults for tests of recovery: kill at a named point, lose an answer, delay, repeat, reorder, refuse, break, fill the disk.

`POINTS` lists every point by name. A process is killed for real: give it `killing("after_dispatch")` as environment.
Within a process use `Faults`, or the pytest fixture `faults` of `tracekit.testing.plugin`:

    def test_a_lost_answer_is_looked_up(faults):
        faults.drop_answer(refund)
        handle_ticket.start("A-1024", task_id="t")
"""

from __future__ import annotations

import errno
import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from tracekit import clock
from tracekit.durable.points import POINTS, add_hook
from tracekit.errors import OutcomeUnknown
from tracekit.tools import Tool

__all__ = ["POINTS", "Faults", "RateLimited", "killing"]


def killing(point: str, nth: int = 1) -> dict[str, str]:
    """Environment under which a process gets SIGKILL when it passes *point* for the *nth* time."""
    if point not in POINTS:
        raise ValueError(f"expected one of tracekit.testing.faults.POINTS, got {point!r}")
    return {"TRACEKIT_KILL_AT": f"{point}#{nth}"}


class RateLimited(Exception):
    """An answer 429 with `Retry-After`, as HTTP clients raise it."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"429 Too Many Requests, retry after {retry_after_s:g} s")
        self.status_code = 429
        self.headers: Mapping[str, str] = {"retry-after": f"{retry_after_s:g}"}


Around = Callable[[Callable[[], Any]], Any]


class Faults:
    """Faults in force until the block is left; each method plants one."""

    def __init__(self) -> None:
        self._undo = ExitStack()

    def __enter__(self) -> Faults:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    # ------------------------------------------------------------------------------------ at points

    def raise_at(self, point: str, error: BaseException, *, nth: int = 1) -> None:
        """Raise *error* when *point* is passed for the *nth* time."""

        def fault() -> None:
            raise error

        self._at(point, nth, fault)

    def disk_full_at(self, point: str, *, nth: int = 1) -> None:
        """Fail as a full disk does at *point*, such as `before_commit:after_effect`."""
        self.raise_at(point, OSError(errno.ENOSPC, "No space left on device"), nth=nth)

    def delay_at(self, point: str, seconds: float, *, nth: int = 1) -> None:
        """Wait at *point*; through the clock in use, so a settable clock does not wait really."""
        self._at(point, nth, lambda: clock.current().sleep(seconds))

    def call_at(self, point: str, function: Callable[[], None], *, nth: int = 1) -> None:
        """Call *function* at *point*: to let a second worker act at that very moment."""
        self._at(point, nth, function)

    def _at(self, point: str, nth: int, fault: Callable[[], None]) -> None:
        if point not in POINTS:
            raise ValueError(f"expected one of tracekit.testing.faults.POINTS, got {point!r}")
        passed = 0

        def hook(name: str) -> None:
            nonlocal passed
            if name == point:
                passed += 1
                if passed == nth:
                    fault()

        self._undo.callback(add_hook(hook))

    # ------------------------------------------------------------------------------------ of tools

    def drop_answer(self, tool: Tool[Any, Any], *, times: int = 1) -> None:
        """Let *tool* do its work and lose its answer, *times* times."""

        def lost(call: Callable[[], Any]) -> Any:
            call()
            raise OutcomeUnknown(f"the answer of {tool.name} was dropped by a fault")

        async def lost_async(call: Callable[[], Any]) -> Any:
            await call()
            raise OutcomeUnknown(f"the answer of {tool.name} was dropped by a fault")

        self._around(tool, lost, lost_async, times)

    def delay(self, tool: Tool[Any, Any], seconds: float, *, times: int = 1) -> None:
        """Let *tool* answer late."""

        def late(call: Callable[[], Any]) -> Any:
            value = call()
            clock.current().sleep(seconds)
            return value

        async def late_async(call: Callable[[], Any]) -> Any:
            import asyncio

            value = await call()
            await asyncio.sleep(seconds)
            return value

        self._around(tool, late, late_async, times)

    def duplicate(self, tool: Tool[Any, Any], *, times: int = 1) -> None:
        """Deliver the request of *tool* twice, as a network may: the server has to know it by its key."""

        def twice(call: Callable[[], Any]) -> Any:
            call()
            return call()

        async def twice_async(call: Callable[[], Any]) -> Any:
            await call()
            return await call()

        self._around(tool, twice, twice_async, times)

    def rate_limit(self, tool: Tool[Any, Any], *, retry_after_s: float = 1.0, times: int = 1) -> None:
        """Refuse *tool* with 429 and `Retry-After`; the work is not done."""
        self.fail(tool, RateLimited(retry_after_s), times=times)

    def fail(self, tool: Tool[Any, Any], error: BaseException, *, times: int = 1) -> None:
        """Raise *error* in place of the work of *tool*."""

        def broken(call: Callable[[], Any]) -> Any:
            raise error

        async def broken_async(call: Callable[[], Any]) -> Any:
            raise error

        self._around(tool, broken, broken_async, times)

    def malformed(self, tool: Tool[Any, Any], value: Any = "\ufffd{", *, times: int = 1) -> None:
        """Let *tool* do its work and answer with *value* instead."""

        def other(call: Callable[[], Any]) -> Any:
            call()
            return value

        async def other_async(call: Callable[[], Any]) -> Any:
            await call()
            return value

        self._around(tool, other, other_async, times)

    def reorder(self, first: Tool[Any, Any], last: Tool[Any, Any]) -> None:
        """Let the asynchronous *first*, called side by side with *last*, answer only after it."""
        ended = _Once()

        async def wait(call: Callable[[], Any]) -> Any:
            value = await call()
            await ended.wait()
            return value

        async def tell(call: Callable[[], Any]) -> Any:
            value = await call()
            ended.tell()
            return value

        def refuse(call: Callable[[], Any]) -> Any:
            raise TypeError("only asynchronous tools run side by side")

        self._around(first, refuse, wait, 1)
        self._around(last, refuse, tell, 1)

    def _around(self, tool: Tool[Any, Any], plain: Around, asynchronous: Around, times: int) -> None:
        original = tool.function
        left = times
        lock = threading.Lock()

        @functools.wraps(original)
        def faulty(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            with lock:
                hit, left = left > 0, left - 1

            def call() -> Any:
                return original(*args, **kwargs)

            if not hit:
                return call()
            return asynchronous(call) if inspect.iscoroutinefunction(original) else plain(call)

        tool.function = faulty
        self._undo.callback(setattr, tool, "function", original)


class _Once:
    """Something that happens once on the loop that waits for it."""

    def __init__(self) -> None:
        import asyncio

        self._event = asyncio.Event()

    async def wait(self) -> None:
        await self._event.wait()

    def tell(self) -> None:
        self._event.set()
