"""What a screen is told about a small log that holds a killed refund, a clean run and a wrong hand-over."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tracekit import clock
from tracekit.errors import TracekitError
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.relations.contexts import Contexts
from tracekit_analyzers.session import Session
from tracekit_analyzers.views import Progress

BAD, GOOD = "ab" * 16, "cd" * 16
Record = dict[str, Any]


class StandingClock(clock.SystemClock):
    """A clock that always says the same time."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now_ns(self) -> int:
        return int(self._moment.timestamp()) * 1_000_000_000


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}.000000Z"


def step(trace: str, step_id: str, began: int, ended: int | None, **fields: Any) -> Record:
    times = {"started_at": at(began), **({"finished_at": at(ended)} if ended is not None else {})}
    return {"record": "step", "trace_id": trace, "step_id": step_id, "status": "ok", **times, **fields}


def message(name: str, role: str, content: str, **fields: Any) -> Record:
    return {
        "record": "message",
        "trace_id": BAD,
        "hash": name,
        "role": role,
        "message": {"role": role, "content": content, **fields},
    }


def records() -> list[Record]:
    asked = [{"call_id": "c2", "name": "pay", "arguments": '{"order_id": "A-1024", "amount": "99.50"}'}]
    first = {"digest": "d1", "count": 2, "base": None, "keep": 0, "hashes": ["sys", "user"], "complete": True}
    second = {"digest": "d2", "count": 2, "base": "d1", "keep": 1, "hashes": ["found"], "complete": True}
    return [
        step(BAD, "root", 0, 10, kind="task", name="refund", task_id="ticket-77", status="error", error_type="Refused"),
        message("sys", "system", "You refund [orders]."),
        message("user", "user", "Refund order A-1024"),
        step(BAD, "m1", 1, 2, kind="model", name="ask", parent_step_id="root", context=first, usage={"input_tokens": 10, "output_tokens": 5, "cost": 0.25}),
        step(BAD, "t1", 2, 3, kind="tool", name="find", tool_name="find", parent_step_id="root",
             input_snapshot={"order_id": "A-1024"}, output_snapshot={"order_id": "A-1024", "total": 99.5}),
        message("found", "tool", "99.5", tool_call_id="c1"),
        step(BAD, "m2", 3, 4, kind="model", name="ask", parent_step_id="root", context=second, asked=asked),
        step(BAD, "t2", 4, 9, kind="tool", name="pay", tool_name="pay", call_id="c2", parent_step_id="gone", status="error",
             model_raw_output=asked[0]["arguments"], input_snapshot={"order_id": "A-1024", "amount": 9950},
             output_snapshot={"error": "amount exceeds the order"}, error_type="Refused", error_message="amount exceeds the order"),
        step(GOOD, "g1", 20, 21, kind="task", name="weekly report"),
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "log.jsonl", records())
    return tmp_path


def write(path: Path, lines: list[Record]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def session(folder: Path) -> Iterator[Session]:
    made = Session([folder])
    made.load()
    yield made
    made.close()


def test_the_list_of_traces_tells_how_each_stands(session: Session) -> None:
    page = session.traces()

    assert (page.total, page.unfiltered, page.offset) == (2, 2, 0)
    good, bad = page.rows
    assert (good.name, good.status, good.code) == ("weekly report", "ok", None)
    assert (bad.task_id, bad.name, bad.status, bad.steps) == ("ticket-77", "refund", "error", 5)
    assert (bad.failed_step, bad.failed_name) == ("t2", "pay")
    assert bad.code is not None
    assert bad.code.startswith("parameter.")
    assert (bad.tokens, bad.cost, bad.duration_ms) == (15, 0.25, 10_000.0)
    assert bad.started_at is not None
    assert bad.started_at.utcoffset() is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", 2), ("refund", 1), ("TICKET-77", 1), ("!refund", 1), ("abab", 1), ("status=error", 1), ("status!=error", 1),
        ("tool=pa*", 1), ("tool=pa", 0), ("!tool=pay", 1), ("code=parameter.*", 1), ("steps>1", 1), ("steps<=1", 1),
        ("cost>0.2", 1), ("cost>0.2 status=ok", 0), ("age>1h", 2), ("age<1h", 0),
        ("age<=2h", 2), ("age<2h", 1), ("age<=7190s", 1), ("age>7190s", 1), ("!age>7190s", 1), ('name="weekly report"', 1), ("a=b", 0),
    ],
)  # fmt: skip
def test_a_filter_narrows(session: Session, text: str, found: int) -> None:
    # One trace began two hours before this moment, the other 20 seconds later.
    with clock.use(StandingClock(datetime(2026, 1, 1, 2, tzinfo=UTC))):
        page = session.traces(filter=text)

    assert (page.total, page.unfiltered) == (found, 2)


@pytest.mark.parametrize("text", ["steps>many", "status>ok", "code=", "age<soon", "nonsense>3"])
def test_a_filter_that_can_not_be_read_is_told(session: Session, text: str) -> None:
    with pytest.raises(TracekitError, match="fields are") as caught:
        session.traces(filter=text)

    assert caught.value.code == "filter.syntax"


def test_traces_are_sorted_and_paged(session: Session) -> None:
    assert [row.steps for row in session.traces(sort="-steps").rows] == [5, 1]
    assert [row.steps for row in session.traces(sort="steps", offset=1, limit=1).rows] == [5]
    assert [row.trace_id for row in session.traces(errors_only=True).rows] == [BAD]
    with pytest.raises(TracekitError, match="can't sort"):
        session.traces(sort="drop table")


