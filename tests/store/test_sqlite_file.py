"""How the file is made, opened, shared, refused and left."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from benchmarks.disk_shim import Recording, RecordingVFS
from tests.store.samples import ARGUMENTS, started, task
from tracekit.errors import TracekitError
from tracekit.store import open_store, queries
from tracekit.store.contract import AppendEvent
from tracekit.store.sqlite import SqliteStore
from tracekit.store.sqlite_connection import APPLICATION_ID


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state.db"


def test_the_file_and_its_side_files_are_for_their_owner_only(path: Path) -> None:
    os.umask(before := os.umask(0))
    store = open_store(path)
    started(store)

    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    store.close()
    assert before == os.umask(before)


def test_the_file_says_what_it_is(path: Path) -> None:
    open_store(path).close()
    connection = apsw.Connection(str(path))

    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("user_version") == queries.schema_version("sqlite")
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("page_size") == 4096
    assert connection.pragma("auto_vacuum") == 2
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


@pytest.mark.parametrize("url", ["sqlite:{}", "sqlite://{}", "{}"])
def test_a_store_is_named_in_three_ways(path: Path, url: str) -> None:
    store = open_store(url.format(path))

    assert store.url == f"sqlite:{path}"
    assert path.exists()
    store.close()


@pytest.mark.parametrize("url", ["", "mysql://host/db", "sqlite:"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(TracekitError) as caught:
        open_store(url)
    assert caught.value.code == "store.bad_url"


def schema_of(sql: list[str]) -> list[tuple[object, ...]]:
    connection = apsw.Connection(":memory:")
    for script in sql:
        connection.execute(script)
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    return [(*row[:3], " ".join(str(row[3]).split())) for row in rows]


def test_the_schema_equals_its_migrations() -> None:
    steps = [step.sql for step in queries.migrations("sqlite")]

    assert schema_of([queries.schema("sqlite")]) == schema_of(steps)
    versions = [step.version for step in queries.migrations("sqlite")]
    assert versions == list(range(1, len(steps) + 1))


def test_every_named_statement_is_valid_for_the_schema() -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(queries.schema("sqlite"))

    for sql in queries.statements("sqlite").values():
        names: list[str] = []
        queries.with_parameters(sql, lambda name, names=names: names.append(name) or name)  # type: ignore[misc]
        assert connection.execute(f"EXPLAIN {sql}", dict.fromkeys(names)).fetchall()


def test_a_store_of_a_newer_tracekit_is_refused_and_left_alone(path: Path) -> None:
    open_store(path).close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()
    before = path.read_bytes()

    with pytest.raises(TracekitError, match=r"schema 99.*upgrade tracekit") as caught:
        open_store(path)
    assert caught.value.code == "store.newer_schema"
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(TracekitError, match="another program") as caught:
        open_store(path)
    assert caught.value.code == "store.not_a_store"
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"dear diary, " * 1000)

    with pytest.raises(TracekitError, match="no SQLite file") as caught:
        open_store(path)
    assert caught.value.code == "store.not_a_store"


def test_a_folder_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(TracekitError, match="check that its folder") as caught:
        open_store(tmp_path / "file" / "state.db")
    assert caught.value.code == "store.unreachable"


def test_a_store_that_stays_locked_is_busy_and_nothing_is_written(path: Path) -> None:
    store = SqliteStore(path, busy_s=0.05)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(TracekitError, match="keeps it locked") as caught:
        store.create(task(), [ARGUMENTS])
    assert caught.value.code == "store.busy"
    other.execute("ROLLBACK")
    assert store.create(task(), [ARGUMENTS])
    store.close()
    other.close()


def test_a_reader_is_not_kept_waiting_by_a_writer_of_another_process(path: Path) -> None:
    store = SqliteStore(path, busy_s=0.05)
    started(store)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")

    assert store.load("t1") is not None
    other.close()
    store.close()


def test_light_commits_are_not_synced_and_durable_ones_are_synced_once(path: Path) -> None:
    recording = Recording()
    vfs = RecordingVFS(recording)
    store = SqliteStore(path, vfs=vfs.name)
    lease = started(store)
    event = AppendEvent("e", None, "{}")
    store.commit(lease, [event], durable=True)
    before = recording.syncs
    store.commit(lease, [event], durable=False)
    after_light = recording.syncs
    store.commit(lease, [event], durable=True)

    assert after_light == before
    assert recording.syncs == before + 1
    store.close()


CHILD = """
import os, sys
from tests.store.samples import started
from tracekit.store import open_store
from tracekit.store.contract import AppendEvent
store = open_store(sys.argv[1])
lease = started(store)
if os.fork() == 0:
    store.commit(lease, [AppendEvent("child", None, "{}")], durable=True)
    os._exit(0)
os.wait()
store.commit(lease, [AppendEvent("parent", None, "{}")], durable=True)
print([row.kind for row in store.events("t1")])
store.close()
"""


def test_parent_and_child_both_go_on_after_a_fork(path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True, timeout=60
    )

    assert told.stdout.strip() == "['child', 'parent']"
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


def test_a_fork_waits_for_the_transaction_of_another_thread(path: Path) -> None:
    store = SqliteStore(path)
    lease = started(store)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.commit(lease, [AppendEvent("e", None, "{}")], durable=False)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if store.load("t1") is not None else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        writer.join()
    events = store.events("t1", limit=1_000_000)
    assert [row.seq for row in events] == list(range(1, len(events) + 1))
    store.close()


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_was_deleted_or_replaced_takes_no_more_writes(path: Path, is_replaced: bool) -> None:
    store = open_store(path)
    lease = started(store)
    assert store.load("t1") is not None
    for each in path.parent.glob("state.db*"):
        each.unlink()
    if is_replaced:
        other = open_store(path)
        other.create(task("other"), [ARGUMENTS])

    for write in (
        lambda: store.commit(lease, [AppendEvent("note", None, "{}")], durable=True),
        store.workers,
    ):
        with pytest.raises(TracekitError, match="deleted or replaced") as caught:
            write()
        assert caught.value.code == "store.gone"

    if is_replaced:
        assert [row.task_id for row in store.tasks()] == ["other"]
        other.close()
    else:
        with pytest.raises(TracekitError, match="deleted or replaced"):
            store.create(task("anew"), [ARGUMENTS])
        assert not path.exists()
    store.close()
