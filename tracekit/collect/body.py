"""The body of a request, unpacked, and never more of it than the limit: before and after unpacking."""

from __future__ import annotations

import zlib
from typing import Any, Protocol

from tracekit.collect.received import Undecodable

LIMIT_BYTES = 64 * 1024 * 1024
"""What the protocol recommends."""

_LONGEST_LINE = 1024
_MOST_MEMBERS = 1024
"""Each member copies what follows it."""
_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class Readable(Protocol):
    """Where a body is read from."""

    def read(self, size: int, /) -> bytes:
        """At most *size* bytes; fewer only at the end."""

    def readline(self, size: int, /) -> bytes:
        """The rest of the line, at most *size* bytes."""


class TooLarge(Exception):
    """The body passes the limit; the message goes to the client."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"expected at most {limit_bytes} bytes, also after unpacking; send smaller batches")


class UnknownEncoding(Exception):
    """A content encoding that is not gzip or deflate."""


def read_packed(stream: Readable, headers: Any, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """
    The whole body as it was sent; *headers* are any mapping that `get` looks up without regard to case.

    Raises:
        TooLarge: it passes *limit_bytes*; the rest was not read.
        Undecodable: its length is no number, or it ends early.
    """
    if "chunked" in (headers.get("Transfer-Encoding") or "").lower():
        return _chunked(stream, limit_bytes)
    return _sized(stream, headers.get("Content-Length") or "0", limit_bytes)


def unpack(packed: bytes, encoding: str | None, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """
    The body that *packed* holds under its Content-Encoding.

    Raises:
        TooLarge: it unpacks to more than *limit_bytes*.
        UnknownEncoding: it is packed by something else than gzip or deflate.
        Undecodable: it can't be unpacked.
    """
    encoding = (encoding or "identity").strip().lower()
    if encoding == "identity":
        return packed
    if encoding not in _WINDOW:
        raise UnknownEncoding(f"expected Content-Encoding gzip, deflate or none, got {encoding[:40]!r}")
    return _unpacked(packed, _WINDOW[encoding], limit_bytes)


def _sized(stream: Readable, length: str, limit_bytes: int) -> bytes:
    if not length.strip().isdecimal():
        raise Undecodable(f"expected a number in Content-Length, got {length[:40]!r}")
    # Python refuses to read a number of some thousand digits.
    return _exactly(stream, _within(int(length) if len(length) < 30 else limit_bytes + 1, limit_bytes))


def _within(count: int, limit_bytes: int) -> int:
    if count > limit_bytes:
        raise TooLarge(limit_bytes)
    return count


def _exactly(stream: Readable, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise Undecodable(f"the body ended after {len(data)} of {count} bytes")
    return data


def _chunked(stream: Readable, limit_bytes: int) -> bytes:
    """Exporters that pack while they send do not know the length before."""
    body = bytearray()  # a list of chunks of one byte each would take fifty times their size
    while True:
        head = stream.readline(_LONGEST_LINE).split(b";")[0].strip()
        try:
            size = int(head, 16)
        except ValueError as error:
            raise Undecodable(f"expected the size of a chunk, got {head[:40]!r}") from error
        if size < 0:
            raise Undecodable(f"expected the size of a chunk, got {size}")
        if size == 0:
            break
        _within(len(body) + size, limit_bytes)
        body += _exactly(stream, size)
        stream.readline(_LONGEST_LINE)
    while stream.readline(_LONGEST_LINE).strip():
        pass  # trailers
    return bytes(body)


def _unpacked(packed: bytes, window: int, limit_bytes: int) -> bytes:
    """*packed* with all its members unpacked; a few bytes may unpack to many gigabytes, so it stops at the limit."""
    parts: list[bytes] = []
    total = 0
    while packed:
        if len(parts) == _MOST_MEMBERS:
            raise Undecodable(f"expected at most {_MOST_MEMBERS} gzip members in one body")
        member = zlib.decompressobj(window)
        try:
            part = member.decompress(packed, limit_bytes - total + 1)
        except zlib.error as error:
            raise Undecodable(f"the body can't be unpacked: {error}") from error
        total = _within(total + len(part), limit_bytes)
        if not member.eof:
            raise Undecodable("the body ends before its packing does")
        parts.append(part)
        packed = member.unused_data
    return b"".join(parts)
