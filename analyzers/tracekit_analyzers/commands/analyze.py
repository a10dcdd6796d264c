"""`tracekit analyze`: which step failed and why, in any log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from tracekit.cli.command import Command, Exit, UsageError
from tracekit_analyzers import tables
from tracekit_analyzers.commands.loading import add_paths, meant
from tracekit_analyzers.commands.progress import Bar
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reports import BY_END, FORMATS, form_by_name, one_table, writer
from tracekit_analyzers.reports.result import Result, matching, of
from tracekit_analyzers.reports.whole_file import whole_file
from tracekit_analyzers.verdicts import judging
from tracekit_analyzers.verdicts.groups import read_baseline


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_paths(parser)
    parser.add_argument(
        "--format",
        choices=sorted(FORMATS),
        help="form of the report (by the end of the name of --output, else table)",
    )
    parser.add_argument(
        "--table",
        choices=tables.NAMES,
        help="this table alone, in the form that --format says: table, json, jsonl, csv or parquet",
    )
    parser.add_argument(
        "--fail-on",
        metavar="CODES",
        default="",
        help="exit 1 when one of these families or codes is found (comma between them; any: whatever is found)",
    )
    parser.add_argument(
        "--baseline",
        metavar="PATH",
        help="an earlier JSON report, or logs: tell what is new since then, and let only that count for --fail-on",
    )
    parser.add_argument(
        "--judge",
        metavar="MODULE:NAME",
        help="a callable of yours that may add verdicts, marked as its own, to runs that the rules leave open",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="write the report there instead of to standard output"
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        action="append",
        default=[],
        help="a whole report beside it, its form by the end of its name (.html, .json, .jsonl, .csv, .parquet, JUnit .xml); "
        "may be repeated",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "spark"),
        default="local",
        help="where the work is done: this machine, or Apache Spark (local)",
    )
    parser.add_argument(
        "--master", metavar="URL", help="of Spark, such as spark://host:7077, yarn, k8s://..., local[4]"
    )
    parser.add_argument(
        "--conf", metavar="KEY=VALUE", action="append", default=[], help="a setting of Spark; may be repeated"
    )


def run(options: argparse.Namespace) -> int:
    """Analyse and report; returns the exit code."""
    wanted = [name.strip() for name in options.fail_on.split(",") if name.strip()]
    unknown = _unknown(wanted, has_judge=options.judge is not None)
    if options.format is None:
        options.format = (options.output and form_by_name(options.output)) or "table"
    if options.table is not None and options.format not in one_table.FORMS:
        raise UsageError(
            f"--table is for --format {', '.join(one_table.FORMS)}: {options.format} is a whole report"
        )
    for name in options.report:
        form_of(name)
    baseline = None if options.baseline is None else _baseline(options.baseline)
    bar = Bar()
    with ExitStack() as stack:
        try:
            result = _on_spark(options, bar) if options.engine == "spark" else _here(options, bar, stack)
        finally:
            bar.clear()
        result = replace(result, baseline=baseline)
        for name in options.report:
            with _target(name, form_of(name)) as out:
                writer(form_of(name))(result, out)
        with _target(options.output, options.format) as out:
            _write(result, options, out)
    _tell_unmet(unknown, result)
    return exit_code(result, wanted)


def _tell_unmet(unknown: set[str], result: Result) -> None:
    """Say which gates may be misspelt: no class is called so, and the judge has not said it either."""
    said = {
        name for trace in result.traces for found in trace.diagnoses for name in (found.code, found.family)
    }
    for name in sorted(unknown - said):
        print(f"--fail-on: no class is called {name!r}, and the judge said it of no run", file=sys.stderr)


def form_of(name: str) -> str:
    """The form of a report by the end of its *name*."""
    form = form_by_name(name)
    if form is None:
        raise UsageError(f"--report: can't tell the form of {name!r}: it ends in none of {', '.join(BY_END)}")
    return form


def _write(result: Result, options: argparse.Namespace, out: BinaryIO) -> None:
    if options.table is None:
        writer(options.format)(result, out)
    else:
        one_table.write(options.table, options.format, result, out)


def _here(options: argparse.Namespace, bar: Bar, stack: ExitStack) -> Result:
    if options.master or options.conf:
        raise UsageError("--master and --conf are for --engine spark")
    judge = None if options.judge is None else judging.named(options.judge)
    engine = stack.enter_context(Engine(meant(options.paths), reader=options.reader, tell=bar))
    engine.load()
    return of(engine, judge=judge)


def _baseline(given: str) -> frozenset[str]:
    path = Path(given)
    if not path.exists():
        raise UsageError(f"--baseline: expected a JSON report or logs, found nothing at {given!r}")
    return read_baseline(path)


def _on_spark(options: argparse.Namespace, bar: Bar) -> Result:
    from tracekit_analyzers.spark.cluster import analyze

    judge = None if options.judge is None else judging.named(options.judge)
    conf = {}
    for setting in options.conf:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--conf: expected KEY=VALUE, got {setting!r}")
        conf[name] = value
    return analyze(
        meant(options.paths), master=options.master, conf=conf, reader=options.reader, judge=judge, tell=bar
    )


def exit_code(result: Result, wanted: list[str]) -> int:
    """Failures that match come before damage: a build that asked for them has to see them."""
    if matching(result, wanted):
        return Exit.FAILURES
    return Exit.DAMAGE if result.bad_count else Exit.CLEAN


@contextmanager
def _target(output: str | None, form: str) -> Iterator[BinaryIO]:
    """Where the report goes."""
    if output is None:
        if form == "parquet" and sys.stdout.isatty():
            raise UsageError("Parquet is no text: name a file with --output, or send it into a pipe")
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    try:
        with whole_file(Path(output)) as out:
            yield out
    except OSError as error:
        raise UsageError(f"can't write {output}: {error.strerror or error}") from error


def _unknown(wanted: list[str], *, has_judge: bool) -> set[str]:
    """Names of *wanted* that no class has; a misspelt gate would be open for ever, so only a judge may make such ones up."""
    from tracekit_analyzers.failures import classes

    codes = {kind.code for kind in classes()}
    known = codes | {code.partition(".")[0] for code in codes} | {"any"}
    unknown = set(wanted) - known
    if unknown and not has_judge:
        raise UsageError(
            f"--fail-on: there is no class {min(unknown)!r}; families are {', '.join(sorted(known - codes))}"
        )
    return unknown


COMMAND = Command("analyze", "which step failed and why, in any log", configure, run)
