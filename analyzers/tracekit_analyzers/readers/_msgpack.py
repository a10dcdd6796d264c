"""MessagePack to plain values: as much as LangGraph's checkpoints use, objects of Python classes as their fields."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import Any

from tracekit_analyzers.readers._bounds import check_items

_MAX_DEPTH = 200
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_BYTES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_LISTS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}
_EXTENSIONS = {0xC7: ">B", 0xC8: ">H", 0xC9: ">I"}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_TIMESTAMP = -1


def unpack(data: bytes) -> Any:
    """
    The one value of *data*.

    An object of a Python class comes as `{"id": [module, name], "kwargs": ...}`, which is how LangChain's JSON names it.

    Raises:
        ValueError: *data* is cut or no MessagePack, or would fill the memory.
    """
    reader = _Reader(data)
    try:
        return reader.value(0)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"not MessagePack: {error}") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at, self._items = data, 0, 0

    def _take(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise ValueError("not MessagePack: cut")
        self._at += count
        return found

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"deeper than {_MAX_DEPTH} levels")
        kind = self._take(1)[0]
        if kind <= 0x7F:
            return kind
        if kind >= 0xE0:
            return kind - 0x100
        if kind <= 0x8F:
            return self._map(kind & 0x0F, depth)
        if kind <= 0x9F:
            return self._list(kind & 0x0F, depth)
        if kind <= 0xBF:
            return self._take(kind & 0x1F).decode("utf-8", "replace")
        return self._long(kind, depth)

    def _long(self, kind: int, depth: int) -> Any:
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind in _TEXTS:
            return self._take(self._number(_TEXTS[kind])).decode("utf-8", "replace")
        if kind in _BYTES:
            return self._take(self._number(_BYTES[kind])).decode("latin-1")
        if kind in _LISTS:
            return self._list(self._number(_LISTS[kind]), depth)
        if kind in _MAPS:
            return self._map(self._number(_MAPS[kind]), depth)
        if kind in _FIXED_EXTENSIONS:
            return self._extension(_FIXED_EXTENSIONS[kind], depth)
        if kind in _EXTENSIONS:
            return self._extension(self._number(_EXTENSIONS[kind]), depth)
        raise ValueError(f"not MessagePack: byte {kind:#x} at {self._at - 1}")

    def _list(self, count: int, depth: int) -> list[Any]:
        self._items += count
        check_items(self._items)
        return [self.value(depth + 1) for _ in range(count)]

    def _map(self, count: int, depth: int) -> dict[str, Any]:
        self._items += 2 * count
        check_items(self._items)
        return {str(self.value(depth + 1)): self.value(depth + 1) for _ in range(count)}

    def _extension(self, size: int, depth: int) -> Any:
        code, data = self._number(">b"), self._take(size)
        if code == _TIMESTAMP:
            return _timestamp(data)
        inner = _Reader(data).value(depth + 1)
        if isinstance(inner, list) and len(inner) >= 3:
            return {"id": inner[:2], "kwargs": inner[2]}
        return inner


def _timestamp(data: bytes) -> str:
    if len(data) == 4:
        seconds, nanos = int.from_bytes(data, "big"), 0
    elif len(data) == 8:
        packed = int.from_bytes(data, "big")
        seconds, nanos = packed & 0x3FFFFFFFF, packed >> 34
    else:
        nanos, seconds = struct.unpack(">Iq", data)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanos // 1000)
    return moment.isoformat()
