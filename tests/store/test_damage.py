"""A changed byte is told with its place, and nothing of the row is handed out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from tests.store.samples import ARGUMENTS, blob, effect, review, started, step
from tracekit.cli import main
from tracekit.cli.command import Exit
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store import open_store
from tracekit.store.contract import (
    AppendDecision,
    AppendEvent,
    InsertEffect,
    InsertReview,
    PutCompensation,
    PutStep,
    Store,
    UpdateTask,
)
from tracekit.store.rows import CompensationRow, DecisionRow, WorkerRow

RAW = blob("the model's exact words")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def full_store(path: Path) -> Iterator[Store]:
    """One row of each kind."""
    store = open_store(path)
    lease = started(store)
    store.commit(
        lease,
        [
            RAW,
            PutStep(step(raw=RAW.hash, error='{"type":"ValueError"}')),
            InsertEffect(effect()),
            InsertReview(review()),
            PutCompensation(CompensationRow("t1", 1, "k1", "cancel", ARGUMENTS.hash, "k1:undo")),
            AppendDecision(DecisionRow("t1", "1", "timeout", "high", 0.5, "review", "rule-1")),
            AppendEvent("before_tool", "1", '{"effect":"k1"}'),
            AppendEvent("after_tool", "1", '{"effect":"k1"}'),
        ],
        durable=True,
    )
    store.register_worker(WorkerRow("w1", "host", "boot", 1, 1, 1))
    yield store
    store.close()


def change(path: Path, sql: str) -> None:
    """Change the file behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("UPDATE task SET goal = 'refund A-1025'", "task row at task_id 't1'"),
        ("UPDATE task SET fence = fence + 1", "task row at task_id 't1'"),
        ("UPDATE task SET status = 'donf'", "task row at task_id 't1'"),
        ('UPDATE step SET error = \'{"type":"ValueErrpr"}\'', "step row at task_id 't1', place '1'"),
        ("UPDATE effect SET status = 'success'", "effect row at task_id 't1', place '1', key 'k1'"),
        ("UPDATE effect SET attempt = 3", "effect row at task_id 't1'"),
        ("UPDATE review SET panel = '{}'", "review row at task_id 't1', place '1', review_id 'r1'"),
        ("UPDATE compensation SET tool = 'cancfl'", "compensation row at task_id 't1', ord 1"),
        ("UPDATE decision SET work_done = 0.25", "decision row at task_id 't1'"),
    ],
)
def test_a_changed_value_is_told_with_its_place(full_store: Store, path: Path, sql: str, place: str) -> None:
    change(path, sql)

    with pytest.raises(TracekitError) as caught:
        full_store.load("t1")
    assert caught.value.code == "store.damaged"
    assert place in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        'UPDATE event SET body = \'{"effect":"k2"}\' WHERE seq = 2',
        "UPDATE event SET body = CAST(x'7be1227d' AS TEXT) WHERE seq = 2",
        "UPDATE event SET place = '2' WHERE seq = 2",
    ],
)
def test_a_changed_event_is_told_with_task_and_number(full_store: Store, path: Path, sql: str) -> None:
    assert len(full_store.events("t1")) == 2
    change(path, sql)

    with pytest.raises(TracekitError, match=r"event row at task_id 't1', seq 2, place '[12]'") as caught:
        full_store.events("t1")
    assert caught.value.code == "store.damaged"
    assert [row.seq for row in full_store.events("t1", limit=1)] == [1]


def test_text_that_is_no_utf8_any_more_is_told_with_its_place(full_store: Store, path: Path) -> None:
    change(path, "UPDATE step SET error = CAST(x'7be1' AS TEXT)")

    with pytest.raises(TracekitError, match="step row at task_id 't1', place '1'"):
        full_store.load("t1")


@pytest.mark.parametrize("column", ["data", "refs", "codec"])
def test_a_changed_body_is_told_by_its_hash(full_store: Store, path: Path, column: str) -> None:
    value = "CAST('the model''s exact wordz' AS BLOB)" if column == "data" else "'[]'"
    change(path, f"UPDATE blob SET {column} = {value} WHERE hash = '{RAW.hash}'")

    assert full_store.blobs([ARGUMENTS.hash])
    with pytest.raises(TracekitError, match=RAW.hash) as caught:
        full_store.load("t1", with_bodies=True)
    assert caught.value.code == "store.damaged"


@pytest.mark.parametrize(
    "needle", [b'{"effect":"k1"}', b"ValueError", b"exact words", b"refund A-1024", b"timeout"]
)
def test_every_flipped_bit_of_a_stored_text_is_found(full_store: Store, path: Path, needle: bytes) -> None:
    """The file is changed below SQLite; each bit of one byte in turn."""
    full_store.close()
    whole = path.read_bytes()
    place = whole.index(needle) + len(needle) // 2
    for bit in range(8):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        store = open_store(path)
        with pytest.raises(TracekitError) as caught:
            (store.load("t1", with_bodies=True), store.events("t1"))
        store.close()

        assert caught.value.code == "store.damaged", f"bit {bit} at byte {place}"


def test_a_damaged_task_does_not_hide_the_others(full_store: Store, path: Path) -> None:
    started(full_store, "t2")
    change(path, "UPDATE task SET goal = 'x' WHERE task_id = 't1'")

    assert full_store.load("t2") is not None
    lease = full_store.claim(owner="w2", ttl_s=60, dead=["w1"])
    assert lease is not None
    assert lease.task_id == "t2"


def test_a_lease_on_a_damaged_task_writes_nothing(full_store: Store, path: Path) -> None:
    change(path, "UPDATE task SET owner = NULL, status = 'queued', next_seq = 1")

    with pytest.raises(TracekitError, match="checksum"):
        full_store.acquire("t1", owner="w2", ttl_s=60)


def test_a_damaged_task_is_pruned_by_no_status(
    full_store: Store, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = full_store
    for name in ("t2", "t3"):
        lease = started(store, name)
        done = UpdateTask({"status": TaskStatus.DONE})
        store.commit(lease, [PutStep(replace(step(), task_id=name)), done], durable=True)
    # An open task that reads as ended, and one that ended and is as it was.
    change(path, "UPDATE task SET status = 'done' WHERE task_id = 't1'")
    change(path, "UPDATE task SET fence = fence + 1 WHERE task_id = 't2'")
    told: list[TracekitError] = []
    far_ms = 10**15

    counts = store.prune(before_ms=far_ms, keep_every=1, forget_before_ms=far_ms, damaged=told.append)

    assert (counts["task"], counts["step"]) == (1, 1)
    assert [("t1" in str(error), "t2" in str(error), error.code) for error in told] == [
        (True, False, "store.damaged"),
        (False, True, "store.damaged"),
    ]
    left = apsw.Connection(str(path))
    assert left.execute("SELECT DISTINCT task_id FROM step ORDER BY task_id").fetchall() == [("t1",), ("t2",)]
    assert left.execute("SELECT count(*) FROM effect").fetchall() == [(1,)]
    left.close()

    ends = main(["prune", "--older-than-days", "0", "--forget-days", "0", "--store", str(path)])

    assert ends == Exit.DAMAGE
    assert "task row at task_id 't1'" in capsys.readouterr().err
