"""Single lines of a log, read again by their number or by a word that they hold."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

_CHUNK = 64 << 10
_BLOCK = 4 << 20
_LONGEST_LINE = 64 << 20
"""Taken together block by block, a line costs the square of its length."""

Numbered = tuple[int, int, bytes]
"""Number (1-based) and byte offset of a line, and its bytes."""


class LineIndex:
    """
    Where lines of a growing file begin: the number of line ends before each 64 KiB.

    One pass over a gigabyte takes a third of a second; what was written since then is added by the next call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = array("q", [0])
        self._size = 0

    def ends_before(self, size: int) -> int:
        """Number of line ends in the first *size* bytes."""
        self._extend(size)
        whole = size // _CHUNK
        count = self._before[whole]
        if size % _CHUNK:
            with self._path.open("rb") as stream:
                stream.seek(whole * _CHUNK)
                count += stream.read(size - whole * _CHUNK).count(b"\n")
        return count

    def lines(self, numbers: Iterable[int], size: int) -> Iterator[Numbered]:
        """The lines named by *numbers*, in their order, of those that lie within the first *size* bytes."""
        self._extend(size)
        with self._path.open("rb") as stream:
            at = 1
            for number in sorted(numbers):
                if number != at:
                    stream.seek(self._start(stream, number))
                offset = stream.tell()
                yield number, offset, stream.readline()
                at = number + 1

    def _start(self, stream: BinaryIO, number: int) -> int:
        ends = number - 1
        if ends == 0:
            return 0
        chunk = bisect_left(self._before, ends) - 1
        stream.seek(chunk * _CHUNK)
        data = stream.read(_CHUNK)
        at = -1
        for _ in range(ends - self._before[chunk]):
            at = data.find(b"\n", at + 1)
        return chunk * _CHUNK + at + 1

    def _extend(self, size: int) -> None:
        chunks = size // _CHUNK
        if chunks < len(self._before):
            return
        with self._path.open("rb", buffering=0) as stream:
            stream.seek((len(self._before) - 1) * _CHUNK)
            while len(self._before) <= chunks:
                self._before.append(self._before[-1] + stream.read(_CHUNK).count(b"\n"))


def from_byte(path: Path, start: int, end: int, first: int) -> list[Numbered]:
    """The lines of *path* from byte *start* to *end*, the first of them numbered *first*; the last one may have no end."""
    with path.open("rb") as stream:
        stream.seek(start)
        data = stream.read(end - start)
    found: list[Numbered] = []
    offset = start
    for number, line in enumerate(_split(data), first):
        found.append((number, offset, line))
        offset += len(line)
    return found


def _split(data: bytes) -> list[bytes]:
    # `splitlines` would end a line at a carriage return too.
    parts = [part + b"\n" for part in data.split(b"\n")]
    parts[-1] = parts[-1][:-1]
    return parts if parts[-1] else parts[:-1]


def last_line_end(path: Path, size: int) -> int:
    """The byte after the last line end within the first *size* bytes; 0 where there is none."""
    with path.open("rb") as stream:
        end = size
        while end > 0:
            begin = max(0, end - _CHUNK)
            stream.seek(begin)
            at = stream.read(end - begin).rfind(b"\n")
            if at >= 0:
                return begin + at + 1
            end = begin
    return 0


def holding(path: Path, word: bytes) -> Iterator[Numbered]:
    """The lines of *path* that hold *word*, whatever stands around it; of very long ones none."""
    ends = done = 0
    rest = b""
    is_long = False
    with path.open("rb", buffering=0) as stream:
        while block := stream.read(_BLOCK):
            if is_long:
                end = block.find(b"\n") + 1
                done += end or len(block)
                if not end:
                    continue
                ends, is_long, block = ends + 1, False, block[end:]
            data = rest + block
            cut = data.rfind(b"\n") + 1
            yield from _in_block(data, cut, word, ends, done)
            ends += data.count(b"\n", 0, cut)
            done += cut
            rest = data[cut:]
            if len(rest) > _LONGEST_LINE:
                done, rest, is_long = done + len(rest), b"", True
    if word in rest:
        yield ends + 1, done, rest


def _in_block(data: bytes, cut: int, word: bytes, ends: int, done: int) -> Iterator[Numbered]:
    counted = begin = 0
    at = data.find(word, 0, cut)
    while at >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at) + 1
        ends += data.count(b"\n", counted, begin)
        counted = begin
        yield ends + 1, done + begin, data[begin:end]
        at = data.find(word, end, cut)
