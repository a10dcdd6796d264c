"""
httpx: the idempotency key of the effect that runs goes along as a header, and a failure says whether anything was sent.

    from tracekit.integrations import httpx
    httpx.instrument()

Every request of an effect that may change something (POST, PUT, PATCH, DELETE) gets `Idempotency-Key`, unless it has
one. Exceptions stay what they are; they only carry a mark that the ledger reads. httpx2 is covered where it is
installed.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any

from tracekit.integrations import _wire
from tracekit.integrations._patching import Patches, client
from tracekit.model import Dispatch
from tracekit.outcome import mark
from tracekit.tools import idempotency_key

HEADER = "Idempotency-Key"

_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_patches = Patches()


def instrument() -> None:
    """Watch every client from here on, those that exist already included."""
    if _patches:
        return
    there = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name) is not None]
    for name in there or ["httpx"]:
        module = client(name, name)
        _patches.wrap(module.Client, "send", _sync)
        _patches.wrap(module.AsyncClient, "send", _async)


def uninstrument() -> None:
    """Leave the clients as they were."""
    _patches.undo()


def _sync(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def send(self: Any, request: Any, **kwargs: Any) -> Any:
        progress = _prepared(request)
        if progress is None:
            return original(self, request, **kwargs)
        theirs = request.extensions.get("trace")

        def trace(event: str, info: Any) -> None:
            progress.saw(event)
            if theirs is not None:
                theirs(event, info)

        request.extensions = {**request.extensions, "trace": trace}
        try:
            return original(self, request, **kwargs)
        except BaseException as error:
            progress.tell(error)
            raise

    return send


def _async(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def send(self: Any, request: Any, **kwargs: Any) -> Any:
        progress = _prepared(request)
        if progress is None:
            return await original(self, request, **kwargs)
        theirs = request.extensions.get("trace")

        async def trace(event: str, info: Any) -> None:
            progress.saw(event)
            if theirs is not None:
                await theirs(event, info)

        request.extensions = {**request.extensions, "trace": trace}
        try:
            return await original(self, request, **kwargs)
        except BaseException as error:
            progress.tell(error)
            raise

    return send


def _prepared(request: Any) -> _Progress | None:
    """What is to be watched of *request*, with its header set; None outside an effect, and for a model call in one."""
    key = idempotency_key()
    if key is None or _wire.current.get() is not None:
        return None
    if request.method.upper() in _CHANGING and HEADER not in request.headers:
        request.headers[HEADER] = key
    return _Progress()


class _Progress:
    """How far a request came: the transport tells each stage, also behind a redirect."""

    def __init__(self) -> None:
        self._is_told = False
        self._is_sent = False

    def saw(self, event: str) -> None:
        self._is_told = True
        self._is_sent = self._is_sent or event.endswith(".send_request_headers.started")

    def tell(self, error: BaseException) -> None:
        """Mark *error*; a transport that tells nothing leaves it to the name of the exception."""
        if self._is_told:
            mark(error, Dispatch.NO_ANSWER if self._is_sent else Dispatch.NOT_SENT)
