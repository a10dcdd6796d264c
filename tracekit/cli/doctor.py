"""`tracekit doctor`: check the installation, the store and the log folder."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli._store import add_format, add_store, print_json, print_table
from tracekit.cli.command import Command, Exit

if TYPE_CHECKING:
    from tracekit.errors import TracekitError
    from tracekit.store.contract import Store
    from tracekit.store.rows import TaskRow

DISTRIBUTION = "tracekit-agents"
SAFE_SQLITE = (3, 51, 3)


_EXTRAS = {
    "analyzers": ("duckdb", "analyse logs"),
    "tui": ("textual", "look and recover in the terminal"),
    "postgres": ("psycopg", "keep tasks in PostgreSQL, for many machines"),
    "collect": ("opentelemetry.proto", "receive OTLP as protobuf"),
    "crypto": ("cryptography", "seal secrets with AES-256-GCM"),
    "spark": ("pyspark", "analyse logs larger than one machine"),
}
"""Extra: a module that only it brings, and what it is for."""


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
    yield from map(_extra, _EXTRAS)
    yield _import_name()
    yield _sqlite()
    yield _checked("log folder", _home)
    yield from _store(store_url)


def _extra(extra: str) -> Finding:
    """Whether *extra* is installed, and else what it is for and how to get it."""
    module, purpose = _EXTRAS[extra]
    if importlib.util.find_spec(module) is not None:
        if extra == "spark" and "JAVA_HOME" not in os.environ and shutil.which("java") is None:
            return Finding(
                "extra [spark]", "note", "installed, but it needs Java 17 or newer, and there is none here"
            )
        return Finding(f"extra [{extra}]", "ok", "installed")
    return Finding(
        f"extra [{extra}]", "note", f"not installed; to {purpose}: pip install 'tracekit-agents[{extra}]'"
    )


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


def _import_name() -> Finding:
    """Other distributions use this import name too: whichever was installed last has overwritten the other's files."""
    import tracekit

    others = sorted({*packages_distributions().get("tracekit", ())} - {DISTRIBUTION})
    folder = Path(tracekit.__file__ or "").parent
    if others:
        text = f"{', '.join(others)} brings files of the same name into {folder}: pip uninstall {' '.join(others)}, "
        return Finding("import name", "bad", text + f"then pip install --force-reinstall {DISTRIBUTION}")
    return Finding("import name", "ok", f"tracekit is {DISTRIBUTION} alone, from {folder}")


def _sqlite() -> Finding:
    import apsw

    found = apsw.sqlite_lib_version()
    if tuple(int(part) for part in found.split(".")) < SAFE_SQLITE:
        least = ".".join(map(str, SAFE_SQLITE))
        return Finding(
            "sqlite",
            "note",
            f"{found}; before {least} two processes on one file could damage it: pip install -U apsw",
        )
    return Finding("sqlite", "ok", f"{found}, brought by apsw")


def _store(url: str | None) -> Iterator[Finding]:
    from tracekit.durable.owning import existing_store
    from tracekit.errors import TracekitError

    try:
        store = existing_store(url)
    except Exception as error:
        is_missing = isinstance(error, TracekitError) and error.code == "store.missing"
        yield Finding("store", "note" if is_missing else "bad", str(error))
        return
    yield _checked("store", lambda: _tasks(store))
    yield _checked("rows", lambda: _rows(store))
    if store.url.startswith("sqlite:"):
        yield _checked("database", lambda: _database(Path(store.url.removeprefix("sqlite:"))))


def _tasks(store: Store) -> Finding:
    from tracekit.durable.stuck import stuck_reasons

    rows = list(_every_task(store, lambda error: None))
    stuck = stuck_reasons(store, [row for row in rows if not row.status.is_final])
    text = f"{store.url}: {len(rows)} tasks, {len(stuck)} that nobody will pick up (`tracekit ls --stuck`)"
    return Finding("store", "note" if stuck else "ok", text)


def _every_task(store: Store, damaged: Callable[[TracekitError], None]) -> Iterator[TaskRow]:
    after = ""
    while page := store.tasks(after=after, damaged=damaged):
        yield from page
        after = page[-1].task_id


def _rows(store: Store) -> Finding:
    """Read every row and body: each is checked against its checksum or its hash."""
    from tracekit.errors import TracekitError

    damaged: list[TracekitError] = []
    count = 0
    for row in _every_task(store, damaged.append):
        count += 1
        try:
            store.load(row.task_id, with_bodies=True)
        except TracekitError as error:
            damaged.append(error)
    if damaged:
        said = list(dict.fromkeys(str(each) for each in damaged))  # two pages may meet at one
        return Finding("rows", "bad", f"{len(said)} tasks can't be read: {'; '.join(said[:5])}")
    return Finding("rows", "ok", f"every row and body of {count} tasks is what was written")


def _database(path: Path) -> Finding:
    """What SQLite itself says of the file."""
    import apsw

    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        said = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
    finally:
        connection.close()
    if said != ["ok"]:
        text = f"{path} is damaged: {'; '.join(said)}. Copy it away with its -wal, then restore a backup"
        return Finding("database", "bad", text)
    mode = path.stat().st_mode & 0o077
    if mode:
        return Finding("database", "note", f"{path} is whole, but open to other users: chmod 600 {path}")
    return Finding("database", "ok", f"{path}: integrity check passed")


COMMAND = Command("doctor", "check the installation, the store and the log folder", _configure, _run)
