"""
How rows become column values and come back: one table per row class, each row with a checksum.

The checksum covers the values as they are stored, so damage is found before anything is unsealed or parsed, and
in every column alike. SQLite and PostgreSQL hold the same values: text, 64-bit integers and floats.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from typing import Any, Generic, TypeVar, cast, get_args, get_type_hints

import orjson

from tracekit.errors import TracekitError
from tracekit.store.claims import ClaimRow
from tracekit.store.rows import (
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


def _writer(kind: Any) -> Callable[[Any], Value]:
    """Makes a column value of one that is not None; raises ValueError for what would come back otherwise."""
    if kind is str:
        return _text
    if kind is float:
        return _number
    if kind is int or kind is bool:
        return _integer
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: str(kind(value).value)
    return lambda value: orjson.dumps(value).decode()


def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """Makes the value of a field from that of a column; None when they are the same."""
    if kind in (str, int, float):
        return None
    if kind is bool:
        return bool
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return lambda value: tuple(orjson.loads(value))


def _text(value: str) -> str:
    """Both databases hold UTF-8; PostgreSQL has no NUL."""
    if "\0" in value or not (value.isascii() or _is_utf8(value)):
        raise ValueError("expected text without NUL and lone surrogates")
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value!r}")
    return float(value) + 0.0  # -0.0 comes back from SQLite as 0.0, which would look like damage


def _integer(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"expected an integer of 64 bits, got {value!r}")
    return int(value)


@dataclass(frozen=True)
class Table(Generic[Row]):
    """One table: its row class, its columns in order, and which of them are bodies that may be sealed."""

    name: str
    row_type: type[Row]
    label: tuple[str, ...]
    """Columns that say to a person which row it is."""
    bodies: frozenset[str] = frozenset()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the row's fields; the checksum comes after them."""
        return tuple(field.name for field in fields(cast(Any, self.row_type)))

    @cached_property
    def _kinds(self) -> tuple[Any, ...]:
        hints = get_type_hints(self.row_type)
        return tuple(_kind(hints[column]) for column in self.columns)

    @cached_property
    def _writers(self) -> tuple[tuple[str, Callable[[Any], Value], bool], ...]:
        return tuple(
            (column, _writer(kind), column in self.bodies)
            for column, kind in zip(self.columns, self._kinds, strict=True)
        )

    @cached_property
    def _readers(self) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
        """Only of the columns that have to be converted."""
        found = ((place, _reader(kind)) for place, kind in enumerate(self._kinds))
        return tuple((place, reader) for place, reader in found if reader is not None)

    @cached_property
    def _body_places(self) -> tuple[int, ...]:
        return tuple(place for place, column in enumerate(self.columns) if column in self.bodies)

    def params(self, row: Row, bodies: Bodies) -> dict[str, Value]:
        """Column values of *row* by name, bodies sealed where that is wanted, and `crc` over them all."""
        params: dict[str, Value] = {}
        column = ""
        try:
            for column, write, is_body in self._writers:
                value = getattr(row, column)
                if value is not None:
                    value = write(value)
                    if is_body:
                        value = bodies.write_text(str(value))
                params[column] = value
        except ValueError as error:
            raise TracekitError("store.bad_value", f"{self.name}.{column}: {error}") from error
        params["crc"] = checksum(list(params.values()))
        return params

    def row(self, values: Sequence[Any], bodies: Bodies) -> Row:
        """The row behind *values*, which end with the checksum; `store.damaged` with its place when they differ."""
        *plain, _ = values
        try:
            if not intact(values):
                raise ValueError("its checksum does not match")
            for place in self._body_places:
                if plain[place] is not None:
                    plain[place] = bodies.read_text(plain[place])
            for place, read in self._readers:
                if plain[place] is not None:
                    plain[place] = read(plain[place])
            return self.row_type(*plain)
        except (ValueError, TypeError) as error:
            raise damaged(self, dict(zip(self.columns, values, strict=False)), error) from error


def intact(values: Sequence[Any]) -> bool:
    """Whether *values*, which end with the checksum, are those that were stored."""
    *plain, crc = values
    try:
        return bool(checksum(plain) == crc)
    except TypeError:
        # What was text may be bytes that are none.
        return False


def checksum(values: Sequence[Any]) -> int:
    """CRC-32 of *values*, which are text, integers, floats or None."""
    return zlib.crc32(orjson.dumps(values))


def damaged(table: Table[Any], found: Mapping[str, Any], cause: Exception | str) -> TracekitError:
    """The error for one row that can't be trusted; nothing of it is handed out."""
    place = ", ".join(f"{column} {found.get(column)!r}" for column in table.label)
    return TracekitError(
        "store.damaged",
        f"expected an intact {table.name} row at {place}, but {cause}; nothing of it was loaded. "
        "Copy the store away, then restore it from a backup. Under a new id the task would do all its effects anew: look at "
        "the services behind them before you start it so",
    )


TASK = Table("task", TaskRow, ("task_id",), frozenset({"goal", "plan", "error"}))
STEP = Table("step", StepRow, ("task_id", "place"), frozenset({"error"}))
EFFECT = Table("effect", EffectRow, ("task_id", "place", "key"), frozenset({"error", "server_ref"}))
REVIEW = Table("review", ReviewRow, ("task_id", "place", "review_id"), frozenset({"panel"}))
CLAIM = Table("review_claim", ClaimRow, ("task_id", "review_id"))
COMPENSATION = Table("compensation", CompensationRow, ("task_id", "ord"), frozenset({"error"}))
DECISION = Table("decision", DecisionRow, ("task_id", "place", "rule_id"), frozenset({"evidence"}))
EVENT = Table("event", EventRow, ("task_id", "seq", "place"), frozenset({"body"}))
WORKER = Table("worker", WorkerRow, ("worker_id",))

TABLES: tuple[Table[Any], ...] = (TASK, STEP, EFFECT, REVIEW, CLAIM, COMPENSATION, DECISION, EVENT, WORKER)
