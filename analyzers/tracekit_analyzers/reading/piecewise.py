"""
A native log that the engine does not take as a whole: it gets the good blocks, and only the lines around damage go through Python.

A block that is refused is cut into smaller ones, so that a few bad lines in a gigabyte cost little more than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit_analyzers.model import InputFile
from tracekit_analyzers.readers import _bounds
from tracekit_analyzers.readers._bounds import LongLine, bounded_lines, size_of
from tracekit_analyzers.readers._source import open_bytes
from tracekit_analyzers.readers.native import repaired_lines
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.scanning import odd

_BLOCK_BYTES = 32 << 20
_BLOCK_LINES = 250_000
"""Each takes some 50 bytes of memory besides its own."""
_PARTS = 8
FEW_BYTES = 256 << 10
"""What Python reads in the time that the engine takes to begin."""
_BY_LINE_BYTES = 6 << 20
"""Blocks of this size and less are read by Python as fast as in still smaller ones by the engine."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a log, as they are, in a file of their own."""

    path: Path
    first_line: int
    """Lines of the log before it."""
    lines: int
    longest: int
    """Bytes of its longest line."""


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Reads *file* in its order: *take* gets blocks and says whether the engine took all of one, *keep* gets single records."""

    file: InputFile
    folder: Path
    damage: Damage
    take: Callable[[Block], bool]
    keep: Callable[[int, bytes], None]
    """Gets the line number (1-based) and one JSON object."""

    def read(self) -> None:
        """Read it all; raises what a broken archive raises, after everything before the break was handed on."""
        line, offset = self.file.first_line, self.file.first_byte
        useless = 0
        with open_bytes(self.file) as stream:
            for lines in _gathered(bounded_lines(stream)):
                useless = 0 if self._block(lines, line, offset) else useless + len(lines)
                line, offset = line + len(lines), offset + _size(lines)
                if reason := _bounds.useless(useless):
                    self.damage.bad(file=self.file.name, line=line, offset=offset, reason=reason, data=b"")
                    return

    def _block(self, lines: list[bytes], line: int, offset: int) -> bool:
        """Hand on what *lines* hold; returns whether that was any record."""
        if _size(lines) > FEW_BYTES and self._taken(lines, line):
            self.damage.counted(len(lines))
            return True
        kept = False
        if len(lines) == 1 or _size(lines) <= _BY_LINE_BYTES:
            part = replace(self.file, first_line=line, first_byte=offset)
            for number, _, record in repaired_lines(lines, part, self.damage):
                self.keep(number, record)
                kept = True
            return kept
        for part_lines in _parts(lines):
            kept |= self._block(part_lines, line, offset)
            line, offset = line + len(part_lines), offset + _size(part_lines)
        return kept

    def _taken(self, lines: list[bytes], line: int) -> bool:
        if isinstance(lines[0], LongLine):
            return False
        data = b"".join(lines)
        if odd(data):
            return False
        path = self.folder / "block.jsonl"
        path.write_bytes(data)
        return self.take(Block(path, line, len(lines), max(map(len, lines))))


def _gathered(stream: Iterable[bytes]) -> Iterator[list[bytes]]:
    """
    The lines of *stream* in lists of about a block; the last one also when the stream breaks.

    A line that is too long stands in a list of its own.
    """
    lines: list[bytes] = []
    size = 0
    broken: Exception | None = None
    try:
        for line in stream:
            is_full = size >= _BLOCK_BYTES or len(lines) >= _BLOCK_LINES
            if lines and (is_full or isinstance(line, LongLine) or isinstance(lines[0], LongLine)):
                yield lines
                lines, size = [], 0
            lines.append(line)
            size += size_of(line)
    except Exception as error:  # raised again below: what stood before the break comes first
        broken = error
    if lines:
        yield lines
    if broken is not None:
        raise broken


def _size(lines: list[bytes]) -> int:
    return sum(map(size_of, lines))


def _parts(lines: list[bytes]) -> Iterator[list[bytes]]:
    count = -(-len(lines) // _PARTS)
    for start in range(0, len(lines), count):
        yield lines[start : start + count]
