"""A SQLite VFS that writes down what reaches the disk: counts for the cost of a step, a record for the power cut."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from typing import Any

import apsw

_names = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing done to the disk, or one mark set by the program under test."""

    kind: str
    """`write`, `truncate`, `sync`, `delete` or `mark`."""
    name: str
    """File name without its folder; the text of a mark."""
    offset: int = 0
    data: bytes = b""
    is_synced: bool = False
    """Of a delete: whether the folder was synced with it."""


@dataclass
class Recording:
    """Everything that went through one VFS, in order; *keeps_data* off counts only."""

    keeps_data: bool = True
    operations: list[Operation] = field(default_factory=list)
    syncs: int = 0
    """All syncs; each checkpoint is one of the database and two of the log (before it, and when the log starts anew)."""
    database_syncs: int = 0
    written_bytes: int = 0

    def mark(self, text: str) -> None:
        """Note that the program got this far."""
        self.operations.append(Operation("mark", text))

    def add(self, operation: Operation) -> None:
        """Note one operation."""
        self.syncs += operation.kind == "sync"
        self.database_syncs += operation.kind == "sync" and operation.name.endswith(".db")
        self.written_bytes += len(operation.data)
        if self.keeps_data:
            self.operations.append(operation)


class _File(apsw.VFSFile):
    def __init__(self, recording: Recording, filename: Any, flags: list[int]) -> None:
        path = filename.filename() if isinstance(filename, apsw.URIFilename) else filename
        self._name = os.path.basename(path or "temporary")
        self._recording = recording
        super().__init__("unix", filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._recording.add(Operation("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._recording.add(Operation("truncate", self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._recording.add(Operation("sync", self._name))
        super().xSync(flags)


class RecordingVFS(apsw.VFS):
    """The unix VFS, recorded; give `name` to `SqliteStore(path, vfs=name)` and keep this object meanwhile."""

    def __init__(self, recording: Recording) -> None:
        self.name = f"recorded-{os.getpid()}-{next(_names)}"
        self._recording = recording
        super().__init__(self.name, "unix")

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self._recording, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._recording.add(Operation("delete", os.path.basename(filename), is_synced=bool(syncdir)))
        super().xDelete(filename, syncdir)