def test_a_trace_is_found_by_the_beginning_of_its_id_or_by_what_the_list_calls_it(session: Session) -> None:
    for name, trace_id in ((BAD, BAD), ("abab", BAD), ("ticket-77", BAD), ("weekly report", GOOD)):
        row = session.trace(name)
        assert row is not None
        assert row.trace_id == trace_id
    assert session.trace("ffff") is None
    assert session.trace("refund") is None


def test_steps_stand_in_the_order_of_the_tree_under_placeholders_of_missing_parents(session: Session) -> None:
    page = session.steps("abab")

    shown = [(line.step_id, line.depth, line.has_children, line.placeholder) for line in page.rows]
    assert shown == [
        ("root", 0, True, False),
        ("m1", 1, False, False),
        ("t1", 1, False, False),
        ("m2", 1, False, False),
        ("gone", 0, True, True),
        ("t2", 1, False, False),
    ]
    shares = {line.step_id: (line.start_share, line.end_share) for line in page.rows}
    assert shares["t2"] == (0.4, 0.9)


def test_steps_are_paged_and_can_be_narrowed_to_errors(session: Session) -> None:
    page = session.steps(BAD, offset=2, limit=2)

    assert [line.step_id for line in page.rows] == ["t1", "m2"]
    assert (page.total, page.unfiltered) == (6, 6)
    wrong = session.steps(BAD, errors_only=True)
    assert "t2" in [line.step_id for line in wrong.rows]
    assert "t1" not in [line.step_id for line in wrong.rows]
    assert wrong.unfiltered == 6


def test_a_step_shows_what_was_asked_beside_what_was_received(session: Session) -> None:
    detail = session.step(BAD, "t2")

    assert detail is not None
    assert detail.asked_arguments == '{"order_id": "A-1024", "amount": "99.50"}'
    assert json.loads(detail.received_input or "") == {"order_id": "A-1024", "amount": 9950}
    assert [(item.path, item.left, item.right) for item in detail.differences] == [
        ("$.amount", '"99.50"', "9950")
    ]
    assert (detail.error_type, detail.source.line) == ("Refused", 8)
    assert session.step(BAD, "no such step") is None


def test_a_context_tells_what_was_added_and_what_vanished(session: Session) -> None:
    page = session.context(BAD, "m2")

    assert [(line.change, line.role, line.text) for line in page.rows] == [
        ("dropped", "user", "Refund order A-1024"),
        ("kept", "system", "You refund [orders]."),
        ("added", "tool", "99.5"),
    ]
    assert session.context(BAD, "t1").total == 0


def test_lineage_names_the_source_of_each_argument(session: Session) -> None:
    origins = {origin.path: origin for origin in session.lineage(BAD, "t2")}

    assert (origins["$.order_id"].origin_step, origins["$.order_id"].origin_path) == ("t1", "$.order_id")
    assert origins["$.amount"].origin_side is None


def test_a_failed_trace_says_where_it_may_go_on(session: Session) -> None:
    point = session.resumable(BAD)

    assert point is not None
    assert point.seq < 5
    assert point.why_not_later
    assert session.resumable(GOOD) is None


def test_a_growing_folder_is_read_again_and_an_unchanged_one_is_not(session: Session, folder: Path) -> None:
    engine = session.engine
    session.load()
    assert session.engine is engine

    write(folder / "more.jsonl", [step("ef" * 16, "x1", 30, 31, kind="task", name="new")])
    session.load()

    assert session.traces().total == 3


def test_free_queries_read_and_do_nothing_else(session: Session, folder: Path) -> None:
    table = session.sql("select step_id from steps order by seq, step_id", limit=2)

    assert (table.columns, len(table.rows), table.total) == (("step_id",), 2, 6)
    for query, code in (
        ("select 1; select 2", "sql.not_reading"),
        ("drop view steps", "sql.not_reading"),
        (f"copy steps to '{folder}/x.csv'", "sql.not_reading"),
        (f"select * from read_text('{folder}/log.jsonl')", "sql.failed"),
        ("selec", "sql.syntax"),
    ):
        with pytest.raises(TracekitError) as caught:
            session.sql(query)
        assert caught.value.code == code
    assert sorted(path.name for path in folder.iterdir()) == ["log.jsonl"]


def test_it_can_be_asked_from_many_threads_at_once(session: Session) -> None:
    found: list[int] = []

    def ask() -> None:
        for _ in range(10):
            found.append(session.steps(BAD).total + session.traces().total)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [8] * 40


def test_progress_is_told_from_reading_to_done(folder: Path) -> None:
    told: list[Progress] = []
    session = Session([folder])
    session.load(told.append)
    session.close()

    assert [progress.stage for progress in told] == ["reading", "relations", "diagnosing", "done"]
    assert told[0].done_bytes == told[0].total_bytes == (folder / "log.jsonl").stat().st_size


def test_a_context_that_builds_on_hundreds_of_others_of_two_traces_is_told_with_few_questions(
    tmp_path: Path,
) -> None:
    names = [f"h{place}" for place in range(400)]
    log = [
        step(
            BAD if place < 300 else GOOD, f"m{place}", 1, 2, kind="model", name="ask",
            context={"digest": f"d{place}", "count": place + 1, "base": f"d{place - 1}" if place else None, "keep": place,
                     "hashes": [name], "complete": True},
        )
        for place, name in enumerate(names)
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, log)))
    questions: list[str] = []
    with Engine([path]) as engine:
        engine.load()

        def ask(sql: str, parameters: Any) -> list[tuple[Any, ...]]:
            questions.append(sql)
            return engine.con.execute(sql, parameters).fetchall()

        told = Contexts().follow("d399", ask)

    assert told == tuple(names)
    assert len(questions) == 4
