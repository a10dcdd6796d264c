"""
The one byte form of a value that digests are taken of.

Two values that mean the same have the same bytes: keys are sorted, text is in Unicode form NFC, `10`, `10.0` and
`Decimal("10.00")` are one number, a tuple is a list. Types that JSON lacks are tagged so that the text
"2026-01-01" and the date stay apart.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any
from uuid import UUID

import orjson

from tracekit.errors import NotStorable
from tracekit.snapshot.classes import LONGEST_INT_BITS, MAX_DEPTH, is_dataclass_value, is_pydantic_class

TAG = "$tk"
_QUICK_DEPTH = 20


def digest(data: bytes) -> str:
    """32 hexadecimal digits that name *data* (BLAKE2b, 16 bytes)."""
    return blake2b(data, digest_size=16).hexdigest()


def canonical(value: Any) -> bytes:
    """
    The canonical JSON of *value*, UTF-8.

    Raises:
        NotStorable: a part has no canonical form; the message names its path, such as `$.order.items[3]`.
    """
    try:
        same = value if _is_normal(value, 0) else _norm(value, "$", 0)
        return orjson.dumps(same, option=orjson.OPT_SORT_KEYS)
    except RecursionError:
        raise refused(value, "$", "nested deeper than the Python stack has room for here") from None


def message_hash(message: Mapping[str, Any]) -> str:
    """32 hexadecimal digits that name one chat message by its content."""
    return digest(canonical(message))


def context_digest(hashes: Iterable[str]) -> str:
    """32 hexadecimal digits that name a list of messages, from their hashes in order."""
    return digest("\n".join(hashes).encode())


def refused(value: Any, path: str, why: str) -> NotStorable:
    """The error for a part that can't be stored: what came, where, and what to do."""
    return NotStorable(
        "snapshot.not_storable",
        f"expected plain JSON or a type that can be stored at {path}, got {type(value).__name__} ({why}); "
        "pass its id or its fields instead",
    )


def _is_normal(value: Any, depth: int) -> bool:
    """Whether nothing of *value* would change: most messages are ASCII text in dicts, and hashed at every turn."""
    kind = type(value)
    if kind is str:
        return bool(value.isascii())
    if value is None or kind is bool:
        return True
    if kind is int:
        return bool(-(2**63) <= value < 2**63)
    if depth >= _QUICK_DEPTH:
        return False
    if kind is dict:
        return TAG not in value and all(
            type(key) is str and key.isascii() and _is_normal(item, depth + 1) for key, item in value.items()
        )
    return kind is list and all(_is_normal(item, depth + 1) for item in value)


def _norm(value: Any, path: str, depth: int) -> Any:
    """*value* as something that orjson writes in the canonical form."""
    kind = type(value)
    if kind is str:
        return _text(value, path)
    if value is None or kind is bool:
        return value
    if kind is int or kind is float:
        return _number(value, path)
    if depth >= MAX_DEPTH:
        raise refused(value, path, f"nested deeper than {MAX_DEPTH} levels, or holding itself")
    if kind is dict:
        return _mapping(value, path, depth)
    if kind is list or kind is tuple:
        return [_norm(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    return _tagged(value, path, depth)


def _text(value: str, path: str) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refused(value, path, "it holds half of a surrogate pair") from None
    return unicodedata.normalize("NFC", value)


def _number(value: int | float | Decimal, path: str) -> Any:
    """One form for equal numbers: whole ones as integers of any size, others by their shortest float."""
    if isinstance(value, int):
        whole = int(value)
    elif not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise refused(value, path, "not a finite number")
    elif isinstance(value, Decimal):
        if value.adjusted() > 400:
            return {TAG: ["decimal", str(value.normalize())]}
        if value != value.to_integral_value():
            as_float = float(value)
            same = Decimal(repr(as_float)) == value
            return as_float if same else {TAG: ["decimal", str(value.normalize())]}
        whole = int(value)
    elif value.is_integer():
        whole = int(value)
    else:
        return value
    if whole.bit_length() > LONGEST_INT_BITS:
        raise refused(value, path, "a whole number of more than 4,200 digits")
    return whole if -(2**63) <= whole < 2**63 else orjson.Fragment(b"%d" % whole)


def _mapping(value: Mapping[Any, Any], path: str, depth: int) -> Any:
    out: dict[str, Any] = {}
    for key, item in value.items():
        if type(key) is not str:
            return _pairs(value, path, depth)
        name = _text(key, path)
        if name in out:
            raise refused(value, path, f"two keys are the same text, {name!r}")
        out[name] = _norm(item, f"{path}.{key}", depth + 1)
    return {TAG: ["dict", out]} if TAG in out else out


def _pairs(value: Mapping[Any, Any], path: str, depth: int) -> Any:
    """A mapping whose keys are not all text, as pairs sorted by the bytes of their keys."""
    pairs = [
        [_norm(k, f"{path}.<key>", depth + 1), _norm(v, f"{path}.{k}", depth + 1)] for k, v in value.items()
    ]
    pairs.sort(key=lambda pair: orjson.dumps(pair[0], option=orjson.OPT_SORT_KEYS))
    return {TAG: ["map", pairs]}


def _tagged(value: Any, path: str, depth: int) -> Any:
    """The types beyond JSON; each is an object whose only key is the tag."""
    if isinstance(value, enum.Enum):
        return {TAG: ["enum", type(value).__qualname__, value.name]}
    if isinstance(value, Decimal | int | float):
        return _number(value, path)
    if isinstance(value, str):
        return _text(str(value), path)
    if isinstance(value, set | frozenset):
        items = [_norm(item, f"{path}{{}}", depth + 1) for item in value]
        return {TAG: ["set", sorted(items, key=lambda x: orjson.dumps(x, option=orjson.OPT_SORT_KEYS))]}
    if isinstance(value, bytes | bytearray):
        return {TAG: ["bytes", bytes(value).hex()]}
    if isinstance(value, datetime):
        return {TAG: ["datetime", _moment(value)]}
    if isinstance(value, date | time):
        return {TAG: [type(value).__name__, value.isoformat()]}
    if isinstance(value, timedelta):
        return {TAG: ["timedelta", value // timedelta(microseconds=1)]}
    if isinstance(value, UUID):
        return {TAG: ["uuid", value.hex]}
    if is_dataclass_value(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        return {TAG: ["dataclass", type(value).__qualname__, _mapping(fields, path, depth + 1)]}
    if is_pydantic_class(type(value)):
        fields = {**value.__dict__, **(value.__pydantic_extra__ or {})}
        return {TAG: ["pydantic", type(value).__qualname__, _mapping(fields, path, depth + 1)]}
    if isinstance(value, Mapping):
        return _mapping(value, path, depth)
    raise refused(value, path, "no stored form is known for it")


def _moment(value: datetime) -> str:
    """The same instant in every zone has the same text; a time without a zone keeps being without one."""
    return value.isoformat() if value.tzinfo is None else value.astimezone(UTC).isoformat()
