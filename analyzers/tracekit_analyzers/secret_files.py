"""
The texts in every file of a home beside its log: the store's rows and bodies, blobs, what recoveries printed.

The search for secrets reads them all, since a log that marks a secret is worth nothing beside a store that holds it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

KEY_FILE = "key"
"""Holds the key that seals and digests; it is not to be searched, and only its user may read it."""
SQLITE_MAGIC = b"SQLite format 3\0"
SQLITE_LEFTOVERS = ("-wal", "-shm", "-journal")
PIECE_BYTES = 1 << 20
OVERLAP_BYTES = 4096
"""No shape of a secret is longer, so none is cut in two unseen."""
MOST_UNPACKED_BYTES = 64 << 20


def texts(paths: Sequence[Path], read: frozenset[Path]) -> Iterator[tuple[str, str]]:
    """Place and text of everything below the folders of *paths*, but for the files in *read* (resolved) and the key."""
    for folder in paths:
        if not folder.is_dir():
            continue
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.resolve() in read:
                continue
            if path == folder / KEY_FILE or path.name.endswith(SQLITE_LEFTOVERS):
                continue
            yield from _of_file(path, str(path.relative_to(folder)))


def _of_file(path: Path, name: str) -> Iterator[tuple[str, str]]:
    with path.open("rb") as file:
        head = file.read(PIECE_BYTES)
        if head.startswith(SQLITE_MAGIC):
            yield from _of_database(path, name)
            return
        offset = 0
        while head:
            yield f"{name} byte {offset}", head.decode("utf-8", "replace")
            more = file.read(PIECE_BYTES)
            offset += len(head)
            head = head[-OVERLAP_BYTES:] + more if more else b""
            offset -= OVERLAP_BYTES if more else 0


def _of_database(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Every text and every body of every table; bodies that the store has packed are unpacked, sealed ones stay sealed."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = connection.execute(
            "select name from sqlite_master where type = 'table' order by name"
        ).fetchall()
        for (table,) in tables:
            quoted = str(table).replace('"', '""')
            rows = connection.execute(f'select * from "{quoted}"')
            for number, row in enumerate(rows, 1):
                for (column, *_), value in zip(rows.get_description(), row, strict=True):
                    if isinstance(value, str | bytes) and value:
                        yield f"{name} {table}.{column} row {number}", _text(value)
    finally:
        connection.close()


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else _unpacked(value).decode("utf-8", "replace")


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        return unpacker.decompress(data, MOST_UNPACKED_BYTES)
    except zlib.error:
        return data
