"""How much of a file is taken into memory at once: limits that no real log reaches, and that a hostile one can't pass."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

LONGEST_VALUE = 512 << 20
"""Bytes of one JSON value: a line, a whole file, an entry of an archive."""
MOST_ITEMS = 20_000_000
"""Items of one JSON value: the shortest of them, two bytes long, takes 64 bytes of memory and more."""
MOST_TIMES = 200
"""What an archive may unpack to, in times of its own size. Real logs pack 5 to 20 times smaller."""
UNPACKED_BYTES = 1 << 30
"""An archive that unpacks to no more than this may have any ratio: a log that repeats its contexts packs very well."""
_MANY_BYTES = 1 << 20


class PackedTooWell(OSError):
    """An archive that was made to burst its reader."""


def loads(data: bytes, parse: Callable[[bytes], Any]) -> Any:
    """*data* by *parse*; raises `ValueError` where the value would fill the memory."""
    if len(data) > LONGEST_VALUE:
        raise ValueError(f"one value of more than {LONGEST_VALUE >> 20} MiB")
    if len(data) > _MANY_BYTES and (count := sum(map(data.count, (b",", b"[", b"{")))) > MOST_ITEMS:
        raise ValueError(f"one value of more than {MOST_ITEMS:,} items ({count:,} commas and brackets)")
    return parse(data)


def bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of *stream*; of one longer than a value may be only the beginning, which then is told as cut."""
    while line := stream.readline(LONGEST_VALUE):
        yield line
        while len(line) == LONGEST_VALUE and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_VALUE)


class Unpacked(io.RawIOBase):
    """What *unpacking* gives of *packed*; raises `PackedTooWell` before it is too much."""

    def __init__(self, unpacking: Any, packed: BinaryIO) -> None:
        self._unpacking, self._packed, self._total = unpacking, packed, 0

    def buffered(self) -> BinaryIO:
        """This as a stream with lines."""
        return cast(BinaryIO, io.BufferedReader(self, 1 << 20))

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill *buffer*; returns how many bytes there were."""
        data = self._unpacking.read1(len(buffer))  # what stands before a tear is given out first
        self._total += len(data)
        if self._total > UNPACKED_BYTES and self._total > MOST_TIMES * self._packed.tell():
            raise PackedTooWell(
                f"too_large: it unpacks to more than {UNPACKED_BYTES >> 20} MiB and {MOST_TIMES} times its size"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close both streams."""
        if not self.closed:
            self._unpacking.close()
            self._packed.close()
        super().close()
