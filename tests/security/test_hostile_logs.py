"""Logs of strangers that were made to burst, to hang or to break their reader: read in bounded time, and told as damage."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.readers_help import Damage, input_file
from tracekit_analyzers.readers import _bounds, _packed, _source, _sqlite, native
from tracekit_analyzers.readers._zip import json_entries
from tracekit_analyzers.reading import nesting
from tracekit_analyzers.reading.damage import examine
from tracekit_analyzers.session import Session

GOOD = {
    "record": "step",
    "trace_id": "good",
    "step_id": "1",
    "kind": "tool",
    "name": "t",
    "tool_name": "t",
    "status": "ok",
}


def line(**fields: Any) -> bytes:
    return json.dumps(GOOD | fields).encode() + b"\n"


def nested(opening: bytes, closing: bytes, levels: int) -> bytes:
    return (
        b'{"record":"step","trace_id":"deep","step_id":"1","kind":"tool","input_snapshot":'
        + opening * levels
        + b"1"
        + closing * levels
        + b"}\n"
    )


LOGS = {
    "numbers": (b'{"record":"step","trace_id":"t","step_id":"s","duration_ms":1e999,"attempt":' + b"9" * 10_000 + b',"seq":-0}\n', ""),
    "not a number": (b'{"record":"step","trace_id":"t","step_id":"s","duration_ms":NaN}\n', "not_finite"),
    "deep lists": (nested(b"[", b"]", 100_000), "too_deep"),
    "deep objects": (nested(b'{"a":', b"}", 100_000), "too_deep"),
    "a deep text": (line(input_snapshot="[" * 100_000 + "]" * 100_000, step_id="2"), "too_deep"),
    "deep and open": (b'{"record":"step","input_snapshot":' + b"[" * 100_000 + b"\n", "too_deep"),
    "the same key": (b'{"record":"step","trace_id":"t","trace_id":"u","step_id":"s"}\n', "duplicate_key"),
    "half a letter": (b'{"record":"step","trace_id":"t\\ud800","step_id":"s"}\n', "lone_surrogate"),
    "nothing but zeros": (b"\0" * 5000 + b"\n", "nul_block"),
    "zeros inside": (line(step_id="3").replace(b"tool", b"to\0ol"), "nul_block"),
    "another encoding": (line(step_id="4", name="b\xe9").replace(b"\\u00e9", b"\xe9"), "invalid_utf8"),
    "UTF-16": (line(step_id="5").decode().encode("utf-16-le"), "nul_block"),
    "torn again and again": (b'{"record"' * 100_000 + b"\n", "not_json"),
    "glued": (b'{"record":"step","trace_id":"g","step_id":"1"}' * 2_000 + b"\n", "glued"),
    "quotes": (b'"' * 1001 + b"\n", "not_object"),
    "backslashes": (b'{"record":"' + b"\\" * 1_000_001 + b"\n", "cut"),
    "times": (line(step_id="6", started_at="9999999-01-01T00:00:00Z", finished_at="-infinity"), "wrong_type"),
    "types": (b"".join(line(step_id=f"7{value}", attempt=value, duration_ms=value) for value in ("x", [], {}, True)), "wrong_type"),
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Of each log, the words of its damage; all are read together, each with a good line behind."""
    folder = tmp_path_factory.mktemp("hostile")
    for number, (data, _) in enumerate(LOGS.values()):
        (folder / f"{number:02}.jsonl").write_bytes(
            line(trace_id=f"first{number}") + data + line(trace_id=f"last{number}")
        )
    session = Session([folder])
    session.load()
    try:
        found: dict[str, set[str]] = {name: set() for name in LOGS}
        for bad in session.damage():
            found[list(LOGS)[int(Path(bad.file).stem)]].add(bad.reason)
        kept = {row[0] for row in session.sql("select distinct trace_id from steps", limit=100_000).rows}
        assert {f"{end}{number}" for number in range(len(LOGS)) for end in ("first", "last")} - kept <= {
            "last12"
        }
        return found
    finally:
        session.close()


@pytest.mark.parametrize("name", LOGS)
def test_what_is_wrong_is_told_and_what_stands_around_it_is_kept(
    told: dict[str, set[str]], name: str
) -> None:
    assert any(LOGS[name][1] in reason for reason in told[name]), told[name]


