"""
Any Python value as strict JSON for the log: never raises, never changes the value, never cuts in silence.

A value that is plain JSON already is written as it is, without a copy. Only where a part is not plain, or may hold
a secret, the value is walked and a new one is made; parts that JSON lacks become typed markers
(`{"$tk": {"type": ...}}`, see docs/log-format.md).
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Protocol
from uuid import UUID

import orjson

from tracekit.snapshot.classes import (
    LONGEST_INT_BITS,
    MAX_DEPTH,
    class_name,
    is_dataclass_value,
    is_pydantic_class,
)

_MAX_REPR_CHARS = 1_000_000
_INFINITY = float("inf")


class Redact(Protocol):
    """What a walk asks about secrets; `tracekit.redaction.Redactor` is the one in use."""

    def suspects(self, data: bytes) -> bool:
        """Whether JSON *data* may hold a secret: cheap, wrong only by saying yes too often."""

    def key_rule(self, name: str) -> str | None:
        """The rule by which the value under the key *name* is a secret."""

    def text(self, text: str) -> str:
        """*text* with every secret in it replaced; the same object when there is none."""

    def secret(self, rule: str, value: Any) -> Any:
        """The marker that stands for the secret *value*."""


def marker(kind: str, **known: Any) -> dict[str, Any]:
    """The typed marker that stands for a value that is not JSON."""
    return {"$tk": {"type": kind, **known}}


def readable(logged: Any) -> Any:
    """*logged*, a value in the log's form, as a person reads it: each marker that holds a value is that value."""
    if isinstance(logged, list):
        return [readable(item) for item in logged]
    if not isinstance(logged, dict):
        return logged
    known = logged.get("$tk")
    if len(logged) == 1 and isinstance(known, dict):
        held = [known[part] for part in ("value", "fields", "items", "seconds", "base64") if part in known]
        return readable(held[0]) if held else logged
    return {key: readable(item) for key, item in logged.items()}


def log_bytes(value: Any, *, redact: Redact | None = None) -> bytes:
    """*value* as the bytes of one strict JSON value; never raises."""
    data = plain_json(value)
    if data is not None and (redact is None or not redact.suspects(data)):
        return data
    return orjson.dumps(to_log(value, redact=redact))


def plain_json(value: Any) -> bytes | None:
    """*value* as JSON without a copy, or None if a part is not plain JSON and has to be walked."""
    try:
        return orjson.dumps(value) if _plain(value, 0) else None
    except (TypeError, ValueError, RecursionError, RuntimeError):
        return None  # half a surrogate pair, or changed by another thread meanwhile


def to_log(value: Any, *, redact: Redact | None = None) -> Any:
    """*value* as plain JSON values, with typed markers for what JSON lacks and for secrets; never raises."""
    return _Walk(redact).value(value, 0, None)


