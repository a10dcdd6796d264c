"""CSV: one row for each diagnosis, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import BinaryIO

from tracekit_analyzers.model import Source, TraceVerdict
from tracekit_analyzers.reports.result import Result

COLUMNS = (
    "trace_id", "task_id", "name", "status", "steps", "primary", "code", "family", "confidence", "recovered", "retry",
    "failed_step", "failed_seq", "cause_step", "cause_seq", "rule", "message", "file", "trace_index", "line", "index",
)  # fmt: skip
_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")
Value = str | int | float | bool | None


def write(result: Result, out: BinaryIO) -> None:
    """A head line, then the rows; a trace without a diagnosis has one row with empty cells."""
    target = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows([safe(value) for value in row] for row in rows(result))
    target.detach()


def safe(value: Value) -> Value:
    """*value*, with an apostrophe in front of a text that a spreadsheet would run as a formula, and ends of lines as one code."""
    if not isinstance(value, str):
        return value
    # The csv module does not quote a carriage return, at which a spreadsheet begins a new row.
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_BEGINS_FORMULA) else text


def rows(result: Result) -> Iterator[tuple[Value, ...]]:
    """The rows of the table, in the order of `COLUMNS`."""
    for trace in result.traces:
        yield from _of_trace(trace)


def _of_trace(trace: TraceVerdict) -> Iterator[tuple[Value, ...]]:
    head = (trace.trace_id, trace.task_id, trace.name, trace.status, trace.steps)
    file = (trace.source.file, trace.source.trace_index)
    if not trace.diagnoses:
        none = (None,) * (len(COLUMNS) - len(head) - len(file) - 2)
        yield (*head, *none, *file, None, None)
    for place, found in enumerate(trace.diagnoses):
        source = found.source or Source(trace.source.file)
        yield (
            *head, place == trace.primary, found.code, found.family, found.confidence, found.recovered, str(found.retry),
            found.failed_step, found.failed_seq, found.cause_step, found.cause_seq, found.rule, found.message,
            *file, source.line, source.index,
        )  # fmt: skip
