"""Runs deciding code for plain functions: commits, dispatches and waits in the calling thread."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable
from typing import Any, TypeVar

from tracekit import clock
from tracekit.durable.inside import inside, timed_out
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
        answer = _plain(request) if request.timeout_s is None else _timed(request, request.timeout_s)
    point(f"after_{request.point}")
    return answer


def _plain(request: Dispatch) -> Answer | Raised:
    try:
        value = request.call()
        return Answer(_awaited(value) if inspect.isawaitable(value) else value)
    except Exception as error:
        return Raised(error)


def _timed(request: Dispatch, timeout_s: float) -> Answer | Raised:
    """The answer, or that none came in time; the thread is left, since Python can't stop it."""
    context = contextvars.copy_context()
    answers: list[Answer | Raised] = []
    done = threading.Event()
    given_up = threading.Event()

    def work() -> None:
        try:
            answers.append(context.run(_plain, request))
        except BaseException as error:
            answers.append(Raised(error))  # an exit, which would end this thread and leave its caller waiting
        done.set()
        if given_up.is_set() and request.late is not None:
            request.late(answers[0])

    threading.Thread(target=work, name="tracekit-call", daemon=True).start()
    if not done.wait(timeout_s):
        given_up.set()
        return timed_out(request)
    return _passed_on(answers[0])


def _passed_on(answer: Answer | Raised) -> Answer | Raised:
    """*answer*; what is no `Exception` goes on as it does without a time limit."""
    if isinstance(answer, Raised) and not isinstance(answer.error, Exception):
        raise answer.error
    return answer


def _awaited(value: Awaitable[Any]) -> Any:
    """The result of an asynchronous tool that a plain task called."""

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())
