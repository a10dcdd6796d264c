"""`tracekit sql`: query a log with SQL, read-only."""

from __future__ import annotations

import argparse
import csv
import sys
from typing import Any

import orjson

from tracekit.cli.command import Command, Exit, UsageError
from tracekit.errors import TracekitError
from tracekit_analyzers.commands.loading import add_reader, opened
from tracekit_analyzers.reports import one_table
from tracekit_analyzers.reports.as_csv import safe
from tracekit_analyzers.shortcuts import quick
from tracekit_analyzers.views import Table

_AFTER_DIAGNOSIS = ("diagnoses", "trace_rows")
"""Relations that only a full diagnosis makes."""
_HINTS = {
    "Table with name": "`show tables` lists the relations, `describe steps` the columns of one",
    "Referenced column": "`describe steps` lists the columns of a relation",
    "Permission Error": "a query sees the relations of the log that was named before it, and no other file",
}
"""What to do next, by what stands in the engine's words."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders, then the query")
    add_reader(parser)
    parser.add_argument("--format", choices=("table", "json", "jsonl", "csv"), default="table")
    parser.add_argument("--limit", type=int, default=1000, metavar="N", help="rows to show (1000)")


def run(options: argparse.Namespace) -> int:
    """Run the query, which is the last argument; one that can't be run is a mistake in the command."""
    try:
        return _run(options)
    except TracekitError as error:
        if not error.code.startswith("sql."):
            raise
        hints = [hint for sign, hint in _HINTS.items() if sign in str(error)]
        raise UsageError("\n".join((str(error), *hints))) from error


def _run(options: argparse.Namespace) -> int:
    *paths, query = options.paths
    if not paths:
        raise UsageError('expected a path and a query, such as: tracekit sql .tracekit "select * from steps"')
    answer = quick.answer(paths, query, reader=options.reader, limit=options.limit)
    if answer is not None:
        _print(answer.table, options.format)
        return _told(answer.damaged)
    diagnose = any(name in query.lower() for name in _AFTER_DIAGNOSIS)
    with opened(paths, options.reader, diagnose=diagnose) as session:
        _print(session.sql(query, limit=options.limit), options.format)
        return _told(session.engine.damage.bad_count)


def _told(damaged: int) -> int:
    if damaged:
        print(f"{damaged} damaged pieces: tracekit analyze lists them", file=sys.stderr)
    return Exit.DAMAGE if damaged else Exit.CLEAN


def _print(table: Table, form: str) -> None:
    if table.total > len(table.rows):
        print(f"{len(table.rows)} of {table.total} rows shown; --limit shows more", file=sys.stderr)
    if form == "csv":
        lines = csv.writer(sys.stdout, lineterminator="\n")
        lines.writerow(table.columns)
        lines.writerows([safe(value) for value in row] for row in table.rows)
    elif form == "table":
        _print_grid(table)
    else:
        _print_json(table, lines=form == "jsonl")


def _print_json(table: Table, *, lines: bool) -> None:
    records: list[dict[str, Any]] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    if lines:
        sys.stdout.writelines(orjson.dumps(record, default=str).decode() + "\n" for record in records)
    else:
        sys.stdout.write(orjson.dumps(records, default=str, option=orjson.OPT_INDENT_2).decode() + "\n")


def _print_grid(table: Table) -> None:
    for line in one_table.lines(table.columns, table.rows):
        print(line)
    if not table.rows:
        print("(no rows)")


COMMAND = Command("sql", "query a log with SQL, read-only", configure, run)
