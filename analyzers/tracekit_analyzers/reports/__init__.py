"""The forms in which an analysis leaves the program; each module writes one of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO

from tracekit_analyzers.reports.result import Result

Writer = Callable[[Result, BinaryIO], None]

FORMATS = {
    "table": "table",
    "json": "as_json",
    "jsonl": "as_json",
    "csv": "as_csv",
    "parquet": "as_parquet",
    "html": "html_report",
    "junit": "as_junit",
}
"""What `--format` takes, and the module of this package that writes it."""


def writer(name: str) -> Writer:
    """The function that writes format *name*."""
    module = import_module(f"tracekit_analyzers.reports.{FORMATS[name]}")
    made: Writer = module.write_lines if name == "jsonl" else module.write
    return made
