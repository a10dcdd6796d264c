"""Runs deciding code for plain functions: commits, dispatches and waits in the calling thread."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tracekit import clock
from tracekit.durable.inside import answer_of, inside, passed_on, timed_out
from tracekit.durable.points import point
from tracekit.durable.requests import Answer, Commit, Dispatch, Op, Raised, Request
from tracekit.durable.session import Session

T = TypeVar("T")


def drive(session: Session, op: Op[T]) -> T:
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
            answer = _carry_out(session, request)
        except BaseException as error:
            failure = error  # the deciding code settles what it has begun, then lets it pass


def _carry_out(session: Session, request: Request) -> Any:
    if isinstance(request, Commit):
        return session.commit(request)
    if isinstance(request, Dispatch):
        return _dispatch(session, request)
    point("before_sleep")
    return clock.current().sleep(request.seconds)


def _dispatch(session: Session, request: Dispatch) -> Answer | Raised:
    point(f"before_{request.point}")
    with inside(session, request):
        work = functools.partial(_called, request)
        answer = answer_of(work) if request.timeout_s is None else _timed(request, work, request.timeout_s)
    answer = passed_on(answer)
    point(f"after_{request.point}")
    return answer


def _called(request: Dispatch) -> Any:
    value = request.call()
    return _awaited(value) if inspect.isawaitable(value) else value


def _timed(request: Dispatch, work: Callable[[], Any], timeout_s: float) -> Answer | Raised:
    """The answer, or that none came in time; the thread is left, since Python can't stop it."""
    context = contextvars.copy_context()
    answers: list[Answer | Raised] = []
    done = threading.Event()
    given_up = threading.Event()

    def run() -> None:
        answers.append(context.run(answer_of, work))
        done.set()
        if given_up.is_set() and request.late is not None:
            request.late(answers[0])

    threading.Thread(target=run, name="tracekit-call", daemon=True).start()
    if done.wait(timeout_s):
        return answers[0]
    given_up.set()
    return timed_out(request)


def _awaited(value: Awaitable[Any]) -> Any:
    """The result of an asynchronous tool that a plain task called."""

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())
