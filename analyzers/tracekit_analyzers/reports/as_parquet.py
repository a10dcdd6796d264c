"""Parquet: the rows of the CSV with their types."""

from __future__ import annotations

import io
from typing import BinaryIO

import polars

from tracekit_analyzers.reports.as_csv import COLUMNS, rows
from tracekit_analyzers.reports.result import Result

_TYPES: dict[str, type[polars.DataType]] = {
    "steps": polars.Int64,
    "primary": polars.Boolean,
    "confidence": polars.Float64,
    "recovered": polars.Boolean,
    "failed_seq": polars.Int64,
    "cause_seq": polars.Int64,
    "trace_index": polars.Int64,
    "line": polars.Int64,
    "index": polars.Int64,
}


def frame(result: Result) -> polars.DataFrame:
    """One row for each diagnosis, and one for each trace without any."""
    schema = {name: _TYPES.get(name, polars.String) for name in COLUMNS}
    return polars.DataFrame(list(rows(result)), schema=schema, orient="row")


def write(result: Result, out: BinaryIO) -> None:
    """A Parquet file, compressed with zstd."""
    buffer = io.BytesIO()
    frame(result).write_parquet(buffer, compression="zstd")
    out.write(buffer.getvalue())
