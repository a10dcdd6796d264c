"""
What one call of a client does on the wire: how often it is sent, what was answered, the bytes of a stream.

The client's own objects stay as they are: only its `send` is watched, and the stream of bytes inside an answer.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

_SUCCESS = range(200, 300)


class Watch(Protocol):
    """Told what happens to a stream."""

    def saw(self, data: bytes, /) -> None:
        """The next bytes, unpacked."""

    def end(self, error: BaseException | None, /) -> None:
        """It was read to its end, or broke."""

    def left(self) -> None:
        """Its reader left; says nothing new about a stream that has ended."""


class Exchange:
    """All attempts of one call."""

    def __init__(self, stream_watch: Callable[[Any], Watch]) -> None:
        self.tries = 0
        self.answered = 0
        self.refused: list[Any] = []
        """Answers with an error status: some are billed all the same."""
        self.response: Any = None
        """The last answer that is none."""
        self.is_streamed = False
        """Whether the body of `response` comes later."""
        self._stream_watch = stream_watch

    def took(self, response: Any, *, streamed: bool) -> None:
        """Note the answer to an attempt."""
        self.answered += 1
        if response.status_code not in _SUCCESS:
            self.refused.append(response)
            return
        self.response, self.is_streamed = response, streamed
        if streamed:
            watch = _unpacking(response, self._stream_watch(response))
            response.stream = _watched_stream(response.stream, watch)


current: ContextVar[Exchange | None] = ContextVar("tracekit_exchange", default=None)
"""The call that what is sent here belongs to."""


_watched_clients: weakref.WeakSet[Any] = weakref.WeakSet()
_watching = threading.Lock()


def watch_client(http_client: Any) -> None:
    """See everything that *http_client* (of httpx or httpx2) sends from here on; once for each, whoever comes first."""
    with _watching:
        if http_client in _watched_clients:
            return
        _watched_clients.add(http_client)
        send = http_client.send
        http_client.send = _watched_async(send) if inspect.iscoroutinefunction(send) else _watched_sync(send)


def _watched_sync(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    def watched(request: Any, *args: Any, **kwargs: Any) -> Any:
        exchange = current.get()
        if exchange is None:
            return send(request, *args, **kwargs)
        exchange.tries += 1
        response = send(request, *args, **kwargs)
        exchange.took(response, streamed=bool(kwargs.get("stream")))
        return response

    return watched


def _watched_async(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    async def watched(request: Any, *args: Any, **kwargs: Any) -> Any:
        exchange = current.get()
        if exchange is None:
            return await send(request, *args, **kwargs)
        exchange.tries += 1
        response = await send(request, *args, **kwargs)
        exchange.took(response, streamed=bool(kwargs.get("stream")))
        return response

    return watched


def _unpacking(response: Any, watch: Watch) -> Watch:
    """*watch* itself, or one that unpacks for it: below the client the bytes are as they were sent."""
    encoding = str(response.headers.get("content-encoding") or "identity").strip().lower()
    return watch if encoding == "identity" else _Unpacking(watch, encoding)


class _Unpacking:
    def __init__(self, watch: Watch, encoding: str) -> None:
        self._watch = watch
        # 47: zlib or gzip, told by the head
        self._unpack = zlib.decompressobj(47) if encoding in ("gzip", "deflate") else None

    def saw(self, data: bytes) -> None:
        if self._unpack is not None:
            try:
                self._watch.saw(self._unpack.decompress(data))
            except zlib.error:
                self._unpack = None

    def end(self, error: BaseException | None) -> None:
        self._watch.end(error)

    def left(self) -> None:
        self._watch.left()


def _watched_stream(stream: Any, watch: Watch) -> Any:
    """*stream* with *watch* told of all that is read; of the client's own base class, which it asks for."""
    kind = "AsyncByteStream" if hasattr(stream, "__aiter__") else "SyncByteStream"
    base = next(cls for cls in type(stream).__mro__ if cls.__name__ == kind)
    return _stream_class(base, kind)(stream, watch)


@functools.cache
def _stream_class(base: type, kind: str) -> Any:
    return type("WatchedStream", (_Async if kind == "AsyncByteStream" else _Sync, base), {})


class _Watched:
    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        if "_inner" not in self.__dict__:
            raise AttributeError(name)  # asked for by `copy`, before there is anything
        return getattr(self._inner, name)

    def __del__(self) -> None:
        watch = self.__dict__.get("_watch")
        if watch is not None:
            watch.left()


class _Body:
    """The block in which a body is read: its watch is told the end, except where the reader only left."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def __enter__(self) -> Watch:
        return self._watch

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if not isinstance(error, GeneratorExit):
            self._watch.end(error)


class _Sync(_Watched):
    def __iter__(self) -> Iterator[bytes]:
        with _Body(self._watch) as watch:
            for data in self._inner:
                watch.saw(data)
                yield data

    def close(self) -> None:
        self._watch.left()
        self._inner.close()


class _Async(_Watched):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _Body(self._watch) as watch:
            async for data in self._inner:
                watch.saw(data)
                yield data

    async def aclose(self) -> None:
        self._watch.left()
        await self._inner.aclose()
