"""`tracekit resume TASK`: go on with a task from where it broke, or from an earlier step, in this process."""

from __future__ import annotations

import argparse
import shlex

from tracekit.cli._forking import add_effects, effects_choice
from tracekit.cli._store import add_store, print_json, say, typed_again
from tracekit.cli.command import Command, Exit


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", help="task id")
    parser.add_argument(
        "--from",
        dest="at",
        metavar="STEP",
        help="go back to before this call (its number in the task, or a step id of the log): the task ends, and a new one goes on in its place",
    )
    add_effects(parser)
    add_store(parser, app=True)


def _run(options: argparse.Namespace) -> int:
    from tracekit.durable.api import state_of
    from tracekit.durable.fork import restore
    from tracekit.durable.owning import existing_store

    if options.at is None:
        return run_task(options.task, options)
    effects = effects_choice(options, options.at)
    if effects is None:
        return Exit.WAITING
    name = restore(options.task, at=options.at, effects=effects, by=options.by, store=options.store)
    status = state_of(existing_store(options.store), options.task).task.status
    say(f"tracekit: {options.task} is {status.value}; {name} goes on in its place, cut before {options.at}")
    return run_task(name, options)


def run_task(task_id: str, options: argparse.Namespace) -> int:
    """Resume *task_id* here, print its result as JSON, and turn the agent's own exception into words."""
    import tracekit
    from tracekit.durable.api import resume
    from tracekit.durable.errors_stored import safe_text
    from tracekit.durable.life import OWN_ENDINGS
    from tracekit.errors import RequiresReview, TracekitError

    tracekit.init(home=options.home, store=options.store)
    try:
        result = resume(task_id, store=options.store, app=options.app)
    except (RequiresReview, TracekitError):
        raise
    except (Exception, *OWN_ENDINGS) as error:
        say(
            f"tracekit: task {task_id} ended with {type(error).__module__}.{type(error).__qualname__}: {safe_text(error)}"
        )
        again = f"`tracekit plan {shlex.quote(task_id)}{typed_again(options)}`"
        say(f"tracekit: see {again}; resume it again once the cause is put right")
        return Exit.FAILURES
    print_json(result)
    return Exit.CLEAN


COMMAND = Command("resume", "go on with a task from where it broke", _configure, _run)
