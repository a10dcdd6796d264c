"""`tracekit doctor`: check the installation, the store and the log folder."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tracekit.cli._store import add_format, add_store, print_json, print_table
from tracekit.cli.command import Command, Exit


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: str
    """`ok`, `note` or `bad`."""
    text: str


def _configure(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    add_format(parser)


def _run(options: argparse.Namespace) -> int:
    found = list(_look(options.store))
    if options.format == "json":
        print_json([asdict(each) for each in found])
    else:
        print_table(("what", "state", "found"), [(each.what, each.state, each.text) for each in found])
    return Exit.UNREADABLE if any(each.state == "bad" for each in found) else Exit.CLEAN


def _look(store_url: str | None) -> Iterator[Finding]:
    import tracekit

    yield Finding("tracekit", "ok", f"{tracekit.__version__} on Python {platform.python_version()}")
    for extra, module in (
        ("analyzers", "duckdb"),
        ("tui", "textual"),
        ("postgres", "psycopg"),
        ("crypto", "cryptography"),
    ):
        there = importlib.util.find_spec(module) is not None
        yield Finding(
            f"extra [{extra}]", "ok" if there else "note", "installed" if there else "not installed"
        )
    yield _checked("log folder", _home)
    yield _checked("store", lambda: _store(store_url))


def _checked(what: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except Exception as error:
        return Finding(what, "bad", str(error))


def _home() -> Finding:
    from tracekit.config import settings

    home = Path(settings().home)
    if not home.exists():
        return Finding("log folder", "note", f"{home} is not there yet; `tracekit.init()` makes it")
    if not os.access(home, os.W_OK):
        return Finding(
            "log folder", "bad", f"{home} can't be written; give it to this user or set TRACEKIT_HOME"
        )
    open_to_others = home.stat().st_mode & 0o077
    logs = sum(1 for _ in (home / "traces").glob("*.jsonl"))
    if open_to_others:
        return Finding("log folder", "note", f"{home} is open to other users (chmod 700); {logs} log files")
    return Finding("log folder", "ok", f"{home}, {logs} log files")


def _store(url: str | None) -> Finding:
    from tracekit.durable.owning import existing_store
    from tracekit.durable.stuck import stuck_reasons
    from tracekit.errors import TracekitError

    try:
        store = existing_store(url)
    except TracekitError as error:
        if error.code != "store.missing":
            raise
        return Finding("store", "note", str(error))
    damaged: list[TracekitError] = []
    rows = store.tasks(limit=100_000, damaged=damaged.append)
    stuck = stuck_reasons(store, [row for row in rows if not row.status.is_final])
    text = f"{store.url}: {len(rows)} tasks, {len(stuck)} that nobody will pick up (`tracekit ls --stuck`)"
    text += f", {len(damaged)} damaged (`tracekit ls` names them)" if damaged else ""
    return Finding("store", "note" if stuck or damaged else "ok", text)


COMMAND = Command("doctor", "check the installation, the store and the log folder", _configure, _run)
