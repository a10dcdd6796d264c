"""`tracekit ls`: tasks in the store; with `--stuck` those that nobody will pick up, and why."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from tracekit import clock
from tracekit.cli._store import add_format, add_store, at_least, print_json, print_table, say
from tracekit.cli.command import Command, Exit
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus

if TYPE_CHECKING:
    from tracekit.store.contract import Store
    from tracekit.store.rows import TaskRow


def _configure(parser: argparse.ArgumentParser) -> None:
    words = [status.value for status in TaskStatus]
    parser.add_argument(
        "--status", action="append", default=[], choices=words, help="only these; may be repeated"
    )
    parser.add_argument(
        "--stuck", action="store_true", help="only tasks that nobody will ever pick up by themselves"
    )
    parser.add_argument(
        "--limit", type=at_least(1), default=1000, metavar="N", help="at most so many (default 1000)"
    )
    add_store(parser)
    add_format(parser)


def _run(options: argparse.Namespace) -> int:
    from tracekit.durable.owning import existing_store
    from tracekit.store.liveness import survey

    store = existing_store(options.store)
    damaged: list[TracekitError] = []
    pages = _pages(store, options, damaged)
    found = [each for page in pages for each in page][: options.limit + 1]
    for error in damaged:
        say(f"tracekit: {error}")
    if len(found) > options.limit:
        say(f"tracekit: the first {options.limit} in the order of their ids; --limit N gives more")
    shown = found[: options.limit]
    left_out = store.left_out([row.task_id for row, _ in shown])
    if options.format == "json":
        print_json(
            [
                {**asdict(row), "stuck": reason, "left_out": left_out.get(row.task_id, 0)}
                for row, reason in shown
            ]
        )
    else:
        _print(shown, left_out, gone=survey(store).dead, stuck=options.stuck)
    return Exit.DAMAGE if damaged else Exit.CLEAN


def _pages(
    store: Store, options: argparse.Namespace, damaged: list[TracekitError]
) -> Iterator[list[tuple[TaskRow, str | None]]]:
    """Tasks with why nobody will pick them up, until one more than is asked for was given."""
    from tracekit.durable.stuck import stuck_reasons

    wanted = [TaskStatus(each) for each in options.status]
    after, left = "", options.limit + 1
    while left > 0 and (rows := store.tasks(status=wanted, after=after, damaged=damaged.append)):
        reasons = stuck_reasons(store, rows)
        found = [(row, reasons.get(row.task_id)) for row in rows]
        page = [each for each in found if each[1] is not None or not options.stuck]
        yield page
        after, left = rows[-1].task_id, left - len(page)


def _print(
    shown: list[tuple[TaskRow, str | None]], left_out: dict[str, int], *, gone: tuple[str, ...], stuck: bool
) -> None:
    head = ["task", "status", "attempt", "updated", "function", "owner"]
    table = [
        [
            row.task_id,
            row.status.value,
            row.attempt,
            clock.rfc3339(row.updated_ms * 1_000_000)[:19],
            row.function,
            f"{row.owner} (gone)" if row.owner in gone else row.owner or "-",
        ]
        for row, _ in shown
    ]
    if left_out:
        head.insert(2, "to do")
        for cells, (row, _) in zip(table, shown, strict=True):
            cells.insert(2, left_out.get(row.task_id, "-"))
    if stuck:
        head.append("why nobody will pick it up")
        for cells, (_, reason) in zip(table, shown, strict=True):
            cells.append(reason or "-")
    print_table(head, table)


COMMAND = Command(
    "ls", "tasks in the store, and with --stuck those that nobody will pick up", _configure, _run
)
