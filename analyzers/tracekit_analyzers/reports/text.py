"""Text for terminals: control codes made visible, columns aligned for wide characters, colour only where wanted."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import TextIO

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
RED, GREEN, YELLOW, DIM, BOLD = "31", "32", "33", "2", "1"


def visible(text: str) -> str:
    """*text* on one line, with control and direction codes made visible."""
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\r\t":
        return {"\n": "⏎", "\r": "", "\t": " "}[character]
    if unicodedata.category(character) in _HIDDEN:
        code = ord(character)
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    return character


def width(text: str) -> int:
    """Columns that *text* takes on a terminal."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def cut(text: str, columns: int) -> str:
    """*text* in at most *columns*, with an ellipsis where something was left out."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += width(character)
        if used > columns - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """*text* cut and filled to exactly *columns*."""
    shown = cut(text, columns)
    fill = " " * (columns - width(shown))
    return fill + shown if right else shown + fill


def colours_wanted(stream: TextIO) -> bool:
    """Whether *stream* is a terminal and nobody said `NO_COLOR`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, code: str, *, colours: bool) -> str:
    """*text* in the colour *code* where colours are wanted."""
    return f"\x1b[{code}m{text}\x1b[0m" if colours else text


def terminal_columns() -> int:
    """Columns of the terminal; 160 where the output is no terminal."""
    return shutil.get_terminal_size((160, 24)).columns if sys.stdout.isatty() else 160


def columns_of(rows: Sequence[Sequence[str]], heads: Sequence[str], most: Sequence[int]) -> list[int]:
    """Width of each column: as wide as its widest cell, within *most*."""
    return [
        min(limit, max([width(head), *(width(row[place]) for row in rows)]))
        for place, (head, limit) in enumerate(zip(heads, most, strict=True))
    ]
