"""Text for terminals: control codes made visible, columns aligned for wide characters, colour only where wanted."""

from __future__ import annotations

import os
import shlex
import shutil
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import IO, Any

from tracekit_analyzers.model import Resumable

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_WIDEST = 200
_NARROWEST = 10
_LONGEST_REASON = 160
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
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    # Accents and the signs that choose the picture of an emoji stand on the character before them.
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


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


def apart(one: str, other: str, columns: int) -> tuple[str, str]:
    """Both texts in at most *columns* each, cut so that the place at which they begin to differ can be seen."""
    same = _alike(one, other)
    skipped = same - 20 if same > columns // 2 and max(len(one), len(other)) > columns else 0
    if skipped <= 0:
        return cut(one, columns), cut(other, columns)
    return cut("…" + one[skipped:], columns), cut("…" + other[skipped:], columns)


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """*text* cut and filled to exactly *columns*."""
    shown = cut(text, columns)
    return " " * (columns - width(shown)) + shown if right else filled(shown, columns)


def filled(text: str, columns: int) -> str:
    """*text* with blanks after it, up to *columns*."""
    return text + " " * max(0, columns - width(text))


def colours_wanted(stream: IO[Any]) -> bool:
    """Whether *stream* is a terminal and nobody said `NO_COLOR`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, code: str, *, colours: bool) -> str:
    """*text* in the colour *code* where colours are wanted."""
    return f"\x1b[{code}m{text}\x1b[0m" if colours else text


def terminal_columns(stream: IO[Any]) -> int | None:
    """Columns of the terminal that *stream* goes to; None where it is none, and nothing has to be cut to fit."""
    return shutil.get_terminal_size((160, 24)).columns if stream.isatty() else None


def fitted(
    natural: Sequence[int], room: int | None, *, keep: Collection[int] = (), late: Collection[int] = ()
) -> list[int]:
    """
    Widths of columns that fit into *room* with two blanks between: the widest gives way first.

    Args:
        keep: Columns that never give way.
        late: Columns that give way when the others have become narrow.
    """
    widths = [min(size, _WIDEST) for size in natural]
    over = 0 if room is None else sum(widths) + 2 * (len(widths) - 1) - room
    free = [place for place in range(len(widths)) if place not in keep]
    for stage in ([place for place in free if place not in late], [place for place in free if place in late]):
        while over > 0:
            widest = max(stage, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            over -= 1
    return widths


def grid(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    keep: Collection[int] = (),
    late: Collection[int] = (),
    room: int | None = None,
    colours: bool = False,
) -> Iterator[str]:
    """Lines of a table: heads, a rule, rows; *right* are the columns of numbers, *keep* and *late* as in `fitted`."""
    natural = [max([width(head), *(width(row[place]) for row in rows)]) for place, head in enumerate(heads)]
    widths = fitted(natural, room, keep=keep, late=late)
    yield painted(_line(heads, widths, right), BOLD, colours=colours)
    yield "  ".join("─" * size for size in widths)
    for row in rows:
        yield _line(row, widths, right)


def _line(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    made = (
        padded(cell, size, right=place in right)
        for place, (cell, size) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(made).rstrip()


def unique_length(ids: Iterable[str], least: int = 8) -> int:
    """How many characters tell *ids* apart, at least *least*."""
    ordered = sorted(set(ids))
    alike = (_alike(one, other) + 1 for one, other in pairwise(ordered))
    return max([least, *alike])


def _alike(one: str, other: str) -> int:
    """How many characters *one* and *other* begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def told_path(path: str) -> str:
    """*path* as a shell takes it."""
    return shlex.quote(path)


def plural(count: int, word: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def took(ms: float | None) -> str:
    """A time as `850 ms`, `12.3 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`; a dash for none."""
    if ms is None:
        return "–"
    seconds = ms / 1000
    if seconds < 1:
        return f"{ms:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    for size, unit, below in ((86_400, "d", "h"), (3_600, "h", "min"), (60, "min", "s")):
        if seconds >= size:
            small = {"h": 3_600, "min": 60, "s": 1}[below]
            return f"{int(seconds // size):,} {unit} {int(seconds % size // small)} {below}"
    return ""


def kept(point: Resumable) -> str:
    """What going on at *point* saves, as `5 calls, 599 tokens, 120 ms`; without tokens and time where the log tells none."""
    saved = [plural(point.kept_calls, "call")]
    if point.kept_tokens:
        saved.append(f"{point.kept_tokens:,} tokens")
    if point.kept_seconds:
        saved.append(took(1000 * point.kept_seconds))
    return ", ".join(saved)


def not_later(point: Resumable) -> list[str]:
    """Why a run may not go on after a later step than *point*, one line for each reason."""
    return [
        f"not later: step {fact.seq}: {cut(visible(fact.what), _LONGEST_REASON)}"
        for fact in point.why_not_later
    ]
