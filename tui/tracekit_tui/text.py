"""
Foreign text made safe and aligned for a terminal: text is never markup, control codes are made visible.

What is shown is a copy: the value that a person copies or opens in an editor is always the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from rich.cells import cell_len, get_character_cell_size

Ink = Literal["plain", "dim", "ok", "error", "warn", "accent", "strong", "title", "bar"]
"""What a piece of text means; a theme gives each its colour."""

Run = tuple[str, Ink]
"""Visible text and its ink."""

Line = tuple[Run, ...]

_MARKS = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control codes: ESC would open a terminal command
    "\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e01ef"  # invisible tag letters
    "\ud800-\udfff]"  # halves of a pair: no terminal can be sent them
)
_WORDS = re.compile(" +|[^ ]+")
_PILE = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{3,}")
_JOINERS = "\u200d\ufe0e\ufe0f"


def visible(text: str) -> str:
    """*text* on one line, with every code that a terminal would act on shown instead of sent."""
    if text.isascii() and text.isprintable():
        return text
    return _PILE.sub(lambda pile: f"{pile[0][:2]}⟨+{len(pile[0]) - 2}⟩", _MARKS.sub(_mark, text))


def _mark(found: re.Match[str]) -> str:
    letter = found[0]
    code = ord(letter)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if letter in _JOINERS and found.start() and ord(found.string[found.start() - 1]) > 0x2000:
        # Terminals disagree about the width of a joined emoji; its parts have a width that all agree on.
        return ""
    return f"⟨{code:04X}⟩"


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Visible *text* in exactly *width* cells: padded, or cut with `…`."""
    shown = clip(visible(text[: width * 4 + 8]), width)
    padding = " " * (width - cell_len(shown))
    return padding + shown if right else shown + padding


def clip(text: str, width: int) -> str:
    """Visible *text* in at most *width* cells, with `…` at its end where something was left out."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return _head(text, width - 1) + "…"


def _head(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    used = 0
    for position, letter in enumerate(text):
        used += get_character_cell_size(letter)
        if used > width:
            return text[:position]
    return text


def wrap(text: str, width: int) -> Iterator[str]:
    """The lines of *text*, made visible and cut at *width* cells; at least one line, also of an empty text."""
    width = max(2, width)
    for raw in text.split("\n"):
        line = visible(raw.removesuffix("\r").expandtabs(4)) if raw else ""
        if cell_len(line) <= width if len(line) <= width else False:
            yield line
        elif line.isascii():
            yield from (line[at : at + width] for at in range(0, len(line), width))
        else:
            yield from _wrap_wide(line, width)


def _wrap_wide(line: str, width: int) -> Iterator[str]:
    start = used = 0
    for position, letter in enumerate(line):
        size = get_character_cell_size(letter)
        if used + size > width:
            yield line[start:position]
            start, used = position, 0
        used += size
    yield line[start:]


def wrap_words(text: str, width: int) -> Iterator[str]:
    """As `wrap`, but cut between words where a line has one."""
    width = max(2, width)
    for part in text.split("\n"):
        line = ""
        for word in visible(part).split(" "):
            longer = f"{line} {word}" if line else word
            if cell_len(longer) <= width:
                line = longer
                continue
            if line:
                yield line
            *whole, line = wrap(word, width)
            yield from whole
        yield line


def flow(runs: Iterable[Run], width: int, margin: int = 0) -> list[Line]:
    """*runs* cut between words into lines of *width* cells; all but the first begin with *margin* blanks."""
    lines: list[Line] = []
    line: list[Run] = []
    room = width = max(margin + 2, width)
    for text, ink in runs:
        for word in _WORDS.findall(visible(text)):
            whole = cell_len(word) <= width - margin
            for part in (word,) if whole else wrap(word, width - margin):
                size = cell_len(part)
                if size > room:
                    lines.append(tuple(line))
                    line, room = [(" " * margin, "plain")], width - margin
                    if part.isspace():
                        continue
                if line and line[-1][1] == ink:
                    part = line.pop()[0] + part
                line.append((part, ink))
                room -= size
    return [*lines, tuple(line)]


def wrapped(text: str, width: int, ink: Ink = "plain") -> list[Line]:
    """*text* as lines of one ink."""
    return [((line, ink),) for line in wrap(text, width)]


def plain(line: Iterable[Run]) -> str:
    """The text of *line* without its inks."""
    return "".join(text for text, _ in line)
