"""`tracekit resume TASK`: go on with a task from where it broke, in this process."""

from __future__ import annotations

import argparse

from tracekit.cli._store import add_store, print_json, say
from tracekit.cli.command import Command, Exit


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", help="task id")
    parser.add_argument(
        "--home", metavar="DIR", help="folder of the log; default TRACEKIT_HOME, else .tracekit"
    )
    add_store(parser, app=True)


def _run(options: argparse.Namespace) -> int:
    import tracekit
    from tracekit.durable.api import resume
    from tracekit.errors import RequiresReview, TracekitError

    tracekit.init(home=options.home, store=options.store)
    try:
        result = resume(options.task, store=options.store, app=options.app)
    except (RequiresReview, TracekitError):
        raise
    except Exception as error:
        say(
            f"tracekit: task {options.task} ended with {type(error).__module__}.{type(error).__qualname__}: {error}"
        )
        say(f"tracekit: see `tracekit plan {options.task}`; resume it again once the cause is put right")
        return Exit.FAILURES
    print_json(result)
    return Exit.CLEAN


COMMAND = Command("resume", "go on with a task from where it broke", _configure, _run)
