"""What a model client sends and gets, as the fields of a step: one `Dialect` for each kind of request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tracekit.model import Usage

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """What a request says."""

    model: str | None
    messages: list[Json]
    """As OpenAI's chat messages, so that one hash names a message in every dialect."""
    parameters: Json
    """Everything of the body but the messages."""
    is_complete: bool = True
    """False where the server adds messages that it kept from earlier requests."""


@dataclass(slots=True)
class Answer:
    """What a model answered."""

    texts: list[str] = field(default_factory=list)
    """The exact texts in their order: what it said, then the arguments it wrote."""
    message: Any = None
    asked: list[Json] = field(default_factory=list)
    """`call_id`, `name`, `arguments` as the model wrote them."""
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage | None = None
    error: tuple[str, str] | None = None
    """Type and message of an error that came as an answer."""
    attributes: Json = field(default_factory=dict)
    """What else it tells of itself, by names of the conventions."""

    def fields(self) -> dict[str, Any]:
        """For `OpenStep.finish`."""
        known: dict[str, Any] = {
            "output": self.message,
            "raw": "\n".join(self.texts),
            "asked": self.asked,
            "finish_reason": self.finish_reason,
            "model": self.model,
            "usage": self.usage,
        }
        return {name: value for name, value in known.items() if value is not None}


class Gathered(Protocol):
    """A stream's events, taken one by one."""

    is_complete: bool
    """Whether the event came that ends the answer."""

    def add(self, data: str, /) -> None:
        """Take the data of one more event."""

    def answer(self) -> Answer:
        """What the events add up to so far."""


class Dialect(Protocol):
    """How one kind of request is read."""

    name: str
    """Names the step."""

    def matches(self, path: str) -> bool:
        """Whether a POST to *path* is of this kind."""

    def sent(self, body: Mapping[str, Any]) -> Sent:
        """What the request's body says."""

    def answer(self, body: bytes) -> Answer:
        """What a whole answer says; raises `ValueError` for one that is not of this kind."""

    def gather(self) -> Gathered:
        """For a stream."""


def without(body: Mapping[str, Any], *names: str) -> Json:
    """*body* without *names*."""
    return {name: value for name, value in body.items() if name not in names}


def inside(body: Mapping[str, Any], name: str, inner: str) -> Any:
    """What *inner* says in the object under *name*; None where there is no such object."""
    value = body.get(name)
    return value.get(inner) if isinstance(value, Mapping) else None


def total(parts: Sequence[Usage | None]) -> Usage | None:
    """The sum of what is known; None when nothing is."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    if len(known) == 1:
        return known[0]
    inputs, outputs, costs = zip(*((u.input_tokens, u.output_tokens, u.cost) for u in known), strict=True)
    return Usage(_sum(inputs), _sum(outputs), _sum(costs))


def _sum(values: Sequence[Any]) -> Any:
    """The sum of the numbers among *values*; None when there is none: some services write other things there."""
    there = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return sum(there) if there else None


def usage(found: Any, inputs: Sequence[str], outputs: Sequence[str]) -> Usage | None:
    """The usage object of an answer; several names on one side are added up."""
    if not isinstance(found, Mapping):
        return None
    made = Usage(
        _sum([found.get(name) for name in inputs]),
        _sum([found.get(name) for name in outputs]),
        _sum([found.get("cost")]),
    )
    return None if made == Usage() else made
