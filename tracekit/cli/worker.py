"""`tracekit worker --app MODULE`: take tasks from a store and run them."""

from __future__ import annotations

import argparse

from tracekit.cli._store import above_zero, add_store, counted, say, tell, visible
from tracekit.cli.command import Command, Exit
from tracekit.modules import is_script


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--app", metavar="MODULE", required=True, help="module or script that declares the tasks"
    )
    parser.add_argument(
        "--poll-s", type=above_zero, default=0.5, help="seconds between looks at an empty store"
    )
    parser.add_argument(
        "--lease-s",
        type=above_zero,
        default=30.0,
        help="seconds after which other machines take the tasks of a worker that is not heard of any more",
    )
    parser.add_argument("--until-idle", action="store_true", help="end when no task waits")
    add_store(parser)


def _strange(function: str, waiting: int, app: str) -> str:
    where = (
        "; a script goes by its path: run it as a module (`python -m NAME`), or keep it at one path on all machines"
        if is_script(function.rpartition(":")[0])
        else ""
    )
    return f"tracekit: {counted(waiting, 'task')} of {function} waiting, which {app} does not declare{where}"


def _run(options: argparse.Namespace) -> int:
    import tracekit
    from tracekit.durable.worker import Worker, stop_on_signals

    tracekit.init(home=options.home, store=options.store)
    worker = Worker(
        options.app,
        store=options.store,
        poll_s=options.poll_s,
        lease_s=options.lease_s,
        away=lambda error: say(f"tracekit: waiting for the store: {error}"),
        strange=lambda function, waiting: say(visible(_strange(function, waiting, options.app))),
    )
    stop_on_signals(worker)
    if name := worker.enter():
        say(f"worker {name} on {worker.owner.store.url}")
    worker.run(
        told=lambda outcome: tell(f"{outcome.task_id}\t{outcome.word}\t{visible(outcome.text)}"),
        until_idle=options.until_idle,
    )
    return Exit.CLEAN


COMMAND = Command("worker", "take tasks from a store and run them", _configure, _run)
