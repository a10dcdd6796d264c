"""
Runs deciding code under asyncio.

Commits are made directly on the loop's thread: half a millisecond, and no moment between the outcome of an effect
and its record at which the task could be cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from tracekit import clock
from tracekit.durable.inside import answer_of, inside, passed_on, timed_out
from tracekit.durable.points import point
from tracekit.durable.requests import Answer, Commit, Dispatch, Op, Raised, Request
from tracekit.durable.session import Session

T = TypeVar("T")


async def drive(session: Session, op: Op[T]) -> T:
    """What *op* ends with; its requests are carried out one after another."""
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            request = op.send(answer) if failure is None else op.throw(failure)
        except StopIteration as end:
            result: T = end.value
            return result
        answer, failure = None, None
        try:
            answer = await _carry_out(session, request)
        except BaseException as error:
            failure = error  # the deciding code settles what it has begun, then lets it pass


async def _carry_out(session: Session, request: Request) -> Any:
    if isinstance(request, Commit):
        return session.commit(request)
    if isinstance(request, Dispatch):
        return await _dispatch(session, request)
    point("before_sleep")
    return await _sleep(request.seconds)


async def _sleep(seconds: float) -> None:
    if isinstance(clock.current(), clock.SystemClock):
        await asyncio.sleep(seconds)
    else:
        clock.current().sleep(seconds)
        await asyncio.sleep(0)


async def _dispatch(session: Session, request: Dispatch) -> Answer | Raised:
    point(f"before_{request.point}")
    here = asyncio.current_task()
    session.dispatching.add(here)
    with inside(session, request, thread=threading.get_ident() if request.is_async else None):
        try:
            async with asyncio.timeout(request.timeout_s) as limit:
                answer = await _call(request)
        except TimeoutError as error:
            answer = timed_out(request) if limit.expired() else Raised(error)
        except Exception as error:
            answer = Raised(error)
        finally:
            session.dispatching.discard(here)
    point(f"after_{request.point}")
    return answer


async def _call(request: Dispatch) -> Answer | Raised:
    if request.is_async:
        return Answer(await request.call())
    answer = passed_on(await _in_thread(request))
    if isinstance(answer, Answer) and inspect.isawaitable(answer.value):
        return Answer(await answer.value)
    return answer


async def _in_thread(request: Dispatch) -> Answer | Raised:
    """A plain function off the loop, so that it does not hold up the rest; left to itself when its time is over."""
    loop = asyncio.get_running_loop()
    work = functools.partial(contextvars.copy_context().run, answer_of, request.call)
    future = loop.run_in_executor(None, work) if request.timeout_s is None else _in_own_thread(loop, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if request.late is not None:
            future.add_done_callback(lambda done: _tell_late(request, done))
        raise


def _in_own_thread(
    loop: asyncio.AbstractEventLoop, work: Callable[[], Answer | Raised]
) -> asyncio.Future[Answer | Raised]:
    """
    *work* in a thread that nobody has to wait for.

    The few threads of the loop keep it open until each call has ended, and while all are taken a call's time would run before
    it was made: an effect that was never sent would count as unknown.
    """
    future: asyncio.Future[Answer | Raised] = loop.create_future()

    def run() -> None:
        answer = work()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the attempt that asked is over
            loop.call_soon_threadsafe(future.set_result, answer)

    threading.Thread(target=run, name="tracekit-call", daemon=True).start()
    return future


def _tell_late(request: Dispatch, done: asyncio.Future[Answer | Raised]) -> None:
    if request.late is not None and not done.cancelled() and done.exception() is None:
        request.late(done.result())
