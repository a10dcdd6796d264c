"""`tracekit prune`: remove what retention allows from a store."""

from __future__ import annotations

import argparse

from tracekit import clock
from tracekit.cli._store import add_format, add_store, amount, at_least, print_json, print_table, say
from tracekit.cli.command import Command, Exit
from tracekit.errors import TracekitError

DAY_MS = 24 * 3600 * 1000


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than-days", type=amount, default=30.0, help="history before this may go (default 30)"
    )
    parser.add_argument(
        "--keep-every", type=at_least(1), default=10, help="of each task's history keep every Kth event"
    )
    parser.add_argument(
        "--forget-days",
        type=amount,
        help="forget tasks that ended before this whole, ledger included; nothing guards their ids after that",
    )
    add_store(parser)
    add_format(parser)


def _run(options: argparse.Namespace) -> int:
    from tracekit.durable.owning import existing_store
    from tracekit.store.liveness import forget_dead

    now_ms = clock.now_ms()
    forget = None if options.forget_days is None else now_ms - round(options.forget_days * DAY_MS)
    store = existing_store(options.store)
    damaged: list[TracekitError] = []
    removed = store.prune(
        before_ms=now_ms - round(options.older_than_days * DAY_MS),
        keep_every=options.keep_every,
        forget_before_ms=forget,
        damaged=damaged.append,
    )
    for error in damaged:
        say(f"tracekit: {error}; nothing of this task was removed by its status")
    gone = forget_dead(store)
    counts = dict(removed) | ({"worker": gone} if gone else {})
    if options.format == "json":
        print_json(counts)
    else:
        print_table(("table", "rows removed"), sorted(counts.items()))
    return Exit.DAMAGE if damaged else Exit.CLEAN


COMMAND = Command("prune", "remove what retention allows from a store", _configure, _run)
