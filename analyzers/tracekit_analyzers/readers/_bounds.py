"""How much of a file is taken into memory at once: limits that no real log reaches, and that a hostile one can't pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from tracekit.errors import TracekitError

LONGEST_VALUE = 512 << 20
"""Bytes of one JSON value: a line, a whole file, an entry of an archive."""
MOST_ITEMS = 20_000_000
"""Items of one JSON value: the shortest of them, two bytes long, takes 64 bytes of memory and more."""
MOST_TIMES = 200
"""What an archive may unpack to, in times of its own size. Real logs pack 5 to 20 times smaller."""
UNPACKED_BYTES = 1 << 30
"""An archive that unpacks to no more than this may have any ratio: a log that repeats its contexts packs very well."""
MOST_HELD = 1 << 30
"""Bytes of JSON that a reader holds of one run whose answers come later: they take three times as much of memory."""
MOST_USELESS = 10_000_000
"""Lines or values in a row that hold no record: a minute's work for nothing."""
_MANY_BYTES = 1 << 20
_TIMES = "TRACEKIT_READ_LIMITS"


class TooLarge(ValueError):
    """A value that would fill the memory."""


class LongLine(bytes):
    """The beginning of a line that is too long to be taken into memory."""

    size = 0
    """Bytes of the whole line."""


def reason(word: str, error: Exception) -> str:
    """What to say of a value that could not be read: what it is, *word*, unless it is too large."""
    return str(error) if isinstance(error, TooLarge) else f"{word}: {error}"


def times() -> int:
    """By how much the user raised the limits; raises `TracekitError("config.bad_value")`."""
    said = os.environ.get(_TIMES, "") or "1"
    if not said.isdecimal() or int(said) == 0:
        raise TracekitError("config.bad_value", f"expected a whole number above 0 in {_TIMES}, got {said!r}")
    return int(said)


def how_to_raise() -> str:
    """What a user may do about a limit that was met."""
    return f"set {_TIMES}={2 * times()} to allow twice as much"


def longest_value() -> int:
    """Bytes that one value may have."""
    return LONGEST_VALUE * times()


def most_held() -> int:
    """Bytes of JSON that may be held at once."""
    return MOST_HELD * times()


def most_times() -> int:
    """How many times as large as itself an archive may be."""
    return MOST_TIMES * times()


def too_long(size: int, what: str = "a value", most: int | None = None) -> str:
    """What to say of *what*, of which *size* bytes came and *most*, else those of a value, are taken."""
    most = longest_value() if most is None else most
    return f"too_large: {what} of {size:,} bytes or more, of {most:,} that are taken; {how_to_raise()}"


def loads(data: bytes, parse: Callable[[bytes], Any]) -> Any:
    """*data* by *parse*; raises `TooLarge` where the value would fill the memory."""
    if len(data) > min(_MANY_BYTES, LONGEST_VALUE):
        if len(data) > longest_value():
            raise TooLarge(too_long(len(data)))
        check_items(sum(map(data.count, (b",", b"[", b"{"))))
    return parse(data)


def check_items(count: int) -> None:
    """Raise `TooLarge` for a value with so many commas and brackets."""
    most = MOST_ITEMS * times()
    if count > most:
        raise TooLarge(
            f"too_large: a value of {count:,} items (commas and opening brackets) or more, of {most:,} that are taken; "
            f"{how_to_raise()}"
        )


def useless(count: int) -> str:
    """What to say of a file that is left after *count* lines or values in a row without a record; empty while it is not."""
    if count < MOST_USELESS or count < (most := MOST_USELESS * times()):
        return ""
    return f"too_large: {most:,} lines or values in a row hold no record, and the rest is not read; {how_to_raise()}"


def bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of *stream*; one that is longer than a value may be comes as a `LongLine`."""
    longest = longest_value()
    while line := stream.readline(longest):
        yield line if len(line) < longest or line.endswith(b"\n") else _long(line, stream)


def _long(line: bytes, stream: BinaryIO) -> LongLine:
    beginning = LongLine(line[:_MANY_BYTES])
    beginning.size = len(line)
    while line and not line.endswith(b"\n"):
        line = stream.readline(_MANY_BYTES)
        beginning.size += len(line)
    return beginning


def size_of(line: bytes) -> int:
    """Bytes of the line in its file."""
    return line.size if isinstance(line, LongLine) else len(line)
