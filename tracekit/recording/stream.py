"""
Streams of a model: pass every chunk on as it comes, gather the exact text, end the step when the stream ends.

A stream that is left early (a `break`, `close()`, or simply dropped) ends its step once, as `abandoned`, with what was
received until then.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from tracekit import clock
from tracekit.model import StepStatus
from tracekit.recording import semconv
from tracekit.recording.generators import finish_with
from tracekit.recording.open_step import OpenStep

T = TypeVar("T")


class Gather(Protocol):
    """Takes chunks one by one and tells what they add up to."""

    def add(self, chunk: Any, /) -> None:
        """Take one more chunk."""

    def fields(self) -> dict[str, Any]:
        """What `OpenStep.finish` is to be told: `raw`, `usage`, `asked`, `finish_reason`, `model`, `output`."""


class GatherText:
    """Chunks that are text, or from which *text* takes it."""

    def __init__(self, text: Callable[[Any], str | None] | None = None) -> None:
        self._text = text
        self._parts: list[str] = []

    def add(self, chunk: Any) -> None:
        part = self._text(chunk) if self._text else chunk
        if isinstance(part, str):
            self._parts.append(part)

    def fields(self) -> dict[str, Any]:
        return {"raw": "".join(self._parts)}


class _Watch:
    """What both kinds of stream share: counting, gathering, ending once."""

    def __init__(self, step: OpenStep, gather: Gather | None) -> None:
        self._step = step
        self._gather = gather or GatherText()
        self._started_s = clock.current().monotonic_s()
        self._first_s: float | None = None
        self._chunks = 0
        self._trouble: str | None = None

    def saw(self, chunk: Any) -> None:
        if self._first_s is None:
            self._first_s = clock.current().monotonic_s() - self._started_s
        self._chunks += 1
        try:
            self._gather.add(chunk)
        except Exception as error:
            # a chunk of a form that we don't know must not take the stream from its reader
            self._trouble = repr(error)

    def end(self, error: BaseException | None, status: StepStatus | None = None) -> None:
        attributes: dict[str, Any] = {"tracekit.chunks": self._chunks}
        if self._first_s is not None:
            attributes[semconv.FIRST_CHUNK_S] = self._first_s
        try:
            fields = self._gather.fields()
        except Exception as problem:
            fields, self._trouble = {}, repr(problem)
        if self._trouble:
            attributes["tracekit.gather_error"] = self._trouble
        if status is not None:
            self._step.finish(status, attributes=attributes, **fields)
        else:
            finish_with(self._step, error, attributes=attributes, **fields)


class RecordedStream(Generic[T]):
    """Stands for the client's stream: iterates it, and gives on every other attribute of it."""

    def __init__(self, chunks: Iterable[T], step: OpenStep, *, gather: Gather | None = None) -> None:
        self._source = chunks
        self._chunks = iter(chunks)
        self._step = step
        self._watch = _Watch(step, gather)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            with self._step.active():
                chunk = next(self._chunks)
        except StopIteration:
            self._watch.end(None)
            raise
        except BaseException as error:
            self._watch.end(error)
            raise
        self._watch.saw(chunk)
        return chunk

    def close(self) -> None:
        """Close the client's stream; one that was not read to its end is `abandoned`."""
        self._watch.end(None, StepStatus.ABANDONED)
        close = getattr(self._source, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> RecordedStream[T]:
        enter = getattr(self._source, "__enter__", None)
        if enter is not None:
            enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._watch.end(error, None if error else StepStatus.ABANDONED)
        leave = getattr(self._source, "__exit__", None)
        if leave is not None:
            leave(kind, error, stack)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def __del__(self) -> None:
        watch = self.__dict__.get("_watch")
        if watch is not None:
            watch.end(None, StepStatus.ABANDONED)


class AsyncRecordedStream(Generic[T]):
    """As `RecordedStream`, for `async for`."""

    def __init__(self, chunks: AsyncIterable[T], step: OpenStep, *, gather: Gather | None = None) -> None:
        self._source = chunks
        self._chunks = aiter(chunks)
        self._step = step
        self._watch = _Watch(step, gather)

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        try:
            with self._step.active():
                chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._watch.end(None)
            raise
        except BaseException as error:
            self._watch.end(error)
            raise
        self._watch.saw(chunk)
        return chunk

    async def close(self) -> None:
        """Close the client's stream; one that was not read to its end is `abandoned`."""
        self._watch.end(None, StepStatus.ABANDONED)
        close = getattr(self._source, "close", None) or getattr(self._source, "aclose", None)
        if close is not None:
            await close()

    aclose = close

    async def __aenter__(self) -> AsyncRecordedStream[T]:
        enter = getattr(self._source, "__aenter__", None)
        if enter is not None:
            await enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._watch.end(error, None if error else StepStatus.ABANDONED)
        leave = getattr(self._source, "__aexit__", None)
        if leave is not None:
            await leave(kind, error, stack)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def __del__(self) -> None:
        watch = self.__dict__.get("_watch")
        if watch is not None:
            watch.end(None, StepStatus.ABANDONED)
