"""What other packages add through entry points; one that can't be loaded is told and left out, and never stops an analysis."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from tracekit_analyzers.model import DamageReport, FailureClass, InputFile, NativeRecord, Reader

READERS = "tracekit.readers"
CLASSES = "tracekit.classes"

_log = logging.getLogger("tracekit")


@lru_cache(maxsize=1)
def are_there() -> bool:
    """Whether another package adds any reader."""
    return bool(entry_points(group=READERS))


@lru_cache(maxsize=1)
def readers(taken: frozenset[str]) -> tuple[Reader, ...]:
    """Readers of other packages by the name of their entry point; *taken* are the names that can't be had."""
    found = _loaded(READERS, "name", ("title", "sniff", "read"), taken)
    return tuple(GuardedReader(cast(Reader, value)) for value in found)


@lru_cache(maxsize=1)
def classes(taken: frozenset[str]) -> tuple[FailureClass, ...]:
    """Failure classes of other packages; *taken* are the codes that can't be had."""
    found = _loaded(CLASSES, "code", ("title", "retry", "sql"), taken)
    return tuple(cast(FailureClass, value) for value in found)


def _loaded(group: str, key: str, others: Collection[str], taken: frozenset[str]) -> Iterator[Any]:
    used = set(taken)
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        try:
            value = entry.load()
        except Exception as error:
            # Code of others may raise anything when it is imported.
            _left_out(entry, f"{type(error).__name__}: {error}")
            continue
        missing = [name for name in (key, *others) if not hasattr(value, name)]
        if missing:
            _left_out(entry, f"it has no {', '.join(missing)}")
        elif getattr(value, key) in used:
            _left_out(entry, f"{getattr(value, key)!r} is taken already")
        else:
            used.add(getattr(value, key))
            yield value


def _left_out(entry: EntryPoint, reason: str) -> None:
    package = entry.dist.name if entry.dist is not None else "an unnamed package"
    _log.warning("%s %s of %s is left out: %s", entry.group, entry.name, package, reason)


class GuardedReader:
    """A reader of another package: what it raises is told as damage of the file, and other files are read all the same."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.name, self.title = reader.name, reader.title

    def sniff(self, file: InputFile) -> int:
        """How sure it is of *file*; 0 where it raises."""
        try:
            return int(self._reader.sniff(file))
        except Exception as error:
            _log.warning(
                "reader %s can't look into %s: %s: %s", self.name, file.name, type(error).__name__, error
            )
            return 0

    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Its records, up to where it raises."""
        try:
            yield from self._reader.read(file, damage)
        except Exception as error:
            reason = f"reader_failed: {self.name} raised {type(error).__name__}: {error}"
            damage.bad(file=file.name, line=None, offset=None, reason=reason, data="")
