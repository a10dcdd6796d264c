"""Rows under the names of their columns, in each text form that holds a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import IO, Any, BinaryIO

import orjson

from tracekit_analyzers.reports import text
from tracekit_analyzers.reports.as_csv import safe

Row = Sequence[Any]

_LONGEST = 1_000
_KEPT = ("code", "status", "kind")
_PLAIN = frozenset((type(None), str, bool, float))
_MOST_INTEGER = (1 << 63) - 1


def as_json(value: Any) -> Any:
    """A cell as JSON has it: times as RFC 3339 in UTC (one without a zone is UTC), numbers of any size as numbers."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        return value if -_MOST_INTEGER <= value <= _MOST_INTEGER else orjson.Fragment(str(value))
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {str(name): as_json(item) for name, item in value.items()}
    return str(value)


def as_cell(value: Any) -> Any:
    """A cell as text files have it: lists and objects as JSON."""
    if isinstance(value, list | tuple | dict):
        return orjson.dumps(as_json(value)).decode()
    return as_json(value) if isinstance(value, datetime) else value


def write_csv(columns: Sequence[str], rows: Iterable[Row], out: BinaryIO) -> None:
    """A head line, then the rows; a text that a spreadsheet would run as a formula has an apostrophe in front."""
    target = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows([safe(as_cell(value)) for value in row] for row in rows)
    target.detach()


def write_lines(columns: Sequence[str], rows: Iterable[Row], out: BinaryIO) -> None:
    """One JSON object a line."""
    names = _apart(columns)
    for row in rows:
        out.write(_object(names, row) + b"\n")


def write_json(columns: Sequence[str], rows: Iterable[Row], out: BinaryIO) -> None:
    """A list of JSON objects, each on a line of its own."""
    names = _apart(columns)
    out.write(b"[")
    for place, row in enumerate(rows):
        out.write((b",\n" if place else b"\n") + _object(names, row))
    out.write(b"\n]\n")


def _object(names: Sequence[str], row: Row) -> bytes:
    return orjson.dumps({name: as_json(value) for name, value in zip(names, row, strict=True)})


def _apart(columns: Sequence[str]) -> list[str]:
    """*columns* with a number behind each name that stood before: an object holds each name once."""
    names: list[str] = []
    for column in columns:
        name, number = column, 0
        while name in names or (number and name in columns):
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def grid(columns: Sequence[str], rows: Sequence[Row], out: IO[Any]) -> Iterator[str]:
    """Rows as lines for a person who looks at *out*, numbers at the right of their columns, as wide as a terminal allows."""
    numbers = _columns_of(rows, _is_number)
    return text.grid(
        columns,
        [[_shown(value) for value in row] for row in rows],
        right=numbers,
        keep={*numbers, *(place for place, column in enumerate(columns) if column in _KEPT)},
        late=_columns_of(rows, lambda value: isinstance(value, datetime)),
        room=text.terminal_columns(out),
        colours=text.colours_wanted(out),
    )


def _columns_of(rows: Sequence[Row], is_one: Callable[[Any], bool]) -> set[int]:
    """Places of the columns that hold nothing else, but for empty cells."""
    places = range(len(rows[0])) if rows else range(0)
    return {place for place in places if all(row[place] is None or is_one(row[place]) for row in rows)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.2f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    # Longer ones are cut anyway, and making control codes visible costs time.
    return text.visible(str(as_cell(value))[:_LONGEST])


WRITERS: dict[str, Callable[[Sequence[str], Iterable[Row], BinaryIO], None]] = {
    "csv": write_csv,
    "json": write_json,
    "jsonl": write_lines,
}
"""Forms for programs, and what writes them."""
