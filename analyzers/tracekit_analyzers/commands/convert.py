"""`tracekit convert`: write a log as native JSON Lines, OTLP JSON Lines or Parquet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tracekit.cli.command import Command, Exit, UsageError
from tracekit_analyzers.commands.loading import add_reader
from tracekit_analyzers.converting import exports

_BY_END = {".jsonl": "native", ".otlp.jsonl": "otlp", ".parquet": "parquet"}
_WRITERS: dict[str, Callable[[exports.Job], exports.Outcome]] = {
    "native": exports.native,
    "otlp": exports.otlp,
    "parquet": exports.parquet,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("paths", nargs="+", metavar="IN", help="files or folders, then the file to write")
    add_reader(parser)
    parser.add_argument("--format", choices=sorted(_WRITERS), help="default: by the end of OUT's name")


def run(options: argparse.Namespace) -> int:
    """Convert; the last argument is the file to write, which must not exist."""
    *paths, out = options.paths
    if not paths:
        raise UsageError("expected IN and OUT, such as: tracekit convert run.json run.jsonl")
    target = Path(out)
    if target.exists():
        raise UsageError(f"{out} exists already: name a file that does not")
    form = options.format or next(
        (name for end, name in reversed(_BY_END.items()) if out.endswith(end)), None
    )
    if form is None:
        raise UsageError(f"can't tell the format of {out!r}: say --format native, otlp or parquet")
    # Written beside and renamed, so that nobody takes half a file for a whole one.
    with TemporaryDirectory(prefix=".tracekit-", dir=target.parent) as folder:
        part = Path(folder) / target.name
        outcome = _WRITERS[form](exports.Job(paths, part, options.reader))
        # A copy of a log is as private as the log.
        part.chmod(0o600)
        part.rename(target)
    print(
        f"wrote {outcome.written} {outcome.unit} to {out}; {outcome.bad} bad pieces left out", file=sys.stderr
    )
    if outcome.left_out:
        print(outcome.left_out, file=sys.stderr)
    return Exit.DAMAGE if outcome.bad else Exit.CLEAN


COMMAND = Command("convert", "write a log as native, OTLP or Parquet", configure, run)
