"""An analysis from Python: the tables of `tables.py` as Polars frames, and every report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import polars

from tracekit.errors import TracekitError
from tracekit_analyzers import tables
from tracekit_analyzers.asking import console
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.reports import FORMATS, form_by_name, one_table, writer
from tracekit_analyzers.reports.result import Result, of
from tracekit_analyzers.reports.whole_file import whole_file
from tracekit_analyzers.verdicts import groups
from tracekit_analyzers.verdicts.judging import Judge

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


def analyze(
    paths: Paths,
    *,
    reader: str | None = None,
    baseline: str | PathLike[str] | None = None,
    judge: Judge | None = None,
) -> Findings:
    """
    What failed in the logs at *paths*, and why.

    Args:
        paths: A file, folder or pattern, or several of them.
        reader: Name of the reader for all files; by default each file is asked which format it is.
        baseline: An earlier JSON report, or logs: `groups` then says what is `new`.
        judge: Asked about the runs that the rules leave open (`tracekit_analyzers.verdicts.judging`).

    Raises:
        TracekitError: `input.*` for what can't be read, `reader.unknown`, `baseline.too_old`.
    """
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    known = None if baseline is None else groups.read_baseline(Path(baseline))
    engine = Engine([str(path) for path in given], reader=reader)
    try:
        engine.load()
        return Findings(engine, replace(of(engine, judge=judge), baseline=known))
    except BaseException:
        engine.close()
        raise


class Findings:
    """
    One analysis; frames are made when they are first asked for, and kept.

    It holds a database and a temporary folder until `close`, or the end of a `with` block. Frames stay good after it.
    Columns: `schema` of each frame, docs/analysis.md; times are aware, in UTC; `input`, `output`, `attributes`, `evidence`
    are JSON text.
    """

    def __init__(self, engine: Engine, result: Result) -> None:
        self._engine, self.result = engine, result
        self._folder = Workplace()

    @property
    def traces(self) -> tuple[TraceVerdict, ...]:
        """The verdicts as values, with evidence and resumable points, in the order of the log."""
        return self.result.traces

    @cached_property
    def runs(self) -> polars.DataFrame:
        """One row for each run: how it ended, its primary verdict, where it may go on."""
        return tables.frame("runs", self.result)

    @cached_property
    def diagnoses(self) -> polars.DataFrame:
        """One row for each diagnosis, also of errors that the agent got over."""
        return tables.frame("diagnoses", self.result)

    @cached_property
    def groups(self) -> polars.DataFrame:
        """One row for each group of like failures, those in most runs first."""
        return tables.frame("groups", self.result)

    @cached_property
    def damage(self) -> polars.DataFrame:
        """One row for each piece of a file that could not be kept, or only in part."""
        return tables.frame("damage", self.result)

    @cached_property
    def steps(self) -> polars.DataFrame:
        """One row for each step, whole; `scan("steps")` where that is more than fits into memory."""
        return tables.frame("steps", self.result)

    @cached_property
    def calls(self) -> polars.DataFrame:
        """One row for each tool call, as asked and as received."""
        return tables.frame("calls", self.result)

    def scan(self, name: str) -> polars.LazyFrame:
        """Table *name*, read lazily from a file that is there until `close`: only the columns and rows that a query needs."""
        if name not in tables.NAMES:
            raise TracekitError(
                "table.unknown", f"there is no table {name!r}; tables are {', '.join(tables.NAMES)}"
            )
        path = Path(self._folder.name) / f"{name}.parquet"
        if not path.exists():
            part = path.with_suffix(".part")
            one_table.to_parquet(name, self.result, part)
            part.rename(path)
        return polars.scan_parquet(path)

    def sql(self, query: str) -> polars.DataFrame:
        """What one reading statement over the relations gives; raises `TracekitError("sql.*")`."""
        cursor = self._engine.con.cursor()
        try:
            with console.reading(cursor, query):
                return tables.queried(cursor, query)
        finally:
            cursor.close()

    def report(self, path: str | PathLike[str], *, format: str | None = None) -> None:
        """Write a whole report to *path*: by the end of its name `.html`, `.json`, `.jsonl`, `.csv`, `.parquet`, JUnit as `.xml`."""
        target = Path(path)
        form = format or form_by_name(target.name)
        if form not in FORMATS:
            raise TracekitError(
                "report.format",
                f"can't tell the form of {str(path)!r}: say format={' or '.join(map(repr, FORMATS))}",
            )
        with whole_file(target) as out:
            writer(form)(self.result, out)

    def close(self) -> None:
        """Let go of the database and the temporary files."""
        self._engine.close()
        self._folder.cleanup()

    def __enter__(self) -> Findings:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
