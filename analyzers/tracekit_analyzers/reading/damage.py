"""What was damaged in the files that were read, and the repair of single lines: every good record kept, every bad piece told."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from tracekit.snapshot import marker
from tracekit_analyzers.model import BadLine
from tracekit_analyzers.readers._bounds import LongLine, TooLarge, loads, size_of, too_long

MAX_LISTED = 10_000
"""Bad pieces kept with their place; more are counted only, so that a ruined file does not fill the memory."""

_LIMIT = "too_large"
_MOST_LIMITS = 1_000
"""Limits that were met are listed behind any number of bad pieces: they say why a file was left."""

_SHOWN_BYTES = 400

_DEEPEST = 5_000
"""Brackets in a row that the query engine still takes apart safely."""

_DEEPEST_WRITTEN = 400
"""Levels of a value that `json` writes, of whatever stack it is called."""

_FEW_KEYS = 100
"""Looking for each key by itself is faster for so many."""

_MOST_TEARS = 100
_MOST_TORN_CHARACTERS = 256 << 20
"""Places of one line at which a torn record is looked for, and what is read for it: each try may go to the end of the line."""
_MOST_GLUED = 1_000_000
"""Records that are taken out of one line."""


class Damage:
    """The damage report of one analysis (`DamageReport`)."""

    def __init__(self) -> None:
        self.lines = 0
        """Lines or records that were looked at."""
        self.bad_count = 0
        self.lost = 0
        """Lines that recorders could not write."""
        self._bad: list[BadLine] = []

    def bad(self, *, file: str, line: int | None, offset: int | None, reason: str, data: bytes | str) -> None:
        """Record a bad piece; never raises."""
        if self.bad_count >= MAX_LISTED and not reason.startswith(_LIMIT):
            self.bad_count += 1
            return
        self._list(BadLine(file, line, offset, reason, visible_head(data)))

    def lost_lines(
        self, *, file: str, line: int | None, offset: int | None, lost: int, reason: str, data: bytes
    ) -> None:
        """Record a line in which a recorder says that it could not write *lost* others; never raises."""
        self.lost += lost
        self._list(BadLine(file, line, offset, reason, visible_head(data), lost))

    def _list(self, bad: BadLine) -> None:
        self.bad_count += 1
        if len(self._bad) < MAX_LISTED + (_MOST_LIMITS if bad.reason.startswith(_LIMIT) else 0):
            self._bad.append(bad)

    def counted(self, lines: int) -> None:
        """Add to the number of lines that were looked at."""
        self.lines += lines

    def listed(self) -> tuple[BadLine, ...]:
        """The bad pieces in the order of files and lines; limits that were met stand first in their file."""
        return tuple(sorted(self._bad, key=_place))

    def forget(self, file: str, *, after: int) -> None:
        """Drop what was told about the lines of *file* behind line *after*, which are about to be read again."""
        kept = [bad for bad in self._bad if bad.file != file or (bad.line or 0) <= after]
        self.bad_count -= len(self._bad) - len(kept)
        self.lost -= sum(bad.lost for bad in self._bad) - sum(bad.lost for bad in kept)
        self._bad = kept

    def take(self, other: Damage, *, only: Callable[[BadLine], bool] = lambda _: True) -> None:
        """Add what *other* tells, of its bad pieces those for which *only* holds."""
        self.lines += other.lines
        for bad in other.listed():
            if only(bad):
                self.lost += bad.lost
                self._list(bad)


def _place(bad: BadLine) -> tuple[str, bool, int, int, str]:
    return bad.file, not bad.reason.startswith(_LIMIT), bad.line or 0, bad.offset or 0, bad.reason


def visible_head(data: bytes | str) -> str:
    """First 80 characters of *data*, with control codes and bytes that are no text made visible."""
    text = data[:_SHOWN_BYTES].decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
    text = text[:82].rstrip("\r\n")
    return "".join(_visible(character) for character in text[:80])[:80]


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A record out of a line, or something bad in it, or both when it was kept only in part."""

    record: bytes | None
    """One JSON object as bytes, ready for the query engine."""
    reason: str | None = None
    at: int = 0
    """Bytes from the start of the line."""

    def head_of(self, line: bytes) -> bytes:
        """As much of *line* as a report may show of this piece: a line of a million pieces is not copied for each."""
        return line[self.at : self.at + _SHOWN_BYTES]


def examine(line: bytes) -> list[Piece]:
    """What *line* (one line of a JSON Lines file, with or without its end) holds; empty for a blank line."""
    if isinstance(line, LongLine):
        return [Piece(None, too_long(line.size, "a line"))]
    text = line.strip(b" \t\r\n")
    if not text:
        return []
    try:
        value = loads(text, orjson.loads)
    except orjson.JSONDecodeError:
        return _rescue(text)
    except TooLarge as error:
        return [Piece(None, str(error))]
    if not isinstance(value, dict):
        return [Piece(None, f"not_object: the line is a JSON {_json_kind(value)}")]
    twice = _repeated_key(text, value)
    if twice is not None:
        return [Piece(orjson.dumps(value), f"duplicate_key {twice}: the last value was kept")]
    return [Piece(text)]


