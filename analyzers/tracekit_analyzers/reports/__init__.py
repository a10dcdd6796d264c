"""The forms in which an analysis leaves the program; each module writes one of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
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


BY_END = {
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".xml": "junit",
}
"""The form of a report by the end of its file's name."""


def form_by_name(name: str) -> str | None:
    """The form of a report in a file called *name*; None when its end does not tell."""
    return BY_END.get(PurePath(name).suffix.lower())


def writer(name: str) -> Writer:
    """The function that writes format *name*."""
    module = import_module(f"tracekit_analyzers.reports.{FORMATS[name]}")
    made: Writer = module.write_lines if name == "jsonl" else module.write
    return made
