"""One table of an analysis (`--table`) in each form that holds a table."""

from __future__ import annotations

import io
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO

from tracekit_analyzers import tables
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import statement
from tracekit_analyzers.reports import row_forms, text
from tracekit_analyzers.reports.result import Result

_SHOWN = 1_000
FORMS = ("table", *row_forms.WRITERS, "parquet")
"""Forms that hold one table."""
_FOR_PEOPLE = {
    "runs": ("trace_id", "task_id", "name", "status", "steps", "started_at", "duration_ms", "tokens", "cost", "code",
             "failed_seq", "cause_seq", "message"),
    "diagnoses": ("trace_id", "failed_seq", "cause_seq", "code", "confidence", "recovered", "tool", "message"),
    "groups": ("traces", "share", "code", "tool", "lost_ms", "example", "wording"),
    "steps": ("trace_id", "seq", "kind", "name", "status", "started_at", "duration_ms", "input", "output_text",
              "error_message"),
    "calls": ("trace_id", "call_id", "name", "asked_seq", "seq", "status", "answered", "asked_arguments", "input", "output"),
}  # fmt: skip
"""Columns that a person at a terminal looks at; every other form has all."""
_RUNS = ("trace_id", "example")
"""Columns that name a run."""


def write(name: str, form: str, result: Result, out: BinaryIO) -> None:
    """Write table *name* in one of `FORMS`."""
    if form == "table":
        _table(name, result, out)
    elif form == "parquet":
        _parquet(name, result, out)
    else:
        made = tables.rows(name, result)
        row_forms.WRITERS[form](made.columns, made.rows, out)


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
    columns = _FOR_PEOPLE.get(name, made.columns)
    places = [made.columns.index(column) for column in columns]
    length = _length_of_ids(result, out)
    cut = [length if column in _RUNS else None for column in columns]
    first = [
        tuple(
            row[place][:most] if most and row[place] else row[place]
            for place, most in zip(places, cut, strict=True)
        )
        for row in islice(made.rows, _SHOWN)
    ]
    total = len(first) + sum(1 for _ in made.rows)
    target = io.TextIOWrapper(out, encoding="utf-8", errors="replace", write_through=True)
    for line in row_forms.grid(columns, first, out):
        target.write(line + "\n")
    target.write(
        f"\n{len(first)} of {total} {name}; --format csv has all\n"
        if total > len(first)
        else f"\n{total} {name}\n"
    )
    target.detach()


def _length_of_ids(result: Result, out: BinaryIO) -> int | None:
    """How much of a run's id tells it from all others, for a terminal; None where there is room for all of it."""
    if text.terminal_columns(out) is None:
        return None
    return text.unique_length(trace.trace_id for trace in result.traces)
