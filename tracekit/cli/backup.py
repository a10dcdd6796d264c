"""`tracekit backup`: a whole copy of the store, beside running workers."""

from __future__ import annotations

import argparse
from pathlib import Path

from tracekit.cli._store import add_format, add_store, print_json
from tracekit.cli.command import Command, Exit, UsageError


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="where the copy goes; must not be there")
    add_store(parser)
    add_format(parser)


def _run(options: argparse.Namespace) -> int:
    from tracekit.durable.owning import existing_store
    from tracekit.store.copying import copy_store_file

    url = existing_store(options.store).url
    if not url.startswith("sqlite:"):
        raise UsageError(
            f"this copies SQLite files; for {url}: pg_dump --schema=tracekit --format=custom --file={options.file} URL"
        )
    size = copy_store_file(Path(url.removeprefix("sqlite:")), options.file)
    if options.format == "json":
        print_json({"store": url, "file": str(options.file), "bytes": size})
    else:
        print(f"{options.file}: {size:,} bytes, checked")
    return Exit.CLEAN


COMMAND = Command("backup", "copy a SQLite store whole, beside running workers", _configure, _run)
