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
from tracekit.recording.ending import finish_with
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


class _Reading:
    """The block of one read: the step is current in the client's code, and ends with the stream or its error."""

    __slots__ = ("_active", "_watch")

    def __init__(self, step: OpenStep, watch: _Watch) -> None:
        self._active = step.active()
        self._watch = watch

    def __enter__(self) -> None:
        self._active.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._active.__exit__(None, None, None)
        if error is not None:
            self._watch.end(None if isinstance(error, StopIteration | StopAsyncIteration) else error)


class _Stream:
    """What both kinds of stream share: whom they stand for, and that dropping one ends its step."""

    def __init__(self, source: Any, step: OpenStep, gather: Gather | None) -> None:
        self._source = source
        self._step = step
        self._watch = _Watch(step, gather)

    def _reading(self) -> _Reading:
        return _Reading(self._step, self._watch)

    def _left(self, error: BaseException | None = None) -> None:
        """End the step of a stream that was not read to its end: `abandoned`, unless it is by *error*."""
        self._watch.end(error, None if error else StepStatus.ABANDONED)

    def _theirs(self, *names: str) -> Callable[..., Any] | None:
        """The first of the methods *names* that the client's stream has."""
        return next((found for name in names if (found := getattr(self._source, name, None))), None)

    def __getattr__(self, name: str) -> Any:
        if "_source" not in self.__dict__:
            raise AttributeError(name)  # `__init__` did not get that far
        return getattr(self._source, name)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"a {type(self).__name__} can't be copied or pickled: it is read once; gather what it gives"
        )

    def __del__(self) -> None:
        if "_watch" in self.__dict__:
            self._left()


class RecordedStream(_Stream, Generic[T]):
    """Stands for the client's stream: iterates it, and gives on every other attribute of it."""

    def __init__(self, chunks: Iterable[T], step: OpenStep, *, gather: Gather | None = None) -> None:
        super().__init__(chunks, step, gather)
        self._chunks = iter(chunks)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        with self._reading():
            chunk = next(self._chunks)
        self._watch.saw(chunk)
        return chunk

    def close(self) -> None:
        """Close the client's stream; one that was not read to its end is `abandoned`."""
        self._left()
        if close := self._theirs("close"):
            close()

    def __enter__(self) -> RecordedStream[T]:
        if enter := self._theirs("__enter__"):
            enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> bool | None:
        self._left(error)
        if leave := self._theirs("__exit__"):
            return bool(leave(kind, error, stack))
        self.close()
        return None


class AsyncRecordedStream(_Stream, Generic[T]):
    """As `RecordedStream`, for `async for`."""

    def __init__(self, chunks: AsyncIterable[T], step: OpenStep, *, gather: Gather | None = None) -> None:
        super().__init__(chunks, step, gather)
        self._chunks = aiter(chunks)

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        with self._reading():
            chunk = await anext(self._chunks)
        self._watch.saw(chunk)
        return chunk

    async def close(self) -> None:
        """Close the client's stream; one that was not read to its end is `abandoned`."""
        self._left()
        if close := self._theirs("close", "aclose"):
            await close()

    aclose = close

    async def __aenter__(self) -> AsyncRecordedStream[T]:
        if enter := self._theirs("__aenter__"):
            await enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> bool | None:
        self._left(error)
        if leave := self._theirs("__aexit__"):
            return bool(await leave(kind, error, stack))
        await self.close()
        return None
