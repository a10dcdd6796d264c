"""`tracekit ls`: tasks in the store; with `--stuck` those that nobody will pick up, and why."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tracekit import clock
from tracekit.cli._store import add_format, add_store, at_least, print_json, print_table, say
from tracekit.cli.command import Command, Exit
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus


def _configure(parser: argparse.ArgumentParser) -> None:
    words = [status.value for status in TaskStatus]
    parser.add_argument(
        "--status", action="append", default=[], choices=words, help="only these; may be repeated"
    )
    parser.add_argument(
        "--stuck", action="store_true", help="only tasks that nobody will ever pick up by themselves"
    )
    parser.add_argument("--limit", type=at_least(1), default=1000)
    add_store(parser)
    add_format(parser)


def _run(options: argparse.Namespace) -> int:
    from tracekit.durable.owning import existing_store
    from tracekit.durable.stuck import stuck_reasons

    store = existing_store(options.store)
    damaged: list[TracekitError] = []
    wanted = [TaskStatus(each) for each in options.status]
    rows = store.tasks(status=wanted, limit=options.limit, damaged=damaged.append)
    for error in damaged:
        say(f"tracekit: {error}")
    end = Exit.DAMAGE if damaged else Exit.CLEAN
    reasons = stuck_reasons(store, rows)
    if options.stuck:
        rows = [row for row in rows if row.task_id in reasons]
    if options.format == "json":
        print_json([{**asdict(row), "stuck": reasons.get(row.task_id)} for row in rows])
        return end
    head = ["task", "status", "attempt", "updated", "function", "owner"]
    table = [
        [
            r.task_id,
            r.status.value,
            r.attempt,
            clock.rfc3339(r.updated_ms * 1_000_000)[:19],
            r.function,
            r.owner or "-",
        ]
        for r in rows
    ]
    if options.stuck:
        head.append("why nobody will pick it up")
        table = [[*cells, reasons[row.task_id]] for cells, row in zip(table, rows, strict=True)]
    print_table(head, table)
    return end


COMMAND = Command(
    "ls", "tasks in the store, and with --stuck those that nobody will pick up", _configure, _run
)
