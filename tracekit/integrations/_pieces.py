"""An object that comes in pieces, as streams send messages and calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SAID_ONCE = ("id", "type")
"""Sent again with a piece they mean the same thing; every other text goes on where the last piece ended."""


class Pieces:
    """Texts are joined, lists grow, objects are put together in turn; of anything else the last one counts."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._objects: dict[str, Pieces] = {}
        self._others: dict[str, Any] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take one more piece; joining waits for `whole`, since a long answer comes in a hundred thousand of them."""
        for name, part in piece.items():
            if part is None or (name in _SAID_ONCE and not part):
                continue
            if isinstance(part, str) and name not in _SAID_ONCE:
                self._texts.setdefault(name, []).append(part)
            elif isinstance(part, Mapping):
                self._objects.setdefault(name, Pieces()).add(part)
            elif isinstance(part, list):
                self._others.setdefault(name, []).extend(part)
            else:
                self._others[name] = part

    def whole(self) -> dict[str, Any]:
        """What the pieces add up to so far."""
        objects = {name: pieces.whole() for name, pieces in self._objects.items()}
        return {**self._others, **objects, **{name: joined(parts) for name, parts in self._texts.items()}}


def joined(parts: list[str]) -> str:
    """One text; two halves of one character that the server cut apart are that character again, a lone half stays."""
    text = "".join(parts)
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
