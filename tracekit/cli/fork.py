"""`tracekit fork TASK --at STEP`: a new task with everything that another one finished before a step."""

from __future__ import annotations

import argparse

from tracekit.cli._forking import add_effects, effects_choice
from tracekit.cli._store import add_store
from tracekit.cli.command import Command, Exit
from tracekit.cli.resume import run_task


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", help="task id")
    parser.add_argument(
        "--at",
        required=True,
        metavar="STEP",
        help="first call that is not copied: its number in the task, or a step id of the log",
    )
    parser.add_argument("--id", metavar="TASK", help="id of the new task")
    parser.add_argument("--run", action="store_true", help="run it at once; else a worker takes it")
    add_effects(parser)
    add_store(parser, app=True)


def _run(options: argparse.Namespace) -> int:
    from tracekit.durable.fork import fork

    effects = effects_choice(options, options.at)
    if effects is None:
        return Exit.WAITING
    name = fork(
        options.task,
        at=options.at,
        new_id=options.id,
        effects=effects,
        by=options.by,
        store=options.store,
    )
    if options.run:
        return run_task(name, options)
    print(name)
    return Exit.CLEAN


COMMAND = Command("fork", "a new task with what another one finished before a step", _configure, _run)
