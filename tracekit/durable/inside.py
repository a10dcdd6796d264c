"""What surrounds foreign code while it runs, the same for both shells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tracekit.durable.places import Scope, entered
from tracekit.durable.requests import Answer, Dispatch, Raised
from tracekit.durable.session import Session
from tracekit.tools import current_key


@contextmanager
def inside(session: Session, request: Dispatch, *, thread: int | None = None) -> Iterator[None]:
    """
    Key, scope of nested calls and parent step for the time of the dispatch.

    Args:
        thread: Where the code counts its calls; the one that makes the first call where that is not known.
    """
    with ExitStack() as stack:
        if request.step is not None:
            stack.enter_context(request.step.active())
        if request.scope is not None:
            stack.enter_context(entered(Scope(session, request.scope, thread)))
        token = current_key.set(request.key)
        try:
            yield
        finally:
            current_key.reset(token)


def answer_of(call: Callable[[], Any]) -> Answer | Raised:
    """What *call* gives or raises, exits among it: as a value it gets out of any thread."""
    try:
        return Answer(call())
    except BaseException as error:
        return Raised(error)


def passed_on(answer: Answer | Raised) -> Answer | Raised:
    """*answer* to whoever waits for it; raises an exit or an interruption, which is no answer of the tool."""
    if isinstance(answer, Raised) and not isinstance(answer.error, Exception):
        raise answer.error
    return answer


def timed_out(request: Dispatch) -> Raised:
    """The answer to a dispatch whose time ran out."""
    return Raised(TimeoutError(f"no answer within {request.timeout_s} s"), timed_out=True)