def _json_kind(value: Any) -> str:
    kinds = {list: "list", str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return kinds.get(type(value), "object")


def _repeated_key(text: bytes, value: dict[str, Any]) -> str | None:
    """A key that stands twice at the top of the object, or None."""
    few = len(value) <= _FEW_KEYS
    if few and all(text.count(b'"%s"' % key.encode("utf-8", "surrogatepass")) < 2 for key in value):
        return None
    found: list[str] = []

    def watch(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            found.append(next(name for name, count in counts.items() if count > 1))
        return result

    try:
        json.loads(text, object_pairs_hook=watch)
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None


def _rescue(text: bytes) -> list[Piece]:
    """Records out of a line that is not strict JSON."""
    if b"\0" in text:
        rest = text.replace(b"\0", b"").strip()
        if not rest:
            return [Piece(None, "nul_block: the line holds only NUL bytes")]
        return _marked(examine(rest), "nul_block: NUL bytes were removed")
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        repaired = text.decode("utf-8", "replace").encode("utf-8")
        note = f"invalid_utf8: byte {error.start} was replaced"
        return _marked(examine(repaired), note)
    return _by_documents(text, decoded.lstrip("\ufeff"))


def _marked(pieces: list[Piece], note: str) -> list[Piece]:
    """*pieces* with *note* on each that has no reason yet."""
    return [Piece(piece.record, piece.reason or note, piece.at) for piece in pieces]


def _by_documents(raw: bytes, text: str) -> list[Piece]:
    """Take JSON documents off the front of *text* for as long as there are any; then look for a whole one at the end."""
    decoder = json.JSONDecoder()
    pieces: list[Piece] = []
    position = at = counted = 0
    while position < len(text):
        at += len(text[counted:position].encode("utf-8"))
        counted = position
        try:
            value, end = decoder.raw_decode(text, position)
        except ValueError as error:
            pieces += _torn(text, position, at, error)
            break
        except RecursionError:
            return [_deep(raw)]
        piece = _kept(value, at)
        pieces += (
            _marked([piece], "glued: it stands behind another record in its line") if pieces else [piece]
        )
        position = end
        if len(pieces) >= _MOST_GLUED:
            pieces.append(Piece(None, f"too_large: more than {_MOST_GLUED:,} records are glued together", at))
            break
        while position < len(text) and text[position] in " \t\r":
            position += 1
    return pieces


def _kept(value: Any, at: int) -> Piece:
    if not isinstance(value, dict):
        return Piece(None, f"not_object: a JSON {_json_kind(value)}", at)
    notes: list[str] = []
    record = json.dumps(strict(value, notes), ensure_ascii=False).encode("utf-8")
    return Piece(record, notes[0] if notes else None, at)


def strict(value: Any, notes: list[str], depth: int = 0) -> Any:
    """*value* with what strict JSON does not have, or Python can't write, made visible; each kind is noted."""
    if isinstance(value, dict | list | tuple) and depth >= _DEEPEST_WRITTEN:
        notes.append(f"too_deep: more than {_DEEPEST_WRITTEN} levels of nesting; a marker stands for them")
        return marker("too_deep")
    # Loops, as a comprehension would take a second frame of the stack for each level.
    if isinstance(value, dict):
        found = {}
        for key, item in value.items():
            found[strict(key, notes)] = strict(item, notes, depth + 1)
        return found
    if isinstance(value, list | tuple):
        items = []
        for item in value:
            items.append(strict(item, notes, depth + 1))
        return items
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        notes.append(f"not_finite: {name} is not JSON; kept as a marker")
        return marker("float", value=name)
    if isinstance(value, str) and not _encodable(value):
        notes.append("lone_surrogate: half of a character was made visible")
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _encodable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _torn(text: str, start: int, at: int, error: ValueError) -> list[Piece]:
    """The pieces of a text whose front is no whole document: a record may begin again behind the tear."""
    for mark in ('{"record"', '{"trace_id"', '{"schema"'):
        again, tries, looked_at = text.find(mark, start + 1), 0, 0
        while again != -1 and tries < _MOST_TEARS and looked_at < _MOST_TORN_CHARACTERS:
            tries, looked_at = tries + 1, looked_at + len(text) - again
            rescued = _whole(text[again:])
            if rescued is not None:
                offset = at + len(text[start:again].encode("utf-8"))
                return [
                    Piece(None, "cut: a record was torn and another begins behind it", at),
                    Piece(rescued, None, offset),
                ]
            again = text.find(mark, again + 1)
    position = getattr(error, "pos", start)
    rest = len(text) - position
    word = (
        "cut"
        if rest <= 1 or "Unterminated" in str(error) or "control character" in str(error)
        else "not_json"
    )
    return [Piece(None, f"{word}: {error}", at)]


def _whole(text: str) -> bytes | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return text.encode("utf-8", "surrogatepass") if isinstance(value, dict) else None


def _deep(raw: bytes) -> Piece:
    """A line nested deeper than Python reads: kept when the query engine can still read it."""
    depth = deepest = 0
    for byte in raw:
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > _DEEPEST:
                return Piece(None, f"too_deep: more than {_DEEPEST:,} levels of nesting")
        elif byte in b"]}":
            depth -= 1
    if depth != 0 or not raw.startswith(b"{"):
        return Piece(None, f"too_deep: {deepest} levels of nesting")
    return Piece(raw)


def with_source(record: bytes, source: dict[str, Any]) -> bytes:
    """*record* (a JSON object) with `source` as its first field; one that it has already is kept and completed."""
    if b'"source"' in record:
        try:
            value = orjson.loads(record)
        except orjson.JSONDecodeError:
            value = None
        if isinstance(value, dict) and "source" in value:
            own = value["source"] if isinstance(value["source"], dict) else {}
            value["source"] = {**source, **own, "file": source["file"]}
            return orjson.dumps(value)
    rest = record[1:].lstrip()
    joint = b"" if rest.startswith(b"}") else b","
    return b'{"source":' + orjson.dumps(source) + joint + rest


def numbered(lines: Iterator[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Line number (1-based), byte offset and bytes of each line."""
    offset = 0
    for number, line in enumerate(lines, start=1):
        yield number, offset, line
        offset += size_of(line)
