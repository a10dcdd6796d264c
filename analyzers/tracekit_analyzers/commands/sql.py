"""`tracekit sql`: query a log with SQL, read-only."""

from __future__ import annotations

import argparse
import sys

from tracekit.cli.command import Command, Exit, UsageError
from tracekit.errors import TracekitError
from tracekit_analyzers.commands.loading import add_reader, opened
from tracekit_analyzers.reports import row_forms
from tracekit_analyzers.shortcuts import quick
from tracekit_analyzers.views import Table

_AFTER_DIAGNOSIS = ("diagnoses", "trace_rows")
"""Relations that only a full diagnosis makes."""
_SHOWN = 1_000
_ALL = (1 << 63) - 1
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
    parser.add_argument("--format", choices=("table", *row_forms.WRITERS), default="table")
    parser.add_argument(
        "--limit", type=_limit, metavar="N", help=f"rows to give ({_SHOWN:,} as a table, else all)"
    )


def _limit(given: str) -> int:
    number = int(given)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of rows above 0, got {given}")
    return number


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
    limit = options.limit or (_SHOWN if options.format == "table" else _ALL)
    answer = quick.answer(paths, query, reader=options.reader, limit=limit)
    if answer is not None:
        _print(answer.table, options.format)
        return _told(answer.damaged)
    diagnose = any(name in query.lower() for name in _AFTER_DIAGNOSIS)
    with opened(paths, options.reader, diagnose=diagnose) as session:
        _print(session.sql(query, limit=limit), options.format)
        return _told(session.engine.damage.bad_count)


def _told(damaged: int) -> int:
    if damaged:
        print(f"{damaged} damaged pieces: tracekit analyze lists them", file=sys.stderr)
    return Exit.DAMAGE if damaged else Exit.CLEAN


def _print(table: Table, form: str) -> None:
    if table.total > len(table.rows):
        print(f"{len(table.rows)} of {table.total} rows shown; --limit shows more", file=sys.stderr)
    if form != "table":
        row_forms.WRITERS[form](table.columns, table.rows, sys.stdout.buffer)
        return
    for line in row_forms.grid(table.columns, table.rows, sys.stdout):
        print(line)
    if not table.rows:
        print("(no rows)")


COMMAND = Command("sql", "query a log with SQL, read-only", configure, run)
