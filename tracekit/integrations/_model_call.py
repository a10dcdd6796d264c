"""One model call of a client as one step, however often the client sends it."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace

from tracekit import clock
from tracekit.integrations import _parameters, _wire
from tracekit.integrations._dialects import Answer, Dialect, total
from tracekit.integrations._frames import Frames
from tracekit.integrations._sse import Events
from tracekit.model import StepKind, StepStatus
from tracekit.recording import semconv
from tracekit.recording.ending import finish_with
from tracekit.recording.failure import ToldError
from tracekit.recording.open_step import CURRENT_STEP, OpenStep
from tracekit.recording.recorder import recorder


class ModelCall:
    """A call that has begun; ends once, when its answer is whole, or is known not to come."""

    def __init__(self, dialect: Dialect, body: Mapping[str, Any], reached: Mapping[str, Any]) -> None:
        """*reached* are the attributes that say who is asked, and where."""
        self._dialect = dialect
        self._started_s = clock.current().monotonic_s()
        self._ended = threading.Lock()
        self.exchange = _wire.Exchange(self._watch)
        self._outer = _enclosing_model_step()
        self._step = self._outer or _begin(dialect, body, reached)

    @contextmanager
    def active(self) -> Iterator[None]:
        """A block in which what is sent belongs to this call; an error that leaves it ends the call."""
        token = _wire.current.set(self.exchange)
        try:
            if self._outer is not None:
                yield
            else:
                with self._step.active():
                    yield
        except BaseException as error:
            self.end(error, self._received())
            raise
        finally:
            _wire.current.reset(token)

    def returned(self) -> None:
        """The client has given its answer; the step ends here unless the body comes later."""
        if self.exchange.is_streamed:
            self.exchange.response = (
                None  # the answer holds its watch; the other way round nothing would let go
            )
            return
        self.end(None, self._received())

    def _received(self) -> Answer | None:
        """The answer that is there whole; a client may still raise on it, where it is not of the form it was told."""
        response = self.exchange.response
        return None if response is None or self.exchange.is_streamed else self._read(response.content)

    def _read(self, body: bytes) -> Answer:
        try:
            return self._dialect.answer(body)
        except Exception as problem:
            # an answer of a form that we don't know is the client's to judge
            return Answer(texts=[body.decode("utf-8", "replace")], error=("unreadable_answer", repr(problem)))

    def _watch(self, response: Any) -> StreamWatch:
        watch = StreamWatch(self, str(response.headers.get("content-type") or ""))
        _open_streams.add(watch)
        return watch

    def end(
        self,
        error: BaseException | None,
        answer: Answer | None = None,
        *,
        status: StepStatus | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """End the step, or tell the step around it; once, never raises."""
        if not self._ended.acquire(blocking=False):
            return
        try:
            self._end(error, answer or Answer(), status, dict(attributes or {}))
        except Exception as problem:
            recorder().log.trouble(problem)

    def _end(
        self,
        error: BaseException | None,
        answer: Answer,
        status: StepStatus | None,
        attributes: dict[str, Any],
    ) -> None:
        exchange = self.exchange
        fields = answer.fields()
        billed = total(
            [*(self._read(each.content).usage for each in _readable(exchange.refused)), answer.usage]
        )
        if billed is not None:
            fields["usage"] = billed
        if exchange.tries > exchange.answered and exchange.tries > 1:
            attributes["tracekit.tries_without_answer"] = exchange.tries - exchange.answered
        if self._outer is not None:
            self._tell_outer(fields, attributes)
            return
        if error is None and answer.error is not None:
            error = ToldError(*answer.error)
        told = {
            "tries": max(exchange.tries, 1),
            "attributes": {**answer.attributes, **attributes},
            **fields,
        }
        if status is not None:
            self._step.finish(status, error=error, **told)
        else:
            finish_with(self._step, error, **told)

    def _tell_outer(self, fields: dict[str, Any], attributes: dict[str, Any]) -> None:
        """The step around it counts its own tries; what the wire says of text and tokens is exact."""
        if self.exchange.tries > 1:
            attributes["tracekit.client_tries"] = self.exchange.tries
        if attributes:
            self._step.note(**attributes)
        if fields.get("raw"):
            exact = {name: fields[name] for name in ("raw", "asked", "usage") if name in fields}
            self._step.exact(**exact)
        self._step.learn(
            **{name: fields[name] for name in ("model", "finish_reason", "usage") if name in fields}
        )

    def elapsed_s(self) -> float:
        """Seconds since the call began."""
        return clock.current().monotonic_s() - self._started_s


def _begin(dialect: Dialect, body: Mapping[str, Any], reached: Mapping[str, Any]) -> OpenStep:
    sent = dialect.sent(body)
    return recorder().begin(
        StepKind.MODEL,
        dialect.name,
        input=sent.parameters,
        messages=sent.messages,
        context_complete=sent.is_complete,
        model=sent.model,
        attributes={**reached, **_parameters.of_request(body)},
    )


def _enclosing_model_step() -> OpenStep | None:
    """The model step that this call is the work of: `run.model`, or another integration's; counted once."""
    context = otel_context.get_current()
    step = context.get(CURRENT_STEP)
    if (
        isinstance(step, OpenStep)
        and step.kind is StepKind.MODEL
        and trace.get_current_span(context) is step.span
    ):
        return step
    return None


