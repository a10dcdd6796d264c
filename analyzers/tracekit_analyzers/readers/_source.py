"""Bytes of an input file, whole JSON values out of them, and a look at its head: what every reader starts with."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import lru_cache, wraps
from typing import Any, BinaryIO, NamedTuple, TypeVar

import orjson

from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers import _bounds
from tracekit_analyzers.readers._bounds import LongLine, TooLarge, bounded_lines, loads
from tracekit_analyzers.readers._packed import Unpacked, is_packed
from tracekit_analyzers.reading.damage import examine, numbered

_CHUNK_CHARACTERS = 1 << 20
_AFTER_NUMBER = frozenset(",]} \t\r\n")
_LONGEST_WORD = 12
"""Characters before the end of a text in which what is wrong may be that it ends: `-Infinity`, half a `\\ud83e`."""
_SPACE = re.compile(r"[\s\x00\ufeff]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


_Sniff = Callable[[Any, InputFile], int]
_Reading = Callable[[Any, InputFile, DamageReport], Iterator[NativeRecord]]


SHAPE_ERRORS = (TypeError, AttributeError, KeyError, IndexError, ValueError, RecursionError)
"""What a value of another kind than the format has raises while it is translated; a list where a text should be."""


def odd_is_not_ours(sniff: _Sniff) -> _Sniff:
    """*sniff*, saying 0 where a value is of a kind that it did not reckon with: then the file is in another format."""

    @wraps(sniff)
    def sure(self: Any, file: InputFile) -> int:
        try:
            return sniff(self, file)
        except SHAPE_ERRORS:
            return 0

    return sure


def guarded(
    records: Iterator[NativeRecord],
    file: InputFile,
    damage: DamageReport,
    *,
    line: int | None = None,
    what: str = "run",
) -> Iterator[NativeRecord]:
    """*records* of one part of a file; where the part is not shaped as its format says, the rest of it is told as damaged."""
    try:
        yield from records
    except SHAPE_ERRORS as error:
        reason = _bounds.reason(f"wrong_shape {what}: {type(error).__name__}", error)
        damage.bad(file=file.name, line=line, offset=None, reason=reason, data=b"")


def never_silent(read: _Reading) -> _Reading:
    """*read*, telling the damage report when a file gave no record at all, or is not shaped as its format says."""

    @wraps(read)
    def told(self: Any, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        empty = True
        for record in guarded(read(self, file, damage), file, damage, what=f"file, read as {self.name}"):
            empty = False
            yield record
        if empty:
            reason = f"no_records: read as {self.name}, and found no message, call or span in it"
            damage.bad(file=file.name, line=None, offset=None, reason=reason, data=file.head[:200])

    return told


def open_bytes(file: InputFile) -> BinaryIO:
    """The file's bytes, unpacked when it is gzip or zstandard by its first bytes."""
    raw = file.path.open("rb")
    magic = raw.read(4)
    raw.seek(0)
    return Unpacked(raw).buffered() if is_packed(magic) else raw


def lines(file: InputFile, damage: DamageReport) -> Iterator[tuple[int, Any]]:
    """Number (1-based) and value of each record of a line file; records glued together or cut are rescued where certain."""
    useless = 0
    with open_bytes(file) as stream:
        for number, start, line in numbered(bounded_lines(stream)):
            if reason := _bounds.useless(useless):
                damage.bad(file=file.name, line=number, offset=start, reason=reason, data=line)
                return
            useless += 1
            for value in _values(line, Place(file, number, start), damage):
                useless = 0 if _is_of_use(value) else useless
                yield number, value


def _is_of_use(value: Any) -> bool:
    """Whether a record may come of *value*."""
    return isinstance(value, dict | list) and bool(value)


class Place(NamedTuple):
    """Where a line begins."""

    file: InputFile
    line: int
    offset: int


def _values(line: bytes, place: Place, damage: DamageReport) -> Sequence[Any]:
    """The values of a line, of any kind where it holds one alone; what is wrong with it goes to *damage*."""
    text = line.removeprefix(b"\xef\xbb\xbf") if place.line == 1 else line
    text = text if isinstance(text, LongLine) else text.strip()
    if not text:
        return ()
    damage.counted(1)
    try:
        return (loads(text, orjson.loads),)
    except ValueError:
        return tuple(_rescued(text, place, damage))


def _rescued(text: bytes, place: Place, damage: DamageReport) -> Iterator[Any]:
    for piece in examine(text):
        reason = piece.reason
        if piece.record is not None:
            try:
                yield orjson.loads(piece.record)
            except orjson.JSONDecodeError as error:
                reason = f"too_deep: {error}"  # what the query engine itself may still read
        if reason is not None:
            at, head = place.offset + piece.at, piece.head_of(text)
            damage.bad(file=place.file.name, line=place.line, offset=at, reason=reason, data=head)


