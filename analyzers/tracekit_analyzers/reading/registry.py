"""Which reader reads which file: by a name that the user forces, else by the surest `sniff`."""

from __future__ import annotations

import difflib
from functools import lru_cache

from tracekit.errors import TracekitError
from tracekit_analyzers.model import InputFile, Reader
from tracekit_analyzers.readers import all_readers, native
from tracekit_analyzers.reading import plugins

NATIVE = "native"
"""Name of the reader whose files the query engine reads by itself."""
SUREST = 95
"""None of our readers is surer, and the native one is listed first."""


@lru_cache(maxsize=1)
def readers() -> tuple[Reader, ...]:
    """Our readers, then those that other packages add through the entry-point group `tracekit.readers`."""
    ours = all_readers()
    return (*ours, *plugins.readers(frozenset(reader.name for reader in ours)))


def by_name(name: str) -> Reader:
    """The reader called *name*; raises `TracekitError("reader.unknown")` with the near names."""
    known = {reader.name: reader for reader in readers()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3) or sorted(known)
    raise TracekitError("reader.unknown", f"there is no reader {name!r}; did you mean {', '.join(near)}?")


def choose(file: InputFile, forced: str | None = None) -> Reader | None:
    """The reader for *file*; None when no reader is sure of it at all. Of equally sure ones the first listed wins."""
    if forced is not None:
        return by_name(forced)
    if native.READER.sniff(file) >= SUREST and not plugins.are_there():
        return native.READER
    best: Reader | None = None
    most = 0
    for reader in readers():
        sure = reader.sniff(file)
        if sure > most:
            best, most = reader, sure
    return best
