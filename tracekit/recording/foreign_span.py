"""A span of any origin as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracekit.clock import rfc3339

SPAN_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
STATUS_CODES = ("unset", "ok", "error")
_LARGEST_NS = 253_402_300_799_000_000_000
"""End of the year 9999, the last that a datetime can say."""


@dataclass(frozen=True, slots=True)
class ForeignEvent:
    """Something that a span says happened at one moment."""

    name: str
    time_ns: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignSpan:
    """One span with its attributes as plain values, lists and dicts."""

    trace_id: str
    """32 hexadecimal digits."""
    span_id: str
    """16 hexadecimal digits."""
    parent_span_id: str | None
    name: str
    kind: str | None = None
    """`internal`, `client`, ...; not needed to know what the step is."""
    start_ns: int | None = None
    end_ns: int | None = None
    status_code: str | None = None
    """`ok`, `error` or `unset`, in any case."""
    status_message: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[ForeignEvent] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope: str | None = None
    dropped: int = 0
    """Attributes that the producer says it dropped; the oldest go first, so messages are then missing."""


def time_of(ns: int | None) -> str | None:
    """*ns* as the log writes times; None for none, and for what is no time of this era."""
    return rfc3339(ns) if ns is not None and 0 < ns < _LARGEST_NS else None


def enum_word(value: Any, words: Sequence[str]) -> str:
    """
    The word of an OTLP enum given by number or by name (`SPAN_KIND_CLIENT`); the first one for what we don't know.

    Raises:
        TypeError, ValueError: *value* is no number and no text.
    """
    if isinstance(value, str) and not value.isdecimal():
        name = value.lower().rpartition("_")[2]
        return name if name in words else words[0]
    number = int(value or 0)
    return words[number] if 0 <= number < len(words) else words[0]
