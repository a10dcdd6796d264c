"""Bodies are packed where that saves room, and come back byte for byte."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import apsw
import pytest

from tracekit.errors import TracekitError
from tracekit.snapshot import digest
from tracekit.store.contract import PutBlob, Store
from tracekit.store.rows import TaskRow
from tracekit.store.sql_transaction import blob_checksum
from tracekit.store.sqlite import SqliteStore

REPEATING = b"the customer asks for a refund; " * 200
SHORT = b"yes"
RANDOM = random.Random(7).randbytes(4000)
ALL = {digest(data): data for data in (REPEATING, SHORT, RANDOM, b"")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "state.db")
    keep(store)
    store.close()
    return tmp_path / "state.db"


def keep(store: Store) -> None:
    task = TaskRow("t", "a" * 32, "b" * 16, "m:f", digest(SHORT))
    assert store.create(task, [PutBlob(name, data) for name, data in ALL.items()])


def test_every_body_comes_back_as_it_was(store: Store) -> None:
    keep(store)

    assert store.blobs(ALL) == ALL


def test_only_what_gets_smaller_is_packed(path: Path) -> None:
    connection = apsw.Connection(str(path))
    stored = {
        name: (codec, size)
        for name, codec, size in connection.execute("SELECT hash, codec, LENGTH(data) FROM blob")
    }

    assert stored[digest(REPEATING)][0] == "zlib"
    assert int(stored[digest(REPEATING)][1]) < len(REPEATING) // 20
    assert stored[digest(SHORT)] == ("plain", len(SHORT))
    assert stored[digest(RANDOM)] == ("plain", len(RANDOM))


@pytest.mark.parametrize("data", [b"no zlib at all", zlib.compress(b"another body")])
def test_a_packed_body_that_is_not_the_one_it_is_named_for_is_told(path: Path, data: bytes) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(
        "UPDATE blob SET data = ?, crc = ? WHERE hash = ?",
        (data, blob_checksum("zlib", data, None), digest(REPEATING)),
    )
    connection.close()
    store = SqliteStore(path)

    with pytest.raises(TracekitError, match=digest(REPEATING)) as caught:
        store.blobs([digest(REPEATING)])
    store.close()

    assert caught.value.code == "store.damaged"
