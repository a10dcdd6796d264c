"""Server-sent events out of bytes, however they are cut."""

from __future__ import annotations

import codecs
from collections.abc import Iterator


class Events:
    """Takes bytes and gives the data of each event that is complete."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest: list[str] = []
        self._data: list[str] = []

    def add(self, data: bytes) -> Iterator[str]:
        """The data of each event that ends within *data*."""
        self._rest.append(self._decode(data))
        if b"\n" not in data and b"\r" not in data:
            return  # a long line comes in many reads, and is looked at once
        text = "".join(self._rest)
        # a carriage return at the end may be the first half of a line end
        held = "\r" if text.endswith("\r") else ""
        lines = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = [lines.pop() + held]
        for line in lines:
            if line:
                self._line(line)
            elif self._data:
                yield "\n".join(self._data)
                self._data = []

    def _line(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
