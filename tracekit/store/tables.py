"""
How rows become column values and come back: one table per row class, each row with a checksum.

The checksum covers the values as they are stored, so damage is found before anything is unsealed or parsed, and
in every column alike. SQLite and PostgreSQL hold the same values: text, 64-bit integers and floats.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import orjson

from tracekit.errors import TracekitError
from tracekit.store.contract import (
    CompensationRow,
    DecisionRow,
    EffectRow,
    EventRow,
    ReviewRow,
    StepRow,
    TaskRow,
    WorkerRow,
)
from tracekit.store.sealed import Bodies

Row = TypeVar("Row")
Value = str | int | float | None


def _kind(hint: Any) -> Any:
    """The one type of a column, without `| None`."""
    options = [option for option in get_args(hint) if option is not type(None)]
    return options[0] if options and type(None) in get_args(hint) else hint


def _stored(value: Any, kind: Any, where: str) -> Value:
    """*value* as a column holds it; refuses what a column would hold differently from what it is given."""
    if value is None:
        return None
    if kind is str:
        return _storable_text(str(value), where)
    if kind is float:
        if not math.isfinite(value):
            raise TracekitError("store.bad_value", f"{where}: expected a finite number, got {value!r}")
        return float(value) + 0.0  # -0.0 comes back from SQLite as 0.0, which would look like damage
    if kind is int or kind is bool:
        if not -(2**63) <= value < 2**63:
            raise TracekitError("store.bad_value", f"{where}: expected an integer of 64 bits, got {value!r}")
        return int(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return str(kind(value).value)
    return orjson.dumps(value).decode()


def _storable_text(text: str, where: str) -> str:
    """*text* if both databases can hold it: UTF-8, and no NUL, which PostgreSQL refuses."""
    if "\0" in text or not (text.isascii() or _is_utf8(text)):
        raise TracekitError("store.bad_value", f"{where}: expected text without NUL and lone surrogates")
    return text


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _restored(value: Value, kind: Any) -> Any:
    if value is None or kind is str or kind is int or kind is float:
        return value
    if kind is bool:
        return bool(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return tuple(orjson.loads(str(value)))


@dataclass(frozen=True)
class Table(Generic[Row]):
    """One table: its row class, its columns in order, and which of them are bodies that may be sealed."""

    name: str
    row_type: type[Row]
    label: tuple[str, ...]
    """Columns that say to a person which row it is."""
    bodies: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        hints = get_type_hints(self.row_type)
        columns = tuple(field.name for field in fields(self.row_type))  # type: ignore[arg-type]  # all are dataclasses
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "kinds", tuple(_kind(hints[column]) for column in columns))

    columns: tuple[str, ...] = ()
    kinds: tuple[Any, ...] = ()

    def params(self, row: Row, bodies: Bodies) -> dict[str, Value]:
        """Column values of *row* by name, bodies sealed where that is wanted, and `crc` over them all."""
        params: dict[str, Value] = {}
        for column, kind in zip(self.columns, self.kinds, strict=True):
            value = _stored(getattr(row, column), kind, f"{self.name}.{column}")
            if column in self.bodies and isinstance(value, str):
                value = bodies.write_text(value)
            params[column] = value
        params["crc"] = checksum(list(params.values()))
        return params

    def row(self, values: Sequence[Any], bodies: Bodies) -> Row:
        """The row behind *values*, which end with the checksum; `store.damaged` with its place when they differ."""
        *stored, crc = values
        try:
            if checksum(stored) != crc:
                raise ValueError("its checksum does not match")
            plain = {
                column: _restored(
                    bodies.read_text(value) if column in self.bodies and value is not None else value, kind
                )
                for column, kind, value in zip(self.columns, self.kinds, stored, strict=True)
            }
            return self.row_type(**plain)
        except (ValueError, TypeError) as error:
            raise damaged(self, dict(zip(self.columns, stored, strict=False)), error) from error


def checksum(values: Sequence[Any]) -> int:
    """CRC-32 of *values*, which are text, integers, floats or None."""
    return zlib.crc32(orjson.dumps(values))


def damaged(table: Table[Any], found: Mapping[str, Any], cause: Exception | str) -> TracekitError:
    """The error for one row that can't be trusted; nothing of it is handed out."""
    place = ", ".join(f"{column} {found.get(column)!r}" for column in table.label)
    return TracekitError(
        "store.damaged",
        f"expected an intact {table.name} row at {place}, but {cause}; nothing of it was loaded. "
        "Copy the store away, then restore it from a backup or start the task again under a new id",
    )


TASK = Table("task", TaskRow, ("task_id",), frozenset({"goal", "plan", "error"}))
STEP = Table("step", StepRow, ("task_id", "place"), frozenset({"error"}))
EFFECT = Table("effect", EffectRow, ("task_id", "place", "key"), frozenset({"error", "server_ref"}))
REVIEW = Table("review", ReviewRow, ("task_id", "place", "review_id"), frozenset({"panel"}))
COMPENSATION = Table("compensation", CompensationRow, ("task_id", "ord"), frozenset({"error"}))
DECISION = Table("decision", DecisionRow, ("task_id", "place", "rule_id"), frozenset({"evidence"}))
EVENT = Table("event", EventRow, ("task_id", "seq", "place"), frozenset({"body"}))
WORKER = Table("worker", WorkerRow, ("worker_id",))

TABLES: tuple[Table[Any], ...] = (TASK, STEP, EFFECT, REVIEW, COMPENSATION, DECISION, EVENT, WORKER)
