"""Read-only access to SQLite files of other programs."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from tracekit_analyzers.model import InputFile
from tracekit_analyzers.readers import _bounds
from tracekit_analyzers.reading.workplace import Workplace

_MAGIC = b"SQLite format 3\x00"


def is_sqlite(file: InputFile) -> bool:
    """Whether the first bytes are SQLite's."""
    return file.head[:16] == _MAGIC


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """
    A connection that can only read, and leaves nothing beside the file.

    SQLite makes `-wal` and `-shm` files even to read a database in WAL mode, so it is opened as one that cannot change.
    What another program has written and not yet moved into the file is in `-wal`: then a copy of both is read.
    """
    wal = path.with_name(path.name + "-wal")
    with Workplace() as folder:
        if wal.exists() and wal.stat().st_size:
            path = Path(shutil.copy(path, folder))
            shutil.copy(wal, folder)
            mode = "mode=rw"
        else:
            mode = "mode=ro&immutable=1"
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)) as con:
            # What a file of a stranger says of its own tables is not run, and no value of it fills the memory.
            for guard in ("trusted_schema = off", "query_only = on", "cell_size_check = on"):
                con.execute(f"pragma {guard}")
            con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(_bounds.longest_value(), (1 << 31) - 1))
            yield con


def tables(file: InputFile) -> set[str]:
    """Names of the file's tables; empty when it is no SQLite file or cannot be read."""
    if not is_sqlite(file):
        return set()
    try:
        with opened(file.path) as con:
            return {name for (name,) in con.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.Error:
        return set()