def test_contexts_that_build_on_each_other_end(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    contexts = [{"digest": "a", "base": "b", "keep": 1, "hashes": ["h"]}, {"digest": "b", "base": "a", "keep": 1, "hashes": ["h"]},
                {"digest": "c", "base": "c", "keep": 10**15, "hashes": ["h"], "count": 10**15}]  # fmt: skip
    path.write_bytes(
        b"".join(line(step_id=str(n), kind="model", context=each) for n, each in enumerate(contexts))
    )
    session = Session([path])
    session.load()
    try:
        for number in range(3):
            assert session.context("good", str(number)).total <= 2
    finally:
        session.close()


def test_steps_that_are_each_others_parents_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        line(step_id="a", parent_step_id="b")
        + line(step_id="b", parent_step_id="a")
        + line(step_id="c", parent_step_id="c")
    )
    session = Session([path], diagnose=False)
    session.load()
    try:
        assert {step.step_id for step in session.steps("good").rows} >= {"a", "b", "c"}
    finally:
        session.close()


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("1", 0),
        ("[[]]", 2),
        ('{"a":"[[[["}', 1),
        ('"[[1]]"', 2),
        ('"\\"[[[]]]\\""', 3),
        ("[[[", 3),
        ('"[', 1),
    ],
)
def test_depth_is_that_of_the_brackets_outside_of_texts(text: str, levels: int) -> None:
    assert nesting.depth(text) == levels


def test_an_archive_that_bursts_is_cut_where_it_becomes_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounds, "UNPACKED_BYTES", 4 << 20)
    path = tmp_path / "log.jsonl.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(line() + line(step_id="2") + b" " * (64 << 20))
    damage = Damage()
    with pytest.raises(_packed.PackedTooWell, match="too_large"):
        list(native.repaired(input_file(path), damage))
    session = Session([path], diagnose=False)
    session.load()
    try:
        assert session.sql("select count(*) from steps").rows == ((2,),)
        assert "too_large" in session.damage()[0].reason
    finally:
        session.close()


def test_a_value_that_would_fill_the_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="items"):
        _bounds.loads(b"[" + b"[]," * (_bounds.MOST_ITEMS // 2 + 1) + b"[]]", json.loads)
    monkeypatch.setattr(_bounds, "LONGEST_VALUE", 100)
    path = tmp_path / "long"
    path.write_bytes(b"[1]\n" + b"x" * 1000 + b"\n[2]\n")
    with path.open("rb") as stream:
        assert [len(each) for each in _bounds.bounded_lines(stream)] == [4, 100, 4]
    damage = Damage()
    path.write_bytes(b'{"a":"' + b"x" * 1000 + b'"}')
    assert _source.whole(input_file(path), damage) is None
    assert damage.found


def test_entries_of_an_archive_are_read_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "in" / "log.eval"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../escaped.json", "{}")
        archive.writestr("/absolute.json", "{}")
        archive.writestr("bomb.json", b" " * (64 << 20))
        archive.writestr("deep.json", "[" * 100_000)
        archive.writestr("good.json", '{"a": 1}')
    damage = Damage()
    found = dict(json_entries(input_file(path), damage, lambda name: True))
    assert found["good.json"] == {"a": 1}
    assert set(found) == {"../../escaped.json", "/absolute.json", "good.json"}
    assert [str(bad[3] if isinstance(bad, tuple) else bad) for bad in damage.found] != []
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["in", "log.eval"]


def test_a_database_of_a_stranger_runs_nothing_and_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as con:
        con.execute("create table checkpoints (thread_id text, checkpoint blob)")
        con.execute("create trigger t after insert on checkpoints begin delete from checkpoints; end")
        con.execute(
            "create view writes as with recursive n(i) as (select 1 union all select i + 1 from n) select * from n"
        )
        con.execute("insert into checkpoints values ('a', zeroblob(100))")
    con.close()
    before = path.read_bytes()
    assert _sqlite.tables(input_file(path)) == {"checkpoints"}, "a view is no table"
    with _sqlite.opened(path) as con:
        for statement in (
            "insert into checkpoints values ('b', null)",
            "create table x (y)",
            "select load_extension('x')",
            "vacuum into 'x.db'",
        ):
            with pytest.raises(sqlite3.Error):
                con.execute(statement)
        with pytest.raises(sqlite3.Error):
            con.execute("select zeroblob(1000000000)").fetchall()
    assert path.read_bytes() == before
    path.write_bytes(before[:28] + b"\xff\xff\xff\xff" + before[32:100] + b"\xff" * (len(before) - 100))
    _sqlite.tables(input_file(path))
    assert [each.name for each in tmp_path.iterdir()] == ["state.db"]


def test_a_key_that_stands_twice_among_very_many_is_found() -> None:
    keys = b",".join(b'"k%d":1' % number for number in range(100_000))
    (piece,) = examine(b"{" + keys + b',"k99999":2}')
    assert piece.reason is not None
    assert "duplicate_key k99999" in piece.reason


def test_a_line_of_a_million_pieces_is_taken_apart_in_one_go() -> None:
    assert len(examine(b'{"a":1}' * 50_000)) == 50_000
