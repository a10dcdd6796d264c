"""Times of foreign logs as nanoseconds since the epoch, UTC; the one place that knows their spellings."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from tracekit.clock import rfc3339

_ISO = re.compile(
    r"\s*(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9})\d*)?\s*(Z|z|UTC|[+-]\d{2}:?\d{2})?\s*\Z"
)
_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?\Z")
ASSUMED_ZONE = "assumed_zone"
"""Attribute that names the zone taken for a time that says none."""

_LARGEST_NS = 253_402_300_799_999_999_999
"""End of the year 9999, the last that a datetime can say."""


def iso_ns(value: Any) -> int | None:
    """Nanoseconds of an ISO 8601 text; a text without a zone is taken as UTC; None when it is no such text."""
    match = _ISO.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z", "z", "UTC") else zone
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))


def has_zone(value: Any) -> bool:
    """Whether an ISO 8601 text says its zone; True for anything that is no such text, as nothing is missing there."""
    match = _ISO.match(value) if isinstance(value, str) else None
    return match is None or match.group(4) is not None


def epoch_ns(value: Any, *, per_second: int) -> int | None:
    """Nanoseconds of a number that counts *per_second* units since the epoch, given as number or as decimal text."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, float):
            ns = round(value * (1_000_000_000 / per_second))
        else:
            ns = int(value) * (1_000_000_000 // per_second)
    except (TypeError, ValueError, OverflowError):
        return None
    return ns if 0 < ns <= _LARGEST_NS else None


def pair_ns(value: Any) -> int | None:
    """Nanoseconds of the `[seconds, nanoseconds]` pair of JavaScript's OpenTelemetry."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int | float) for part in value):
        return int(value[0]) * 1_000_000_000 + int(value[1])
    return None


def duration_ns(value: Any) -> int | None:
    """Nanoseconds of an ISO 8601 duration such as `PT3M3.698696S`; None when it is no such text."""
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000_000)


def stamp(ns: int | None) -> str | None:
    """*ns* as the log writes times, or None."""
    return rfc3339(ns) if ns is not None and 0 <= ns <= _LARGEST_NS else None


def from_datetime(moment: datetime) -> int:
    """Nanoseconds of *moment*; without a zone it is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(aware.timestamp()) * 1_000_000_000 + aware.microsecond * 1000
