"""A disk that is full or broken in the middle of a commit: told, nothing half kept, and the store goes on afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.store.samples import effect, started
from tracekit.errors import TracekitError
from tracekit.snapshot import digest
from tracekit.store.contract import AppendEvent, InsertEffect, PutBlob
from tracekit.store.sqlite import SqliteStore

_names = itertools.count(1)


class FailingDisk(apsw.VFS):
    """The unix VFS, until `failure` is set: then each write or sync raises it."""

    def __init__(self) -> None:
        self.name = f"failing-{next(_names)}"
        self.failure: type[apsw.Error] | None = None
        self.fails_at = "xWrite"
        super().__init__(self.name, "unix")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return FailingFile(self, name, flags)

    def check(self, method: str) -> None:
        if self.failure is not None and method == self.fails_at:
            raise self.failure("no")


class FailingFile(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.check("xWrite")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.check("xSync")
        super().xSync(flags)


@pytest.fixture
def disk() -> FailingDisk:
    return FailingDisk()


@pytest.fixture
def store(disk: FailingDisk, tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "state.db", vfs=disk.name)
    yield store
    disk.failure = None
    store.close()


@pytest.mark.parametrize("failure", [apsw.FullError, apsw.IOError])
@pytest.mark.parametrize("fails_at", ["xWrite", "xSync"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_commit_that_the_disk_refuses_is_told_and_nothing_of_it_is_kept(
    store: SqliteStore, disk: FailingDisk, failure: type[apsw.Error], fails_at: str
) -> None:
    lease = started(store)
    store.commit(lease, [AppendEvent("before", None, "{}")], durable=True)
    big = bytes(100_000)
    disk.failure, disk.fails_at = failure, fails_at
    with pytest.raises(TracekitError, match="nothing of this commit was kept") as caught:
        store.commit(
            lease,
            [PutBlob(digest(big), big), InsertEffect(effect()), AppendEvent("lost", None, "{}")],
            durable=True,
        )
    disk.failure = None

    assert caught.value.code == "store.unwritable"
    state = store.load("t1")
    assert state is not None
    assert state.effects == ()
    assert store.commit(lease, [AppendEvent("after", None, "{}")], durable=True) == 2
    assert [row.kind for row in store.events("t1")] == ["before", "after"]
