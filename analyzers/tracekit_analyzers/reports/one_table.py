"""One table of an analysis (`--table`) in each form that holds a table."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO

import orjson

from tracekit_analyzers import tables
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import statement
from tracekit_analyzers.reports import text
from tracekit_analyzers.reports.as_csv import safe
from tracekit_analyzers.reports.result import Result

_SHOWN = 1_000
_LONGEST = 1_000
_KEPT = ("code", "status", "kind")
_FOR_PEOPLE = {
    "runs": ("trace_id", "task_id", "name", "status", "steps", "started_at", "duration_ms", "tokens", "cost", "code",
             "failed_seq", "cause_seq", "message"),
    "diagnoses": ("trace_id", "failed_seq", "cause_seq", "code", "confidence", "recovered", "tool", "message"),
    "groups": ("traces", "share", "code", "tool", "wording", "lost_ms", "first_seen", "last_seen", "example"),
    "steps": ("trace_id", "seq", "kind", "name", "status", "started_at", "duration_ms", "input", "output_text",
              "error_message"),
    "calls": ("trace_id", "call_id", "name", "asked_seq", "seq", "status", "answered", "asked_arguments", "input", "output"),
}  # fmt: skip
"""Columns that a person at a terminal looks at; every other form has all."""


def _csv(name: str, result: Result, out: BinaryIO) -> None:
    made = tables.rows(name, result)
    target = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow(made.columns)
    lines.writerows([safe(tables.as_cell(value)) for value in row] for row in made.rows)
    target.detach()


def _jsonl(name: str, result: Result, out: BinaryIO) -> None:
    made = tables.rows(name, result)
    for row in made.rows:
        out.write(_object(made.columns, row) + b"\n")


def _json(name: str, result: Result, out: BinaryIO) -> None:
    made = tables.rows(name, result)
    out.write(b"[")
    for place, row in enumerate(made.rows):
        out.write((b",\n" if place else b"\n") + _object(made.columns, row))
    out.write(b"\n]\n")


def _object(columns: tuple[str, ...], row: tuple[Any, ...]) -> bytes:
    return orjson.dumps({column: tables.as_json(value) for column, value in zip(columns, row, strict=True)})


def _parquet(name: str, result: Result, out: BinaryIO) -> None:
    with Workplace() as folder:
        path = Path(folder) / "table.parquet"
        to_parquet(name, result, path)
        with path.open("rb") as made:
            copyfileobj(made, out, 1 << 20)


def to_parquet(name: str, result: Result, path: Path) -> None:
    """Write table *name* to *path*; one of the database is written there piece by piece, however large it is."""
    if name in tables.MADE:
        tables.frame(name, result).write_parquet(path, compression="zstd")
        return
    target = str(path).replace("'", "''")
    tables.database(name, result).execute(
        f"copy ({statement(f'table_{name}')}) to '{target}' (format parquet, compression zstd)"
    )


def _table(name: str, result: Result, out: BinaryIO) -> None:
    made = tables.rows(name, result)
    places = [made.columns.index(column) for column in _FOR_PEOPLE.get(name, made.columns)]
    first = [tuple(row[place] for place in places) for row in islice(made.rows, _SHOWN)]
    total = len(first) + sum(1 for _ in made.rows)
    target = io.TextIOWrapper(out, encoding="utf-8", errors="replace", write_through=True)
    for line in lines([made.columns[place] for place in places], first):
        target.write(line + "\n")
    target.write(
        f"\n{len(first)} of {total} {name}; --format csv has all\n"
        if total > len(first)
        else f"\n{total} {name}\n"
    )
    target.detach()


def lines(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """Rows as lines for a person, numbers at the right of their columns, as wide as the terminal allows."""
    numbers = {
        place
        for place in range(len(columns))
        if rows and all(row[place] is None or _is_number(row[place]) for row in rows)
    }
    return text.grid(
        columns,
        [[_shown(value) for value in row] for row in rows],
        right=numbers,
        keep={*numbers, *(place for place, column in enumerate(columns) if column in _KEPT)},
        room=text.terminal_columns(),
        colours=text.colours_wanted(sys.stdout),
    )


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
    return text.visible(str(tables.as_cell(value))[:_LONGEST])


WRITERS: dict[str, Callable[[str, Result, BinaryIO], None]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
"""Forms that hold one table, and what writes it."""
