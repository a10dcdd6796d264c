"""The relations made of small native logs, and of a log that a real killed process left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tracekit.errors import TracekitError
from tracekit.snapshot import to_log
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reading import database

Record = dict[str, Any]
TRACE = "ab" * 16


@dataclass(frozen=True, slots=True)
class Ordered:
    order_id: str
    total: Decimal


def step(step_id: str, **fields: Any) -> Record:
    return {"record": "step", "trace_id": TRACE, "step_id": step_id, "kind": "tool", "status": "ok", **fields}


def message(name: str, role: str, text: str, **fields: Any) -> Record:
    content = {"role": role, "content": text, **fields}
    return {"record": "message", "trace_id": TRACE, "hash": name, "role": role, "message": content}


def context(digest: str, hashes: list[str], *, base: str | None = None, keep: int = 0) -> Record:
    return {
        "digest": digest,
        "count": keep + len(hashes),
        "base": base,
        "keep": keep,
        "hashes": hashes,
        "complete": True,
    }


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """Rows of a query over the relations of the given records."""

    def asked(records: list[Record], query: str) -> list[tuple[Any, ...]]:
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        with Engine([path], diagnose=False) as engine:
            engine.load()
            return engine.con.execute(query).fetchall()

    return asked


Ask = Callable[[list[Record], str], list[tuple[Any, ...]]]


def test_the_last_line_of_a_step_wins_where_it_has_the_field(ask: Ask) -> None:
    records = [
        step("s1", status="running", input_snapshot={"a": 1}, context=context("d", []), tries=1),
        step("s1", status="ok", output_snapshot=7, tries=3),
    ]

    rows = ask(records, "select status, input ->> '$.a', output_text, tries, context_digest, line from steps")

    assert rows == [("ok", "1", "7", 3, "d", 2)]


@pytest.mark.parametrize(
    "told",
    [
        [{"a": 1, "b": [1, 2]}, {"b": [3], "c": None}],
        [{"a": 1, "b": 7}, None, {"b": [3]}],
        [{"b": [9]}, {"a": 2, "b": 7}, {"a": 1}, {"b": [3]}],
    ],
)
def test_attributes_of_later_lines_win_key_by_key(told: list[Any], ask: Ask) -> None:
    ends = [{}] * (len(told) - 1) + [{"finished_at": "2026-01-01T00:00:09Z"}]
    records = [step("s1", attributes=each, **end) for each, end in zip(told, ends, strict=True)]

    [(found,)] = ask(records, "select attributes::varchar from steps")

    assert json.loads(found) == {"a": 1, "b": [3]}


def test_what_a_tool_declared_stays_when_a_recovery_settles_the_step(ask: Ask) -> None:
    declared, settled = {"tracekit.undo": "cancel"}, {"tracekit.settled_by": "p2"}
    ended = {"status": "ok", "finished_at": "2026-01-01T00:00:09Z", "attributes": settled}
    # The file of the recovery may be read first: an end is later than a start, wherever it stands.
    records = [step("s1", **ended), step("s1", status="running", attributes=declared)]

    [(found, status)] = ask(records, "select attributes::varchar, status from steps")

    assert (json.loads(found), status) == ({**declared, **settled}, "ok")


def test_steps_are_numbered_by_start_and_then_by_line(ask: Ask) -> None:
    records = [
        step("late", started_at="2026-01-01T00:00:02Z"),
        step("early", started_at="2026-01-01T00:00:01Z"),
        step("zone", started_at="2026-01-01T02:00:01.5+02:00"),
        step("none"),
        step("number", started_at=1767225603),
    ]

    assert [row[0] for row in ask(records, "select step_id from steps order by seq")] == [
        "early", "zone", "none", "late", "number",
    ]  # fmt: skip


def test_a_trace_of_several_files_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(step("s1", task_id="t-7", attempt=1)) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps(step("s2", task_id="t-7", attempt=2)) + "\n")

    with Engine([tmp_path], diagnose=False) as engine:
        engine.load()
        rows = engine.con.execute("select trace_id, task_id, steps from traces").fetchall()

    assert rows == [(TRACE, "t-7", 2)]


def test_a_step_told_in_two_files_is_counted_once(tmp_path: Path) -> None:
    for name in ("log.jsonl", "copy.jsonl"):
        (tmp_path / name).write_text(json.dumps(step("s1")) + "\n")

    with Engine([tmp_path], diagnose=False) as engine:
        engine.load()
        assert engine.con.execute("select count(*) from steps").fetchone() == (1,)


def test_a_call_is_asked_and_received(ask: Ask) -> None:
    asked = [
        {"call_id": "c1", "name": "refund", "arguments": '{"amount": "99.50"}'},
        {"call_id": "c2", "name": "notify", "arguments": "{}"},
    ]
    records = [
        step("m1", kind="model", asked=asked, context=context("d1", ["u"])),
        step("t1", parent_step_id="m1", tool_name="refund", call_id="c1", input_snapshot={"amount": 9950}, output_snapshot="ok"),
        message("u", "user", "hi"),
        message("r1", "tool", "ok", tool_call_id="c1"),
        step("m2", kind="model", context=context("d2", ["r1"], base="d1", keep=1)),
    ]  # fmt: skip

    rows = ask(
        records,
        "select name, asked_arguments, step_id, answered, in_next_context from calls order by name desc",
    )

    assert rows == [("refund", '{"amount": "99.50"}', "t1", True, True), ("notify", "{}", None, False, False)]


def test_calls_that_share_an_id_are_paired_in_their_order(ask: Ask) -> None:
    one = [{"call_id": "c", "name": "find", "arguments": '{"n": 1}'}]
    two = [{"call_id": "c", "name": "find", "arguments": '{"n": 2}'}]
    records = [
        step("m1", kind="model", asked=one),
        step("t1", tool_name="find", call_id="c"),
        step("m2", kind="model", asked=two),
        step("t2", tool_name="find", call_id="c"),
    ]

    assert ask(records, "select step_id, asked_arguments from calls order by step_id") == [
        ("t1", '{"n": 1}'),
        ("t2", '{"n": 2}'),
    ]


def asking(step_id: str, seq: int, *arguments: str, parent: str = "agent") -> Record:
    """A model step that asks for `pay` once with each of *arguments*."""
    calls = [
        {"call_id": f"{step_id}-{n}", "name": "pay", "arguments": raw} for n, raw in enumerate(arguments)
    ]
    return step(step_id, kind="model", name="chat", started_at=seq, parent_step_id=parent, asked=calls)


def received(step_id: str, seq: int, value: Any, *, parent: str = "agent") -> Record:
    """The span of a tool that carries no call id."""
    return step(
        step_id,
        name="pay",
        tool_name="pay",
        started_at=seq,
        parent_step_id=parent,
        input_snapshot=value,
        output_snapshot={},
    )


def test_a_tool_span_without_a_call_id_belongs_to_the_last_model_step_that_asked_for_the_tool(
    ask: Ask,
) -> None:
    records = [
        asking("m1", 1, '{"amount": 1}'),
        received("t1", 2, {"amount": 1}, parent="elsewhere"),
        asking("m2", 3, '{"amount": 2}', '{"amount": 3}'),
        received("t3", 4, {"amount": 3}),
        received("t2", 5, {"amount": 2}),
        asking("m3", 6, '{"amount": "99.50"}'),
        received("t4", 7, {"amount": 9950}),
    ]
    assert ask(records, "select call_id, asked_step, step_id from calls order by call_id") == [
        ("m1-0", "m1", "t1"),
        ("m2-0", "m2", "t2"),
        ("m2-1", "m2", "t3"),
        ("m3-0", "m3", "t4"),
    ]


def test_a_tool_span_is_not_guessed_to_be_a_call_that_it_may_not_be(ask: Ask) -> None:
    records = [
        asking("m1", 1, '{"amount": 1}'),
        received("t1", 2, {"amount": 7}, parent="another agent"),
        asking("m2", 3, '{"amount": 2}', '{"amount": 3}'),
        received("t2", 4, {"amount": 8}),
        received("t3", 5, {"amount": 3}),
    ]
    paired = "select call_id, step_id from calls where asked_step is not null and step_id is not null"
    assert ask(records, paired) == [("m2-1", "t3")]


def test_changes_of_a_context_are_told_by_message(ask: Ask) -> None:
    records = [
        *(message(name, "user", name) for name in "abcd"),
        step("m1", kind="model", context=context("d1", ["a", "b", "c"])),
        step("m2", kind="model", context=context("d2", ["d"], base="d1", keep=3)),
        step("m3", kind="model", context=context("d3", ["d"], base="d1", keep=1)),
    ]

    rows = ask(
        records, "select step_id, previous_step, kept, added, dropped from context_changes order by seq"
    )

    assert rows == [
        ("m1", None, 0, ["a", "b", "c"], []),
        ("m2", "m1", 3, ["d"], []),
        ("m3", "m2", 2, [], ["b", "c"]),
    ]


def test_a_context_that_builds_on_another_trace_has_its_messages(ask: Ask) -> None:
    records = [
        message("sys", "system", "You refund."),
        step("m1", kind="model", trace_id="ff" * 16, context=context("d1", ["sys"])),
        message("u", "user", "A-1024"),
        step("m2", kind="model", context=context("d2", ["u"], base="d1", keep=1)),
    ]

    rows = ask(records, f"select hash, pos, role, text from messages where trace_id = '{TRACE}' order by pos")

    assert rows == [("sys", 1, "system", "You refund."), ("u", 2, "user", "A-1024")]


def test_an_argument_is_traced_to_the_output_that_held_it(ask: Ask) -> None:
    records = [
        step("s1", tool_name="find", output_snapshot={"order": {"total": 10.0, "lines": [{"sku": "K-7"}]}}),
        step("s2", tool_name="refund", input_snapshot={"amount": 10, "sku": "K-7", "reason": "broken"}),
    ]

    rows = ask(records, "select key, origin_step, origin_path, exact from origins order by key")

    assert rows == [("amount", "s1", "$.order.total", True), ("sku", "s1", "$.order.lines[0].sku", True)]


@pytest.mark.parametrize(
    ("received", "path"),
    [
        ({"amount": Decimal("99.50")}, "$.amount"),
        ({"order": {"prices": [Decimal("99.50")]}}, "$.order.prices[0]"),
        ({"order": Ordered("A-1024", Decimal("99.50"))}, "$.order.total"),
        ({"amounts": {1: Decimal("99.50")}}, "$.amounts[0][1]"),
    ],
)
def test_an_argument_that_is_not_json_is_traced_by_the_value_that_its_marker_holds(
    received: Record, path: str, ask: Ask
) -> None:
    records = [
        step("s1", seq=1, output_snapshot={"total": "99.50"}),
        step("s2", seq=2, input_snapshot=to_log(received)),
    ]

    rows = ask(records, "select path, key, value, origin_path from origins where seq = 2 and value = '99.50'")
    names = ask(records, "select path from leaves where contains(path, '$tk') or value in ('decimal', 'map')")

    assert rows == [(path, last_name(path), "99.50", "$.total")]
    assert names == []


def last_name(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path).rpartition(".")[2]


def test_an_argument_is_traced_into_free_text_and_into_json_inside_a_text(ask: Ask) -> None:
    records = [
        message("u", "user", "My order A-1024 for Mia Li is broken."),
        step("m1", kind="model", context=context("d1", ["u"])),
        step("s1", tool_name="find", output_snapshot='{"payment": "card_55"}'),
        step(
            "s2",
            tool_name="refund",
            input_snapshot={"order": "A-1024", "to": "card_55", "name": "mia li", "id": "A-9"},
        ),
    ]

    rows = ask(records, "select key, origin_side, exact from origins where step_id = 's2' order by key")

    assert rows == [("name", "user", False), ("order", "user", True), ("to", "output", True)]


def test_an_answer_that_came_later_is_no_origin(ask: Ask) -> None:
    records = [
        step(
            "slow",
            output_snapshot="K-7",
            started_at="2026-01-01T00:00:00Z",
            finished_at="2026-01-01T00:00:09Z",
        ),
        step(
            "fast",
            input_snapshot={"sku": "K-7"},
            started_at="2026-01-01T00:00:01Z",
            finished_at="2026-01-01T00:00:02Z",
        ),
    ]

    assert ask(records, "select * from origins") == []


def test_what_the_model_asked_itself_is_no_origin(ask: Ask) -> None:
    asked = [{"call_id": "c1", "name": "refund", "arguments": '{"id": "X-1"}'}]
    records = [
        message("u", "user", "hi"),
        step(
            "m1", kind="model", context=context("d1", ["u"]), asked=asked, output_snapshot="I refund X-1 now"
        ),
        step("t1", parent_step_id="m1", tool_name="refund", call_id="c1", input_snapshot={"id": "X-1"}),
        message("a", "assistant", "I refund X-1 now"),
        step("m2", kind="model", context=context("d2", ["a"], base="d1", keep=1)),
    ]

    assert ask(records, "select * from origins where step_id = 't1'") == []


def test_facts_about_a_tool_are_learned_from_its_good_calls(ask: Ask) -> None:
    records = [
        step(
            f"s{n}",
            tool_name="ship",
            duration_ms=100 + n % 3,
            input_snapshot={"to": f"K{n}", "speed": ["slow", "fast"][n % 2]},
        )
        for n in range(40)
    ] + [step("bad", tool_name="ship", status="error", input_snapshot={"to": 5})]

    ((calls, good, median, schema),) = ask(
        records, "select calls, good_calls, median_ms, schema from tool_facts"
    )

    assert (calls, good, median) == (41, 40, 101.0)
    assert json.loads(schema) == {
        "type": "object",
        "properties": {"speed": {"type": "string", "enum": ["fast", "slow"]}, "to": {"type": "string"}},
        "required": ["speed", "to"],
    }


AGENT = """
import sys, time
import tracekit
from tracekit.recording.recorder import recorder
tracekit.init(service="refunds", home=sys.argv[1])
with recorder().begin("task", "refund", task_id="ticket-77").active():
    recorder().begin("tool", "find", tool_name="find", input={"order_id": "A-1024"}).finish("ok", output={"total": 9.5})
    recorder().begin("tool", "pay", tool_name="pay", input={"amount": 9.5})
    print("open", flush=True)
    time.sleep(60)