def _plain(value: Any, depth: int) -> bool:
    """Whether *value* holds only exact JSON types, finite numbers and whole numbers of 64 bits."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-(2**63) <= value < 2**63)
    if kind is float:
        return bool(-_INFINITY < value < _INFINITY)
    if depth >= MAX_DEPTH:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not (type(item) is str or _plain(item, depth + 1)):
                return False
        return True
    if kind is list or kind is tuple:
        return all(type(item) is str or _plain(item, depth + 1) for item in value)
    return False


class _Walk:
    """One walk over one value; remembers the containers that it is inside of, to see a circle."""

    def __init__(self, redact: Redact | None) -> None:
        self.redact = redact
        self.inside: set[int] = set()

    def value(self, value: Any, depth: int, rule: str | None) -> Any:
        """*value* as JSON; *rule* is the secret rule of a key above it, which holds for every scalar below."""
        try:
            return self._value(value, depth, rule)
        except RecursionError:
            return marker("too_deep", **{"class": _safe_class(value)}, depth=depth)
        except Exception as error:
            return marker("unreadable", **{"class": _safe_class(value)}, error=_safe_text(error))

    def _value(self, value: Any, depth: int, rule: str | None) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if rule is not None and self.redact is not None and _is_scalar(value):
            return self.redact.secret(rule, value) if value not in ("", b"") else value
        if kind is str:
            return self.text(value)
        if kind is int:
            return value if -(2**63) <= value < 2**63 else marker("int", value=_int_text(value))
        if kind is float:
            return value if -_INFINITY < value < _INFINITY else marker("float", value=_float_name(value))
        if isinstance(value, bytes | bytearray) and self.redact is not None:
            as_text = value.decode("utf-8", "replace")
            if (marked := self.redact.text(as_text)) is not as_text:
                return marker("bytes", text=marked)
        if (simple := _simple(value)) is not None:
            return simple
        return self._container(value, depth, rule)

    def text(self, value: str) -> Any:
        if self.redact is not None:
            value = self.redact.text(value)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                # half a surrogate pair: exact as a JSON literal in ASCII, readable with a stand-in
                readable = value.encode("utf-8", "replace").decode()
                return marker("text", value=readable, json=json.dumps(value))
        return value

    def _container(self, value: Any, depth: int, rule: str | None) -> Any:
        if depth >= MAX_DEPTH:
            return marker("too_deep", **{"class": _safe_class(value)}, depth=depth)
        if id(value) in self.inside:
            return marker("cycle", **{"class": _safe_class(value)})
        self.inside.add(id(value))
        try:
            return self._open(value, depth + 1, rule)
        finally:
            self.inside.discard(id(value))

    def _open(self, value: Any, depth: int, rule: str | None) -> Any:
        if isinstance(value, list | tuple):
            return self._list(value, depth, rule)
        if isinstance(value, Mapping):
            return self._mapping(value, depth, rule)
        if isinstance(value, set | frozenset):
            items = [self.value(item, depth, rule) for item in value]
            return marker(type(value).__name__, items=sorted(items, key=orjson.dumps))
        if is_dataclass_value(value):
            fields = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
            return self._record("dataclass", value, fields, depth, rule)
        if is_pydantic_class(type(value)):
            fields = {**value.__dict__, **(value.__pydantic_extra__ or {})}
            return self._record("pydantic", value, fields, depth, rule)
        if isinstance(value, BaseException):
            return marker(
                "exception", **{"class": class_name(type(value))}, message=self.text(_safe_text(value))
            )
        return marker("object", **{"class": _safe_class(value)}, repr=self.text(_safe_repr(value)))

    def _record(self, kind: str, value: Any, fields: dict[str, Any], depth: int, rule: str | None) -> Any:
        return marker(kind, **{"class": class_name(type(value))}, fields=self._mapping(fields, depth, rule))

    def _list(self, value: list[Any] | tuple[Any, ...], depth: int, rule: str | None) -> Any:
        if len(value) == 2 and type(value[0]) is str and rule is None:
            # a header as a pair: ("Authorization", "...")
            return [self.text(value[0]), self.value(value[1], depth, self._key_rule(value[0]))]
        return [self.value(item, depth, rule) for item in value]

    def _mapping(self, value: Mapping[Any, Any], depth: int, rule: str | None) -> Any:
        if not all(type(key) is str for key in value):
            return marker("map", items=[self._pair(k, v, depth, rule) for k, v in value.items()])
        if _is_secret_marker(value):
            return dict(value)
        named = self._named_rule(value)
        out: dict[str, Any] = {}
        for key, item in value.items():
            name = key if key.isidentifier() and key.isascii() and len(key) < 20 else self.text(key)
            below = rule or self._key_rule(key) or (named if key == "value" else None)
            out[name if type(name) is str else json.dumps(key)] = self.value(item, depth, below)
        return out

    def _pair(self, key: Any, item: Any, depth: int, rule: str | None) -> list[Any]:
        name = key.decode("latin-1") if isinstance(key, bytes) else key
        below = rule or (self._key_rule(name) if isinstance(name, str) else None)
        return [self.value(key, depth, None), self.value(item, depth, below)]

    def _key_rule(self, name: str) -> str | None:
        return self.redact.key_rule(name) if self.redact is not None else None

    def _named_rule(self, value: Mapping[Any, Any]) -> str | None:
        """The rule for `value` in `{"name": "Authorization", "value": ...}`."""
        name = value.get("name") or value.get("key") if "value" in value else None
        return self._key_rule(name) if type(name) is str else None


def _is_secret_marker(value: Mapping[Any, Any]) -> bool:
    """Whether the value was marked before: a marker is not a secret once more."""
    known = value.get("$tk") if len(value) == 1 else None
    return isinstance(known, Mapping) and known.get("type") == "secret"


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bytes | bytearray | int | float | Decimal | UUID)


def _simple(value: Any) -> dict[str, Any] | str | int | None:
    """The marker of a value without parts, or None when it has parts."""
    if isinstance(value, enum.Enum):
        return marker("enum", **{"class": class_name(type(value))}, name=value.name, value=_enum_value(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return marker("bytes", base64=base64.b64encode(value).decode())
    if isinstance(value, Decimal):
        return marker("decimal", value=str(value))
    if isinstance(value, datetime | date | time):
        return marker(type(value).__name__, value=value.isoformat())
    if isinstance(value, timedelta):
        return marker("timedelta", seconds=value.total_seconds())
    if isinstance(value, UUID):
        return marker("uuid", value=str(value))
    if isinstance(value, complex):
        return marker("complex", value=str(value))
    if isinstance(value, PurePath):
        return marker("path", value=str(value).encode("utf-8", "replace").decode())
    if isinstance(value, str | int | float):
        return _subclass(value)
    return None


def _subclass(value: str | int | float) -> dict[str, Any]:
    """A value of a subclass of a JSON type, with the class kept."""
    base = str if isinstance(value, str) else int if isinstance(value, int) else float
    plain = base.__str__(value) if base is str else base.__repr__(value)
    return marker(
        base.__name__, **{"class": _safe_class(value)}, value=plain.encode("utf-8", "replace").decode()
    )


def _enum_value(value: enum.Enum) -> Any:
    plain = value.value
    return plain if isinstance(plain, str | int | bool) and _plain(plain, 0) else _safe_repr(plain)


def _float_name(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _int_text(value: int) -> str:
    # str() of more than 4,300 digits raises, and takes time that grows with the square
    return str(value) if value.bit_length() <= LONGEST_INT_BITS else hex(value)


def _safe_class(value: Any) -> str:
    try:
        return class_name(type(value))
    except Exception:
        return "unknown"  # a metaclass can make even this fail


def _safe_text(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"<str() of {_safe_class(value)} failed: {_safe_class(error)}>"


def _safe_repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        return f"<repr() of {_safe_class(value)} failed: {_safe_class(error)}>"
    if len(text) <= _MAX_REPR_CHARS:
        return text
    return f"{text[:_MAX_REPR_CHARS]}... <{len(text) - _MAX_REPR_CHARS} more characters of repr()>"
