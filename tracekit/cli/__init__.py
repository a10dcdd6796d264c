"""
The command `tracekit`: finds the sub-command, runs it, turns errors into words and an exit code.

Commands of the core live beside this file; those of the extras come through the entry-point group
`tracekit.commands`, and only the one asked for is loaded.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

from tracekit import __version__
from tracekit.cli.command import Command, Exit, UsageError
from tracekit.config import configure
from tracekit.errors import Divergence, RequiresReview, TracekitError

CORE = {
    "ls": "tasks in the store, and with --stuck those that nobody will pick up",
    "plan": "what recovering a task would do; changes nothing",
    "resume": "go on with a task from where it broke",
    "fork": "a new task with what another one finished before a step",
    "review": "questions that wait for a person: list, show, claim, decide",
    "worker": "take tasks from a store and run them",
    "collect": "receive OTLP over HTTP on loopback and write the log",
    "prune": "remove what retention allows from a store",
    "backup": "copy a SQLite store whole, beside running workers",
    "doctor": "check the installation, the store and the log folder",
}
"""Command name to help; the module of the same name in this package defines COMMAND."""

EXTRAS = {
    "demo": ("analyzers", "run the refund example: killed, diagnosed, resumed"),
    "analyze": ("analyzers", "which step failed and why, in any log"),
    "show": ("analyzers", "one trace, step by step"),
    "checkpoints": ("analyzers", "where a trace may go on"),
    "diff": ("analyzers", "two traces side by side"),
    "sql": ("analyzers", "query a log with SQL, read-only"),
    "convert": ("analyzers", "write a log as native, OTLP or Parquet"),
    "audit": ("analyzers", "is this log fit for diagnosis and recovery; does it hold secrets"),
    "tui": ("tui", "the terminal explorer"),
}
"""Command name to the extra that brings it, and help."""


_OUTSIDE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
    }
)
"""What a machine refuses: no right, no room, no more open files."""

_EXITS = (
    "Exit codes: 0 clean; 1 failures that --fail-on names, secrets found, or a task that ended with its own exception; "
    "2 wrong usage; 3 read with damage; 4 not there, not to be read, or refused: nothing was changed; 5 waits for a "
    "person; 70 a defect of tracekit. To begin: tracekit demo."
)

_WITH_TASKS = ("demo", "tui")
"""Commands that may run an agent, in which a signal means something else."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _take_any_character()
    try:
        code = _run(arguments)
        _flush()
        return code
    except UsageError as error:
        return _fail(str(error), Exit.USAGE)
    except RequiresReview as error:
        return _fail(str(error), Exit.WAITING)
    except Divergence as error:
        return _fail(f"{error} [{error.code}]", Exit.WAITING)
    except TracekitError as error:
        return _fail(f"{error} [{error.code}]", Exit.UNREADABLE)
    except BrokenPipeError:
        # The reader of our output, such as `head`, has left: not an error of ours.
        _leave_stdout()
        return Exit.CLEAN
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OUTSIDE:
            return _of_the_machine(error)
        # Python's own exit code for this is 1, which a gate would take for failures that were found.
        traceback.print_exc()
        return _fail(
            f"an error of tracekit itself, not of what you gave it: {type(error).__name__}", Exit.INTERNAL
        )


def _take_any_character() -> None:
    """Show what the locale of the terminal has no sign for by its number, instead of ending there."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Write what stdout holds, so that a failure is told here and not by Python at exit."""
    if sys.stdout is not None:  # closed by whoever started us
        sys.stdout.flush()


def _leave_stdout() -> None:
    """Let what is still in the buffer go nowhere: written at exit, it would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _of_the_machine(error: OSError) -> int:
    try:
        _flush()
    except OSError:
        _leave_stdout()
    where = "the output can't be written" if error.filename is None else os.fsdecode(error.filename)
    return _fail(f"{where}: {error.strerror}", Exit.UNREADABLE)


def _run(arguments: list[str]) -> int:
    name = next((word for word in arguments if not word.startswith("-")), None)
    parser = argparse.ArgumentParser(
        prog="tracekit", description="Record, diagnose and recover multi-step LLM agents.", epilog=_EXITS
    )
    parser.add_argument("--version", action="version", version=f"tracekit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for known, text in {**CORE, **{key: value[1] for key, value in EXTRAS.items()}}.items():
        sub = commands.add_parser(known, help=text, description=text)
        if known == name:
            command = load(known)
            command.configure(sub)
            sub.set_defaults(_run=command.run)
    if not arguments:
        parser.print_help(sys.stderr)
        return Exit.USAGE
    try:
        options = parser.parse_args(arguments)
    except SystemExit:
        _flush()  # the help
        raise
    if name in CORE and getattr(options, "home", None):
        configure(home=options.home)
    if name in EXTRAS and name not in _WITH_TASKS:
        _end_in_order()
    return int(options._run(options))


def _end_in_order() -> None:
    """Let SIGTERM end a command that only reads like an exception does, so that its temporary files go with it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def load(name: str) -> Command:
    """The command *name*; raises `UsageError` naming the extra to install when its package is absent."""
    if name in CORE:
        return _command(importlib.import_module(f"tracekit.cli.{name}"))
    extra, _ = EXTRAS[name]
    found = _entry_point(name)
    try:
        if found is None:
            raise ModuleNotFoundError(f"no entry point {name!r}", name=f"tracekit_{extra}")
        return _as_command(found.load())
    except ModuleNotFoundError as error:
        if found is not None and (error.name or "").startswith("tracekit"):
            raise  # a file of ours: no extra brings it
        raise UsageError(
            f"tracekit {name} needs the [{extra}] extra ({error.name or error} is missing): "
            f"pip install 'tracekit-agents[{extra}]'"
        ) from error


def _entry_point(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group="tracekit.commands", name=name)), None)


def _command(module: object) -> Command:
    return _as_command(getattr(module, "COMMAND", None))


def _as_command(value: object) -> Command:
    if not isinstance(value, Command):
        raise TypeError(f"expected a tracekit.cli.command.Command, got {type(value).__name__}")
    return value


def _fail(message: str, code: Exit) -> int:
    from tracekit.cli._store import visible

    # A message may hold the name of a file or of a task, which anybody may have chosen.
    for number, line in enumerate(message.split("\n")):
        print(visible(line) if number else f"tracekit: {visible(line)}", file=sys.stderr)
    return code