"""


def test_a_living_process_is_open_and_a_killed_one_is_killed(tmp_path: Path) -> None:
    agent = subprocess.Popen([sys.executable, "-c", AGENT, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert agent.stdout is not None
        assert agent.stdout.readline() == b"open\n"
        assert _ended_by(tmp_path) == ("open", "running")
        os.kill(agent.pid, signal.SIGKILL)
    finally:
        agent.kill()
        agent.wait()

    assert _ended_by(tmp_path) == ("killed", "killed")


def _ended_by(home: Path) -> tuple[str, str]:
    with Engine([home], diagnose=False) as engine:
        engine.load()
        row = engine.con.execute("select ended_by, status from traces").fetchone()
        steps = engine.con.execute("select kind, status from steps order by seq").fetchall()
    assert steps == [("task", "running"), ("tool", "ok"), ("tool", "running")]
    assert row is not None
    return row


def test_a_path_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(TracekitError, match="found nothing at") as caught,
        Engine([tmp_path / "no.jsonl"]) as engine,
    ):
        engine.load()

    assert caught.value.code == "input.missing"


def test_a_file_in_no_known_format_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")

    with pytest.raises(TracekitError, match="--reader") as caught, Engine([tmp_path]) as engine:
        engine.load()

    assert caught.value.code == "input.no_reader"


def test_an_empty_log_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")

    with Engine([tmp_path / "empty.jsonl"]) as engine:
        engine.load()
        assert engine.verdicts == {}


def test_large_logs_are_diagnosed_bucket_by_bucket_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("w") as out:
        for trace in range(40):
            for place in range(5):
                failed = place == 4 and trace % 3 == 0
                record = step(
                    f"{trace:08x}{place:08x}", trace_id=f"{trace:032x}", tool_name="pay", seq=place + 1,
                    input_snapshot={"n": place}, output_snapshot={"error": "declined"} if failed else {"n": place + 1},
                    status="error" if failed else "ok", error_type="Declined" if failed else None,
                )  # fmt: skip
                out.write(json.dumps(record) + "\n")
    with Engine([path]) as whole:
        whole.load()
        monkeypatch.setattr("tracekit_analyzers.reading.fold.BUCKET_STEPS", 30)
        with Engine([path]) as parts:
            parts.load()

            assert parts.buckets > 3
            assert parts.verdicts == whole.verdicts
            assert any(verdict.diagnoses for verdict in whole.verdicts.values())
            for relation in ("steps", "calls", "leaves", "origins", "messages"):
                query = f"select count(*) from {relation}"
                assert parts.con.execute(query).fetchone() == whole.con.execute(query).fetchone()


def test_a_step_without_an_id_gets_the_same_one_whatever_is_read_beside_its_file(tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"record": "step", "kind": "tool", "tool_name": name}) + "\n" for name in ("a", "b")
    )
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).write_text(lines)
    query = "select tool_name, trace_id, step_id from log.steps where file like '%two%' order by line"
    found = []
    for paths in ([tmp_path / "two.jsonl"], [tmp_path]):
        with Engine(paths) as engine:
            engine.load()
            found.append(engine.con.execute(query).fetchall())

    assert found[0] == found[1]
    assert len({row[2] for row in found[0]}) == 2


@pytest.mark.parametrize(
    "body",
    [
        '{"a": 1, "b": {"c": 2.0}, "n": null, "l": [1, 2], "s": "x\\u00e9", "big": 12345678901234567890123, "f": 1e5}',
        '{"a": 1, "b": 2, "a": 3}',
        '{"": 1, "k\\"q": true, "a/b": "~"}',
        "{}",
    ],
)
def test_members_are_those_that_each_key_gives_by_itself(body: str, tmp_path: Path) -> None:
    con = database.connect(tmp_path, 0)
    one_by_one = (
        "select key, cast(nullif(json_extract(body, pointer(key)), 'null'::json) as varchar) "
        "from (select ?::json as body, unnest(json_keys(?::json)) as key)"
    )

    found = con.execute(
        "select member.key, cast(nullif(member.value, 'null'::json) as varchar) from (select unnest(members_of(?::json)) as member)",
        [body],
    ).fetchall()

    assert found == con.execute(one_by_one, [body, body]).fetchall()
    con.close()
