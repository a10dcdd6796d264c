"""What the commands share: which files are meant, and a loaded session with a progress bar."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tracekit import config
from tracekit.cli.command import UsageError
from tracekit_analyzers.commands.progress import Bar
from tracekit_analyzers.session import Session
from tracekit_analyzers.views import TraceRow


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add PATH... (the home of this project when there is none) and --reader."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="file, folder, pattern, or - for standard input (default: the tracekit home here)",
    )
    add_reader(parser)


def add_reader(parser: argparse.ArgumentParser) -> None:
    """Add --reader."""
    parser.add_argument(
        "--reader", metavar="NAME", help="read every file with this reader instead of asking the files"
    )


def meant(paths: Sequence[str]) -> list[str]:
    """*paths*, or the home of this project where none is given; raises `UsageError` where it is not there."""
    if paths:
        return list(paths)
    home = config.settings().home
    if not home.exists():
        raise UsageError(
            f"expected a PATH, or a tracekit home at {str(home)!r}, which is not there; name a log, run this where your "
            "agent ran, or set TRACEKIT_HOME"
        )
    return [str(home)]


@contextmanager
def opened(paths: Sequence[str], reader: str | None, *, diagnose: bool = True) -> Iterator[Session]:
    """A loaded session over *paths*, or over the home of this project."""
    bar = Bar()
    session = Session(meant(paths), reader=reader, diagnose=diagnose)
    try:
        session.load(bar)
        bar.clear()
        yield session
    finally:
        bar.clear()
        session.close()


def chosen(session: Session, name: str) -> TraceRow:
    """The trace whose id begins with *name*, or whose task or name it is; raises `UsageError` with others."""
    row = session.trace(name)
    if row is not None:
        return row
    page = session.traces(limit=5)
    known = ", ".join(f"{found.trace_id[:8]} ({found.task_id or found.name})" for found in page.rows)
    raise UsageError(
        f"expected the id, task or name of one trace, got {name!r}; {page.total} traces here, such as {known or 'none'}"
    )
