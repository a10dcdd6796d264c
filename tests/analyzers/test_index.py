"""The index beside a log changes how fast an answer comes and never what it says."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.analyzers.test_engine_quick import write
from tracekit_analyzers.reading import files
from tracekit_analyzers.session import Session
from tracekit_analyzers.shortcuts import index, quick

COUNTS = (
    "select tool_name, status, count(*) as n, max(duration_ms) as m from steps group by all order by 1, 2"
)


@pytest.fixture(autouse=True)
def every_log_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "WORTH_BYTES", 1)


def rows(log: Path, query: str = COUNTS) -> object:
    answer = quick.answer([str(log)], query, reader=None, limit=1000)
    return None if answer is None else answer.table.rows


def long_way(log: Path, query: str = COUNTS) -> object:
    session = Session([log], diagnose=False)
    try:
        return session.sql(query, limit=1000).rows
    finally:
        session.close()


def appended(log: Path, *records: dict[str, object]) -> None:
    with log.open("a") as stream:
        stream.writelines(json.dumps(record) + "\n" for record in records)


def step(name: str, **fields: object) -> dict[str, object]:
    return {
        "record": "step",
        "trace_id": "t0",
        "step_id": name,
        "kind": "tool",
        "tool_name": "tool0",
        **fields,
    }


def test_answers_through_the_index_are_those_of_the_log(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    expected = long_way(log)

    assert rows(log) == expected
    made = index.path_of(log)
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert index.find(log, ("tool_name", "status", "duration_ms")) is not None
    before = made.stat().st_ino
    assert rows(log) == expected
    assert made.stat().st_ino == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "log.jsonl.tracekit-index"]


def test_the_second_answer_does_not_read_the_log_again(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    expected = rows(log)
    data, times = log.read_bytes(), log.stat()
    edge = 64 << 10
    assert len(data) < edge
    # The index tells a changed log by its edges, size and time; with all of them kept it must not look at the rest.
    monkey = data.replace(b"tool1", b"tool9")
    real = index.edges(log, len(data))
    log.write_bytes(monkey)
    os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "edges", lambda *_: real)
        assert rows(log) == expected
    assert rows(log) != expected


def test_a_log_that_grows_is_answered_with_what_is_new(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    rows(log)
    before = index.path_of(log).stat().st_ino

    appended(log, step("new", status="ok", finished_at="2026-01-01T01:00:00Z", duration_ms=9_000_000))

    assert rows(log) == long_way(log)
    assert index.path_of(log).stat().st_ino == before
    assert rows(log, "select distinct file from steps") == ((str(log),),)


def test_a_step_that_ends_after_the_index_was_made_is_told_as_ended(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    appended(log, step("late", status="running", started_at="2026-01-01T00:00:00Z"))
    rows(log)

    appended(log, step("late", status="error", finished_at="2026-01-01T02:00:00Z", duration_ms=7))

    query = "select step_id, status, duration_ms from steps where step_id = 'late'"
    assert rows(log, query) == long_way(log, query) == (("late", "error", 7.0),)


@pytest.mark.parametrize("change", ["replaced", "cut", "edited", "deleted index", "ruined index"])
def test_an_index_that_does_not_fit_is_made_anew(change: str, tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    rows(log)
    if change == "replaced":
        write(log, 17)
    elif change == "cut":
        log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:9]))
    elif change == "edited":
        log.write_text(log.read_text().replace("tool2", "tool5"))
    elif change == "deleted index":
        index.path_of(log).unlink()
    else:
        index.path_of(log).write_bytes(b"no database")

    assert rows(log) == long_way(log)


def test_new_columns_join_those_that_are_there(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    rows(log)

    query = "select kind, count(distinct trace_id) from steps group by kind order by kind"
    assert rows(log, query) == long_way(log, query)
    found = index.find(log, ("kind", "tool_name", "status", "duration_ms"))
    assert found is not None


def test_no_index_where_it_can_not_help(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")

    assert rows(log, "select count(*) from steps where input is not null") is not None
    assert not index.path_of(log).exists()
    torn = write(tmp_path / "torn.jsonl")
    with torn.open("a") as stream:
        stream.write('{"record":"step","trace_id":"ab')
    assert rows(torn) == rows(log)
    assert not index.path_of(torn).exists()


def test_damage_is_told_by_the_index_as_by_the_log(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    with log.open("a") as stream:
        stream.write('{"record":"step","trace_id":"ab\n')
    appended(log, {"record": "drops", "count": 3, "reason": "disk full"}, step("odd", duration_ms="long"))

    def damaged() -> int:
        answer = quick.answer([str(log)], COUNTS, reader=None, limit=10)
        assert answer is not None
        return answer.damaged

    assert damaged() == 3
    made = index.path_of(log).stat().st_ino
    assert damaged() == 3
    appended(log, {"record": "drops", "count": 1})
    assert damaged() == 4
    assert index.path_of(log).stat().st_ino == made


def test_an_index_is_no_log(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    rows(log)

    assert [file.path.name for file in files.find([tmp_path], tmp_path)] == ["log.jsonl"]
