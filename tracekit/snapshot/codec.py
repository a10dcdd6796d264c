"""
Values stored and given back exactly: JSON with one tagged, versioned object for each type beyond JSON.

`{"$tk": [type, version, ...]}`. An unknown tag or version fails loudly; classes are found by import, and only
dataclasses, enums and pydantic models are ever constructed. Never pickle.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson

from tracekit.errors import NotStorable
from tracekit.snapshot.canonical import TAG, refused
from tracekit.snapshot.classes import (
    LONGEST_INT_BITS,
    MAX_DEPTH,
    class_path,
    find_class,
    is_dataclass_value,
    is_pydantic_class,
)

VERSION = 1
_PLAIN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def encode(value: Any) -> bytes:
    """
    *value* as stored bytes; `decode` gives back an equal value of the same types.

    Raises:
        NotStorable: a part can't be stored; the message names its path.
    """
    return orjson.dumps(_packed(value), option=_PLAIN)


def check_storable(value: Any) -> None:
    """
    Nothing, if `encode` would take *value*.

    Raises:
        NotStorable: a part can't be stored; the message names its path.
    """
    _packed(value)


def decode(data: bytes | str) -> Any:
    """
    The value that `encode` stored.

    Raises:
        NotStorable: the bytes are not ours, hold an unknown tag or version, or name a class that is gone.
    """
    try:
        plain = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise NotStorable(
            "snapshot.not_ours",
            f"expected stored JSON, got bytes that are not ({error}); the blob is damaged",
        ) from error
    try:
        return _unpack(plain, "$")
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
        raise NotStorable(
            "snapshot.not_ours",
            f"expected a stored value, got one that holds something else under a tag ({error!r}); the blob is damaged, or "
            "a class of it has changed: restore it from a backup, or go on with the code that stored it",
        ) from error


def _tag(kind: str, *parts: Any) -> dict[str, Any]:
    return {TAG: [kind, VERSION, *parts]}


def _packed(value: Any) -> Any:
    try:
        return _pack(value, "$", 0)
    except RecursionError:
        raise refused(value, "$", "nested deeper than the Python stack has room for here") from None


def _pack(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return _pack_text(value, path)
    if value is None or kind is bool:
        return value
    if kind is int:
        if value.bit_length() > LONGEST_INT_BITS:
            raise refused(value, path, "a whole number of more than 4,200 digits")
        return value if -(2**63) <= value < 2**63 else _tag("int", str(value))
    if kind is float:
        return value if math.isfinite(value) else _tag("float", repr(value))
    if depth >= MAX_DEPTH:
        raise refused(value, path, f"nested deeper than {MAX_DEPTH} levels, or holding itself")
    if kind is dict:
        return _pack_dict(value, path, depth)
    if kind is list:
        return [_pack(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    return _pack_typed(value, path, depth)


def _pack_text(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise refused(value, path, "it holds half of a surrogate pair") from None
    return value


def _pack_dict(value: Mapping[Any, Any], path: str, depth: int) -> Any:
    if all(type(key) is str for key in value) and TAG not in value:
        return {_pack_text(k, path): _pack(v, f"{path}.{k}", depth + 1) for k, v in value.items()}
    return _tag(
        "dict",
        [
            [_pack(k, f"{path}.<key>", depth + 1), _pack(v, f"{path}.{k}", depth + 1)]
            for k, v in value.items()
        ],
    )


def _pack_typed(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, enum.Enum):
        return _tag("enum", _importable(kind, value, path), value.name)
    if kind in (tuple, set, frozenset):
        return _tag(kind.__name__, [_pack(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)])
    if kind in _SIMPLE:
        return _tag(kind.__name__.lower(), _SIMPLE[kind][0](value))
    if is_dataclass_value(value):
        return _tag("dataclass", _importable(kind, value, path), _pack_fields(value, path, depth))
    if is_pydantic_class(kind):
        fields = {**value.__dict__, **(value.__pydantic_extra__ or {})}
        return _tag(
            "pydantic",
            _importable(kind, value, path),
            {k: _pack(v, f"{path}.{k}", depth + 1) for k, v in fields.items()},
            sorted(value.model_fields_set),
        )
    raise refused(value, path, "no stored form is known for it")


def _pack_fields(value: Any, path: str, depth: int) -> dict[str, Any]:
    """All fields of a dataclass, those included that its `__init__` does not take."""
    names = [f.name for f in dataclasses.fields(value)]
    return {n: _pack(getattr(value, n), f"{path}.{n}", depth + 1) for n in names if hasattr(value, n)}


def _importable(cls: type, value: Any, path: str) -> str:
    if "<locals>" in cls.__qualname__:
        raise refused(value, path, "its class is local to a function, so no other process can find it")
    return class_path(cls)


def _datetime_out(value: datetime) -> list[Any]:
    zone = getattr(value.tzinfo, "key", None)
    return [value.isoformat(), value.fold, zone]


def _datetime_in(parts: list[Any]) -> datetime:
    text, fold, zone = parts
    value = datetime.fromisoformat(text).replace(fold=fold)
    if zone is None:
        return value
    from zoneinfo import ZoneInfo

    return value.replace(tzinfo=ZoneInfo(zone))


_SIMPLE: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    datetime: (_datetime_out, _datetime_in),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    timedelta: (
        lambda v: [v.days, v.seconds, v.microseconds],
        lambda p: timedelta(days=p[0], seconds=p[1], microseconds=p[2]),
    ),
    Decimal: (str, Decimal),
    UUID: (lambda v: v.hex, UUID),
    bytes: (lambda v: base64.b64encode(v).decode(), base64.b64decode),
    bytearray: (lambda v: base64.b64encode(v).decode(), lambda p: bytearray(base64.b64decode(p))),
    complex: (lambda v: [v.real, v.imag], lambda p: complex(*p)),
}
_BY_TAG: dict[str, Callable[[Any], Any]] = {kind.__name__.lower(): pair[1] for kind, pair in _SIMPLE.items()}
_BY_TAG |= {"int": int, "float": float}


def _unpack(value: Any, path: str) -> Any:
    if type(value) is list:
        return [_unpack(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if type(value) is not dict:
        return value
    if TAG not in value:
        return {k: _unpack(v, f"{path}.{k}") for k, v in value.items()}
    parts = value[TAG]
    if len(value) != 1 or not isinstance(parts, list) or len(parts) < 3:
        raise _unknown(path, value)
    kind, version, *rest = parts
    if version != VERSION:
        raise _unknown(path, f"{kind} of version {version}")
    return _unpack_tagged(kind, rest, path)


def _unpack_tagged(kind: Any, rest: list[Any], path: str) -> Any:
    if kind in _BY_TAG:
        return _BY_TAG[kind](rest[0])
    if kind == "dict":
        return {_unpack(k, f"{path}.<key>"): _unpack(v, f"{path}.{k}") for k, v in rest[0]}
    if kind in ("tuple", "set", "frozenset"):
        items = [_unpack(item, f"{path}[{i}]") for i, item in enumerate(rest[0])]
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](items)
    if kind in ("enum", "dataclass", "pydantic"):
        cls = find_class(rest[0], path)
        return _UNPACK_CLASS[kind](cls, rest[1:], path)
    raise _unknown(path, kind)


def _unpack_enum(cls: Any, rest: list[Any], path: str) -> Any:
    try:
        return cls[rest[0]]
    except KeyError:
        raise NotStorable(
            "snapshot.enum_member_gone",
            f"expected {class_path(cls)} to have the member {rest[0]!r} stored at {path}; it was renamed or removed",
        ) from None


def _unpack_dataclass(cls: Any, rest: list[Any], path: str) -> Any:
    stored = {k: _unpack(v, f"{path}.{k}") for k, v in rest[0].items()}
    known = {f.name for f in dataclasses.fields(cls)}
    if extra := stored.keys() - known:
        raise NotStorable(
            "snapshot.fields_changed",
            f"expected {class_path(cls)} at {path} to have the stored fields {sorted(extra)}; the class has changed",
        )
    made = object.__new__(cls)
    for name, item in stored.items():
        object.__setattr__(made, name, item)
    _fill_new_fields(made, cls, known - stored.keys(), path)
    return made


def _fill_new_fields(made: Any, cls: Any, names: set[str], path: str) -> None:
    """Defaults for fields that the class got after the value was stored."""
    for f in dataclasses.fields(cls):
        if f.name not in names:
            continue
        if f.default is not dataclasses.MISSING:
            object.__setattr__(made, f.name, f.default)
        elif f.default_factory is not dataclasses.MISSING:
            object.__setattr__(made, f.name, f.default_factory())
        else:
            raise NotStorable(
                "snapshot.fields_changed",
                f"expected the stored value at {path} to have the field {f.name!r} that {class_path(cls)} now needs",
            )


def _unpack_pydantic(cls: Any, rest: list[Any], path: str) -> Any:
    fields = {k: _unpack(v, f"{path}.{k}") for k, v in rest[0].items()}
    return cls.model_construct(_fields_set=set(rest[1]), **fields)


_UNPACK_CLASS: dict[str, Callable[[Any, list[Any], str], Any]] = {
    "enum": _unpack_enum,
    "dataclass": _unpack_dataclass,
    "pydantic": _unpack_pydantic,
}


def _unknown(path: str, what: Any) -> NotStorable:
    return NotStorable(
        "snapshot.unknown_tag",
        f"expected a type that this version of tracekit knows at {path}, got {what!r}; "
        "it was stored by a newer version: upgrade tracekit on this machine",
    )
