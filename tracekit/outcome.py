"""
What an exception says about its request: answered, refused, never sent, or no answer.

Clients are told by the names of their exception classes, so that none of them need be imported. Where a class could
mean both "never sent" and "sent, then lost", it is read as lost: no answer is not a refusal.
"""

from __future__ import annotations

import contextlib
import email.utils
import errno
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from tracekit import clock
from tracekit.errors import NotExecuted, OutcomeUnknown, Rejected
from tracekit.model import Dispatch

NOT_SENT_NAMES = frozenset(
    {"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError", "NewConnectionError",
     "ClientConnectorError", "ProxyError", "gaierror", "NameResolutionError", "UnsupportedProtocol", "InvalidURL"}
)  # fmt: skip
"""Raised before one byte of the request has left."""

NO_ANSWER_NAMES = frozenset(
    {"ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "RemoteProtocolError", "TimeoutException", "Timeout",
     "APITimeoutError", "ServerDisconnectedError", "ConnectionResetError", "ConnectionAbortedError",
     "BrokenPipeError", "RemoteDisconnected", "IncompleteRead", "ChunkedEncodingError", "ServerTimeoutError",
     "ReadTimeoutError", "ProtocolError", "TimeoutError", "CloseError", "APIConnectionError", "ConnectionError"}
)  # fmt: skip
"""Raised after the request may have left."""

NOT_DONE_STATUS = frozenset({429, 503})
"""Server answers that say: not now, nothing was done."""

OVERFLOW_WORDS = (
    "context_length",
    "context length",
    "maximum context",
    "prompt is too long",
    "too many tokens",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed dispatch, read."""

    dispatch: Dispatch
    failure_class: str
    """Code of the taxonomy, such as `timeout.no_answer`."""
    is_unknown: bool
    """Whether an effect may have happened."""
    is_transient: bool
    """Whether nothing about the request was wrong, so that another try can help."""
    retry_after_s: float | None = None


def classify(error: BaseException, *, is_effect: bool) -> Failure:
    """What *error*, raised by a dispatch, says; for an effect, anything unreadable is unknown."""
    for link in _chain(error):
        found = _said(link) or _by_status(link) or _marked(link, is_effect) or _by_name(link, is_effect)
        if found is not None:
            return found
    return Failure(Dispatch.NO_ANSWER if is_effect else Dispatch.REJECTED, "tool.error", is_effect, False)


def no_answer() -> Failure:
    """The dispatch ran into its own time limit."""
    return Failure(Dispatch.NO_ANSWER, "timeout.no_answer", True, True)


def _chain(error: BaseException) -> list[BaseException]:
    """*error*, then what it says it was caused by: clients wrap the socket's words in their own."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links and len(links) < 8:
        links.append(link)
        link = link.__cause__ or _wrapped(link)
    # The cause speaks first where the wrapper's name covers both kinds of connection trouble.
    return links[::-1] if _is_vague(error) else links


def _wrapped(error: BaseException) -> BaseException | None:
    """The exception inside *error* for clients that pass it on by argument or attribute."""
    inner = (getattr(error, "reason", None), *error.args[:1], error.__context__ if _is_vague(error) else None)
    return next((each for each in inner if isinstance(each, BaseException)), None)


def _is_vague(error: BaseException) -> bool:
    return type(error).__name__ in ("APIConnectionError", "ConnectionError", "URLError")


_MARK = "__tracekit_dispatch__"


def mark(error: BaseException, dispatch: Dispatch) -> None:
    """Put on *error* what is known of its request; the exception stays what it is."""
    # a class with slots takes no mark: its name has to do
    with contextlib.suppress(AttributeError, TypeError):
        setattr(error, _MARK, dispatch)


def _marked(error: BaseException, is_effect: bool) -> Failure | None:
    """What a client's watcher saw: it knows better than the name of the class."""
    match getattr(error, _MARK, None):
        case Dispatch.NOT_SENT:
            return Failure(Dispatch.NOT_SENT, "timeout.unavailable", False, True)
        case Dispatch.NO_ANSWER:
            return _lost({cls.__name__ for cls in type(error).__mro__}, is_effect)
    return None


def _said(error: BaseException) -> Failure | None:
    if isinstance(error, NotExecuted):
        return Failure(Dispatch.NOT_SENT, "timeout.unavailable", False, True)
    if isinstance(error, Rejected):
        return Failure(Dispatch.REJECTED, "tool.rejected", False, False)
    if isinstance(error, OutcomeUnknown):
        return no_answer()
    return None


def _by_name(error: BaseException, is_effect: bool) -> Failure | None:
    names = {cls.__name__ for cls in type(error).__mro__}
    if isinstance(error, OSError) and error.errno in (
        errno.ECONNREFUSED,
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
    ):
        return Failure(Dispatch.NOT_SENT, "timeout.unavailable", False, True)
    if names & NOT_SENT_NAMES:
        return Failure(Dispatch.NOT_SENT, "timeout.unavailable", False, True)
    return _lost(names, is_effect) if names & NO_ANSWER_NAMES else None


def _lost(names: set[str], is_effect: bool) -> Failure:
    """
    The request may have left and nothing came back, by the *names* of its exception and of what that derives from.

    The same table as in docs/failures.md: an effect whose connection broke has had no answer; for a read it is all one
    whether it got there, so a broken connection is a service that is not there.
    """
    has_no_answer = is_effect or any("imeout" in name for name in names)
    return Failure(
        Dispatch.NO_ANSWER, "timeout.no_answer" if has_no_answer else "timeout.unavailable", True, True
    )


def _by_status(error: BaseException) -> Failure | None:
    status = status_code(error)
    if status is None or status < 400:
        return None
    if any(word in str(error).lower() for word in OVERFLOW_WORDS):
        return Failure(Dispatch.REJECTED, "context.overflow", False, False)
    if status == 429:
        return Failure(Dispatch.REJECTED, "timeout.rate_limited", False, True, retry_after_s(error))
    if status in NOT_DONE_STATUS:
        return Failure(Dispatch.REJECTED, "timeout.unavailable", False, True, retry_after_s(error))
    if status >= 500 or status == 408:
        # A server that broke, or a gateway that gave up, may have done it first.
        return Failure(Dispatch.NO_ANSWER, "timeout.unavailable", True, True, retry_after_s(error))
    named = {
        401: "tool.permission",
        403: "tool.permission",
        404: "tool.not_found",
        422: "parameter.wrong_value",
    }
    return Failure(Dispatch.REJECTED, named.get(status, "tool.rejected"), False, False)


def status_code(error: BaseException) -> int | None:
    """The HTTP status that *error* carries, under any of the names that clients use."""
    response = getattr(error, "response", None)
    for holder in (error, response):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
                return value
    return None


def retry_after_s(error: BaseException) -> float | None:
    """Seconds of the `Retry-After` header, given as a number or as a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    text = _header(headers, "Retry-After")
    if not text:
        return None
    with contextlib.suppress(ValueError):
        seconds = float(text)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)  # `-0000` is UTC too, not the zone of this machine
    return max(0.0, at.timestamp() - clock.now_ns() / 1e9)


def _header(headers: Any, name: str) -> str | None:
    if headers is None or (not isinstance(headers, Mapping) and not hasattr(headers, "get")):
        return None
    value = headers.get(name) or headers.get(name.lower())
    return value if isinstance(value, str) else None
