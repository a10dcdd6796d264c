"""A look at the bytes of a log: how many lines there are, and whether one may hold what the engine lets pass though it is no JSON."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

_CHUNK_BYTES = 256 << 10
_NOT_JSON = (b"NaN", b"Infinity")
_LONGEST = max(map(len, _NOT_JSON))


def line_count(path: Path) -> int | None:
    """Lines of a file, the last one with or without its end; None when it holds what has to be looked at line by line."""
    count, last, before = 0, b"\n", b""
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            if odd(chunk) or odd(before + chunk[:_LONGEST]):
                return None
            count += chunk.count(b"\n")
            last, before = chunk[-1:], chunk[-_LONGEST:]
    return count + (last != b"\n")


def holds_no_json_numbers(path: Path) -> bool:
    """Whether the file may hold `NaN` or `Infinity`, numbers that JSON does not have."""
    before = b""
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            if odd(chunk) or odd(before + chunk[:_LONGEST]):
                return True
            before = chunk[-_LONGEST:]
    return False


def odd(data: bytes) -> bool:
    """Whether *data* may hold a number that JSON does not have."""
    return any(_holds(data, word) for word in _NOT_JSON)


def _searching() -> Callable[[bytes, bytes], bool]:
    try:
        # Half the time of Python's own search, and other threads go on meanwhile.
        memmem = ctypes.CDLL(None).memmem
    except (AttributeError, OSError, TypeError):
        return bytes.__contains__
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return lambda data, word: memmem(data, len(data), word, len(word)) is not None


_holds = _searching()
