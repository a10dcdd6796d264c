"""
Generators and async generators under an open step.

The step is current only while the generator's own code runs: no context token is kept across a `yield`, so a
generator may be closed in another task or thread. Left early, its step ends once, as `abandoned`.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial
from typing import Any

from tracekit.recording.ending import StepBlock
from tracekit.recording.open_step import OpenStep


def driven(inner: Generator[Any, Any, Any], step: OpenStep) -> Generator[Any, Any, Any]:
    """*inner*, with *step* current in its code and ended when it ends; gives on what is sent and thrown."""
    count = 0
    resume: Callable[[], Any] = partial(next, inner)
    try:
        while True:
            with step.active():
                item = resume()
            count += 1
            try:
                resume = partial(inner.send, (yield item))
            except GeneratorExit:
                raise
            except BaseException as thrown:
                resume = partial(inner.throw, thrown)
    except StopIteration as stop:
        step.finish(output=stop.value, attributes={"tracekit.items": count})
        return stop.value
    except BaseException as error:
        with StepBlock(step, attributes={"tracekit.items": count}) as cleaning:
            cleaning.error = error
            inner.close()
        raise


def driven_async(
    function: Callable[..., AsyncGenerator[Any, Any]],
    begin: Callable[[tuple[Any, ...], dict[str, Any]], OpenStep],
) -> Callable[..., AsyncGenerator[Any, Any]]:
    """*function*, as an async generator function of its own: its step begins with the first item asked for."""

    @functools.wraps(function)
    async def recorded(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        step = begin(args, kwargs)
        count = 0
        resume: Any = inner.__anext__()
        try:
            while True:
                with step.active():
                    item = await resume
                count += 1
                try:
                    resume = inner.asend((yield item))
                except GeneratorExit:
                    raise
                except BaseException as thrown:
                    resume = inner.athrow(thrown)
        except StopAsyncIteration:
            step.finish(attributes={"tracekit.items": count})
        except BaseException as error:
            with StepBlock(step, attributes={"tracekit.items": count}) as cleaning:
                cleaning.error = error
                await inner.aclose()
            raise

    return recorded