class JsonStream:
    """Values of a file one after another, without holding more than one of them."""

    def __init__(self, file: InputFile, damage: DamageReport) -> None:
        self._file, self._damage = file, damage
        self._stream = open_bytes(file)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._json = json.JSONDecoder()
        self._text, self._pos, self._before, self._done = "", 0, 0, False
        self._useless = 0

    def __enter__(self) -> JsonStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _more(self) -> bool:
        """Read on, at least doubling what is held, so that a long value is not parsed over and over."""
        if self._done:
            return False
        self._before += len(self._text[: self._pos].encode("utf-8", "surrogatepass"))
        self._text, self._pos = self._text[self._pos :], 0
        held = len(self._text)
        data = self._stream.read(max(_CHUNK_CHARACTERS, min(held, _bounds.longest_value() - held)))
        self._done = not data
        self._text += self._decoder.decode(data, final=self._done)
        return True

    def _peek(self) -> str:
        while True:
            match = _SPACE.match(self._text, self._pos)
            self._pos = match.end() if match else self._pos
            if self._pos < len(self._text) or not self._more():
                return self._text[self._pos : self._pos + 1]

    def _value(self) -> Any:
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._pos)
            except json.JSONDecodeError as error:
                if self._is_cut(error) and self._more():
                    continue
                raise
            # a number may go on in the next piece: `1` of `1e16`
            whole_text = not isinstance(value, int | float) or self._text[end : end + 1] in _AFTER_NUMBER
            if not whole_text and self._more():
                continue
            self._pos = end
            self._damage.counted(1)
            self._useless = 0 if _is_of_use(value) else self._useless + 1
            return value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the value may go on behind what is held; raises `TooLarge` for one that would fill the memory."""
        if "Unterminated" not in error.msg and error.pos < len(self._text) - _LONGEST_WORD:
            return False
        held = len(self._text) - self._pos
        if held >= _bounds.longest_value():
            raise TooLarge(_bounds.too_long(held))
        if held > _CHUNK_CHARACTERS:
            _bounds.check_items(sum(self._text.count(mark, self._pos) for mark in ",[{"))
        return True

    def _bad(self, reason: str) -> None:
        offset = self._before + len(self._text[: self._pos].encode("utf-8", "surrogatepass"))
        rest = self._text[self._pos : self._pos + 200]
        self._damage.bad(file=self._file.name, line=None, offset=offset, reason=reason, data=rest)

    def _next_object(self) -> bool:
        """Go to the next object that begins a line; False when there is none."""
        while (start := self._text.find("\n{", self._pos)) < 0:
            self._pos = max(self._pos, len(self._text) - 1)
            if not self._more():
                return False
        self._pos = start + 1
        return True

    def items(self) -> Iterator[Any]:
        """Elements of each top-level list, and each other top-level value; what is no JSON is told and passed over."""
        while self._peek():
            if self._text[self._pos] == "[":
                self._pos += 1
                if not (yield from self._elements()):
                    return
                continue
            try:
                value = self._value()
            except (ValueError, RecursionError) as error:
                self._bad(_bounds.reason("not_json", error))
                if not self._next_object():
                    return
                continue
            yield value
            if self._is_of_no_use():
                return

    def _elements(self) -> Generator[Any, None, bool]:
        while (mark := self._peek()) != "]":
            if mark == ",":
                self._pos += 1
                continue
            if not mark:
                self._bad("cut: the list has no end")
                return False
            try:
                value = self._value()
            except (ValueError, RecursionError) as error:
                self._bad(_bounds.reason("cut", error))
                return False
            yield value
            if self._is_of_no_use():
                return False
        self._pos += 1
        return True

    def _is_of_no_use(self) -> bool:
        """Whether so many values in a row held no record that the rest is left; this is told."""
        if reason := _bounds.useless(self._useless):
            self._bad(reason)
        return bool(reason)


def items(file: InputFile, damage: DamageReport) -> Iterator[Any]:
    """Elements of the file's top-level list, or its top-level values where it has no list."""
    with JsonStream(file, damage) as stream:
        yield from stream.items()


_T = TypeVar("_T")


def held(values: Iterable[_T], file: InputFile, damage: DamageReport) -> Iterator[_T]:
    """*values* for a caller that keeps them all: those that fit into memory together; the rest is left, and told."""
    size, most = 0, _bounds.most_held()
    for value in values:
        size += _json_bytes(value)
        if size > most:
            reason = _bounds.too_long(size, "what has to be held at once,", most)
            damage.bad(file=file.name, line=None, offset=None, reason=reason, data=b"")
            return
        yield value


def _json_bytes(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError):
        return len(str(value))


def whole(file: InputFile, damage: DamageReport) -> Any:
    """The file's one JSON value; None, with the damage told, when it is not JSON."""
    with open_bytes(file) as stream:
        data = stream.read(_bounds.longest_value() + 1)
    damage.counted(1)
    try:
        return loads(data, lambda given: json.loads(given.decode("utf-8-sig", "replace")))
    except (ValueError, RecursionError) as error:
        damage.bad(
            file=file.name,
            line=None,
            offset=getattr(error, "pos", 0),
            reason=_bounds.reason("not_json", error),
            data=data[:200],
        )
        return None


@lru_cache(maxsize=16)
def peek(head: bytes) -> Any:
    """What the first bytes of a file hold when its open lists and objects are closed; None when that is no JSON."""
    text = head.decode("utf-8-sig", "ignore").lstrip()
    if text[:1] not in ("{", "["):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return _closed(text)
    return value


def _closed(text: str) -> Any:
    """*text* up to its last whole element, with every bracket closed."""
    stack: list[str] = []
    best = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == '"':  # the head ends inside this text
            break
        if token in "{[":
            stack.append("}" if token == "{" else "]")
            best = match.end()
        elif token in "}]":
            if not stack:
                break
            stack.pop()
            best = match.end()
        elif token == ",":
            best = match.start()
    try:
        # Whatever opens or closes moves `best` too, so that what is open now was open there.
        return json.loads(text[:best] + "".join(reversed(stack)))
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=16)
def peek_lines(head: bytes) -> tuple[dict[str, Any], ...]:
    """Objects of the first lines that are whole in the head, at most 50; empty when the file is not JSON Lines."""
    found: list[dict[str, Any]] = []
    for line in head.split(b"\n")[:50]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return tuple(found)
