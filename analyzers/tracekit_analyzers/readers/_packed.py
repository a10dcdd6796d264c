"""Packed files: what stands in a gzip or zstandard archive, piece by piece, with limits that one made to burst can't pass."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from tracekit_analyzers.readers import _bounds

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE_BYTES = 1 << 20
_ZEROS = bytes(1 << 20)
_SKIPPED = b"\x2a\x4d\x18"
"""Behind its first byte, what a frame of zstandard begins with that holds no data."""


class BrokenArchive(OSError):
    """What stands further on in an archive can't be had; what stood before it was given out."""


class PackedTooWell(BrokenArchive):
    """An archive that was made to burst its reader."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How archives of one kind are unpacked."""

    member: Callable[[], Any]
    """A new `decompressobj`."""
    begins: tuple[bytes, ...]
    read_bytes: int
    """Taken from the file at a time."""
    most: tuple[int, ...] = ()
    """What `decompress` takes as the most bytes to give at once, where it can be told."""


def _zstd_member() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


def _form(magic: bytes) -> _Form | None:
    if magic[:2] == GZIP:
        return _Form(lambda: zlib.decompressobj(wbits=31), (GZIP,), 16 << 10, (_PIECE_BYTES,))
    if magic[:4] == ZSTD:
        # It gives all at once, at most 32,768 times what it takes.
        return _Form(
            _zstd_member, (ZSTD, *(bytes((byte,)) + _SKIPPED for byte in range(0x50, 0x60))), 2 << 10
        )
    return None


def is_packed(magic: bytes) -> bool:
    """Whether a file that begins with *magic*, four bytes of it, is gzip or zstandard."""
    return _form(magic) is not None


def pieces(packed: BinaryIO) -> Iterator[bytes]:
    """
    What *packed* holds from where it stands, member after member; zeros between and behind them are passed over.

    Raises:
        BrokenArchive: It is cut, torn, or no archive further on; everything before that was given out.
    """
    data = packed.read(4)
    form = _form(data)
    if form is None:
        raise BrokenArchive("no archive: it begins with none of the marks of gzip and zstandard")
    data += packed.read(form.read_bytes)
    member: Any = None
    while data or (data := packed.read(form.read_bytes)):
        if member is None:
            data = data.lstrip(b"\0")
            if not data:
                _pass_zeros(packed)
                continue
            data += packed.read(4) if len(data) < 4 else b""
            if not data.startswith(form.begins):
                raise BrokenArchive("what stands behind the archive is none")
            member = form.member()
        yield from _fed(member, data, form)
        data = member.unused_data if member.eof else member.unconsumed_tail
        if member.eof:
            member = None
    if member is not None:
        yield member.flush()
        raise BrokenArchive("the archive ends in the middle")


def _pass_zeros(packed: BinaryIO) -> None:
    """Go on to where something else stands: a file may have gigabytes of them, which take no room on the disk."""
    while (data := packed.read(len(_ZEROS))) and data == _ZEROS[: len(data)]:
        pass
    packed.seek(-len(data), io.SEEK_CUR)


def _fed(member: Any, data: bytes, form: _Form) -> Iterator[bytes]:
    """What *member* makes of *data*; raises where it is torn, after what stands before."""
    before = member.copy() if hasattr(member, "copy") else None
    try:
        yield member.decompress(data, *form.most)
    except _errors(form) as error:
        if before is not None:
            yield from _up_to_tear(before, data)
        raise BrokenArchive(f"the archive is torn: {error}") from error


def _up_to_tear(member: Any, data: bytes) -> Iterator[bytes]:
    for at in range(len(data)):
        try:
            yield member.decompress(data[at : at + 1])
        except zlib.error:
            return


def _errors(form: _Form) -> type[Exception]:
    if GZIP in form.begins:
        return zlib.error
    import zstandard

    return zstandard.ZstdError


def beginning(packed: BinaryIO, size: int, *, packed_bytes: int) -> bytes:
    """The first *size* bytes of what *packed* holds, as far as they stand in its own first *packed_bytes*."""
    found = bytearray()
    try:
        for piece in pieces(io.BytesIO(packed.read(packed_bytes))):
            found += piece[: size - len(found)]
            if len(found) == size:
                break
    except BrokenArchive:
        pass  # what it still gives is all that is asked for
    return bytes(found)


class Unpacked(io.RawIOBase):
    """What *packed* holds, as a stream; raises `PackedTooWell` before it is too much."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed, self._pieces, self._total = packed, pieces(packed), 0
        self._rest = memoryview(b"")
        self._refused = ""

    def buffered(self) -> BinaryIO:
        """This as a stream with lines."""
        return cast(BinaryIO, io.BufferedReader(self, 1 << 20))

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill *buffer*; returns how many bytes there were."""
        while not self._rest:
            if self._refused:
                raise PackedTooWell(self._refused)
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)[: self._allowed(len(piece))]
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _allowed(self, size: int) -> int:
        """How many of the next *size* bytes may still be given out."""
        taken, raised = self._packed.tell(), _bounds.times()
        most = max(_bounds.UNPACKED_BYTES * raised, _bounds.most_times() * taken)
        before, self._total = self._total, self._total + size
        if self._total > most:
            self._refused = (
                f"too_large: the first {taken:,} bytes of the archive unpack to {self._total:,} and more; above "
                f"{_bounds.UNPACKED_BYTES * raised >> 20:,} MiB it may be {_bounds.most_times()} times as large as itself; "
                f"unpack it to a file and read that, or {_bounds.how_to_raise()}"
            )
        return min(size, most - before)

    def close(self) -> None:
        """Close both streams."""
        if not self.closed:
            self._packed.close()
        super().close()