def _readable(responses: list[Any]) -> Iterator[Any]:
    """Answers whose body is there already: reading more of it would hold up the client."""
    return (each for each in responses if hasattr(each, "_content") and b'"usage"' in each.content)


_FORMS: dict[str, type[Events] | type[Frames]] = {
    "text/event-stream": Events,
    "application/vnd.amazon.eventstream": Frames,
}
"""How a stream's events are told apart, by its content type."""


class StreamWatch:
    """Gathers the bytes of one stream and ends its call once."""

    def __init__(self, call: ModelCall, content_type: str) -> None:
        self._call = call
        self._events = next((make() for form, make in _FORMS.items() if content_type.startswith(form)), None)
        self._gathered = call._dialect.gather()
        self._body: list[bytes] = []
        self._chunks = 0
        self._first_s: float | None = None
        self._trouble: str | None = None

    def saw(self, data: bytes) -> None:
        if self._first_s is None:
            self._first_s = self._call.elapsed_s()
        if self._events is None:
            self._body.append(data)
            return
        for event in self._events.add(data):
            self._chunks += not event.startswith("[DONE]")
            try:
                self._gathered.add(event)
            except Exception as error:
                # an event of a form that we don't know must not take the stream from its reader
                self._trouble = repr(error)

    def end(self, error: BaseException | None) -> None:
        self._end(error, None)

    def left(self) -> None:
        is_whole = self._events is not None and self._gathered.is_complete
        self._end(None, None if is_whole or self._answer().error else StepStatus.ABANDONED)

    def _end(self, error: BaseException | None, status: StepStatus | None) -> None:
        attributes: dict[str, Any] = {}
        if self._events is not None:
            attributes["tracekit.chunks"] = self._chunks
            if self._first_s is not None:
                attributes[semconv.FIRST_CHUNK_S] = self._first_s
            if error is None and status is None and not self._gathered.is_complete:
                attributes["tracekit.stream_incomplete"] = True
        answer = self._answer()
        if self._trouble:
            attributes["tracekit.gather_error"] = self._trouble
        self._call.end(error, answer, status=status, attributes=attributes)

    def _answer(self) -> Answer:
        if self._events is not None:
            try:
                return self._gathered.answer()
            except Exception as problem:
                # here too: the client is reading, and is to have its last chunk
                self._trouble = repr(problem)
                return Answer()
        body = b"".join(self._body)
        return self._call._read(body) if body else Answer()


_open_streams: weakref.WeakSet[StreamWatch] = weakref.WeakSet()


def _at_exit() -> None:
    """A stream that is open when the process ends was left."""
    for watch in list(_open_streams):
        watch.left()


atexit.register(_at_exit)
