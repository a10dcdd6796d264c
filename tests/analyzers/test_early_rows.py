"""A large log shows the rows of its traces long before it is read, and they are the rows that it has in the end."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tracekit_analyzers.session import Session
from tracekit_analyzers.shortcuts import glance
from tracekit_analyzers.shortcuts.glance import Glance
from tracekit_analyzers.views import Progress


def write(path: Path, traces: int = 40) -> Path:
    with path.open("w") as stream:
        for n in range(traces):
            root = {
                "record": "step",
                "trace_id": f"{n:032x}",
                "step_id": f"r{n}",
                "kind": "task",
                "name": f"run {n}",
            }
            start, end = f"2026-01-01T00:{n:02d}:00.000000Z", f"2026-01-01T00:{n:02d}:09.000000Z"
            child = {**root, "step_id": f"c{n}", "parent_step_id": f"r{n}", "kind": "tool", "name": "look"}
            for line in (
                {**root, "status": "running", "started_at": start, "task_id": f"t{n}"},
                {**child, "status": "ok", "started_at": start, "finished_at": end, "output_snapshot": "x" * 2000},
                {**root, "status": "error" if n % 4 == 0 else "ok", "started_at": start, "finished_at": end},
            ):  # fmt: skip
                stream.write(json.dumps(line) + "\n")
    return path


@pytest.fixture(autouse=True)
def small_logs_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "WORTH_BYTES", 1000)
    monkeypatch.setattr(glance, "HEAD_BYTES", 20_000)


def test_the_first_look_shows_the_beginning_and_the_second_all_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl")
    first = Glance()

    counts = [
        (first.ask("select count(*) from log.trace_rows", ()) or [(0,)])[0][0]
        for _ in first.looks([str(path)])
    ]
    files = first.ask("select distinct file from log.trace_rows", ())
    first.close()

    assert 0 < counts[0] < 40
    assert counts[1] == 40
    assert files == [(str(path),)]


def test_rows_of_the_first_look_are_those_of_the_end_but_for_the_verdicts(tmp_path: Path) -> None:
    session = Session([write(tmp_path / "log.jsonl")], early_rows=True)
    early = []

    def tell(progress: Progress) -> None:
        if progress.stage == "rows":
            early.append(session.traces(sort="started_at"))

    session.load(tell)
    late = session.traces(sort="started_at")
    session.close()

    shown = [
        (row.trace_id, row.task_id, row.name, row.status, row.steps, row.finished_steps) for row in late.rows
    ]
    assert [(r.trace_id, r.task_id, r.name, r.status, r.steps, r.finished_steps) for r in early[1].rows] == shown  # fmt: skip
    assert [(r.started_at, r.duration_ms) for r in early[1].rows] == [
        (r.started_at, r.duration_ms) for r in late.rows
    ]
    assert all(row.code is None for row in early[1].rows)


def test_rows_are_answered_while_the_reading_has_not_begun(tmp_path: Path) -> None:
    session = Session([write(tmp_path / "log.jsonl")], early_rows=True)
    reached, go_on = threading.Event(), threading.Event()

    def tell(progress: Progress) -> None:
        if progress.stage == "reading":
            reached.set()
            assert go_on.wait(30)

    loading = threading.Thread(target=lambda: session.load(tell))
    loading.start()
    assert reached.wait(30)

    early = session.traces(limit=5)
    failed = session.traces(errors_only=True, limit=50)
    go_on.set()
    loading.join(60)
    session.close()

    assert (len(early.rows), early.total) == (5, 40)
    assert failed.total == 10


def test_a_run_that_asks_a_person_waits_until_it_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", traces=2)
    question = {
        "error_type": "tracekit.errors.RequiresReview",
        "error_message": "task t waits for a person at Pay?",
    }
    with path.open("a") as stream:
        for trace, name in (("a" * 32, "asks"), ("b" * 32, "goes on")):
            root = {"record": "step", "trace_id": trace, "step_id": "r", "kind": "task", "name": name}
            ended = {"status": "unknown", "finished_at": "2026-01-01T01:00:09.000000Z", **question}
            begun = {**root, "started_at": "2026-01-01T01:00:00.000000Z"}
            again = {**root, "step_id": "r2", "parent_step_id": "r", "attempt": 2, "status": "running",
                     "started_at": "2026-01-01T02:00:00.000000Z"}  # fmt: skip
            stream.write(
                json.dumps({**begun, "status": "running"}) + "\n" + json.dumps({**begun, **ended}) + "\n"
            )
            stream.write(json.dumps(again) + "\n" if name == "goes on" else "")
    first = Glance()

    list(first.looks([str(path)]))
    shown = (
        first.ask("select name, status from log.trace_rows where length(trace_id) = 32 order by name", ())
        or []
    )
    first.close()

    assert dict(shown)["asks"] == "waiting"
    assert dict(shown)["goes on"] == "unknown"


def test_a_torn_line_does_not_hide_the_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl")
    with path.open("a") as stream:
        stream.write('{"record":"step","trace_id":"ab')
    first = Glance()

    looks = len(list(first.looks([str(path)])))
    found = first.ask("select count(*) from log.trace_rows", ())
    first.close()

    assert (looks, found) == (2, [(40,)])
