"""Like failures over many runs stand in one group, a baseline leaves what is new, and a judge speaks under its own name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracekit.errors import TracekitError
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reports import writer
from tracekit_analyzers.reports.result import matching, of
from tracekit_analyzers.session import Session
from tracekit_analyzers.verdicts.groups import groups, read_baseline, wording
from tracekit_analyzers.verdicts.judging import JudgedRun, Opinion, named


def refused(n: int, *, tool: str = "pay", says: str = "account {n} is closed") -> list[dict[str, Any]]:
    trace = f"{n:032x}"
    began = f"2026-01-0{n + 1}T00:00:00.000000Z"
    ended = f"2026-01-0{n + 1}T00:00:02.000000Z"
    root = {
        "record": "step",
        "trace_id": trace,
        "kind": "task",
        "name": "run",
        "started_at": began,
        "finished_at": ended,
    }
    return [
        {**root, "step_id": f"r{n}", "status": "error"},
        {**root, "step_id": f"p{n}", "parent_step_id": f"r{n}", "kind": "tool", "tool_name": tool, "status": "error",
         "input_snapshot": {"n": n}, "error_type": "Refused", "error_message": "declined: " + says.format(n=7000 + n)},
    ]  # fmt: skip


def clean(n: int) -> list[dict[str, Any]]:
    return [
        {"record": "step", "trace_id": f"{n:032x}", "step_id": f"c{n}", "kind": "task", "name": "run", "status": "ok",
         "started_at": "2026-02-01T00:00:00Z", "finished_at": "2026-02-01T00:00:01Z", "output_snapshot": "fine"},
    ]  # fmt: skip


def write(path: Path, *runs: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for run in runs for record in run))
    return path


def loaded(path: Path) -> Engine:
    engine = Engine([path])
    engine.load()
    return engine


def test_failures_that_differ_in_ids_alone_are_one_group(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", refused(0), refused(1), refused(2, tool="book"), clean(9))
    with loaded(path) as engine:
        found = groups(tuple(engine.verdicts.values()))

    assert [(group.tool, group.traces, group.failures, group.share) for group in found] == [
        ("pay", 2, 2, 0.5),
        ("book", 1, 1, 0.25),
    ]
    assert found[0].code == "tool.rejected"
    assert found[0].lost_ms == 4000.0
    assert str(found[0].first_seen) == "2026-01-01 00:00:00+00:00"
    assert str(found[0].last_seen) == "2026-01-02 00:00:00+00:00"
    assert found[0].example == f"{0:032x}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order A-1024 not found", "order B-7 not found"),
        ("can't reach https://a.example/x?y=1 now", "can't reach http://b/z now"),
        ('field "amount" of 12 items', "field 'price' of 9 items"),
        ("unexpected argument ''", "unexpected argument 'page'"),
        ("at 0xdeadbeef, line 10", "at 0xCAFE, line 2000"),
    ],
)
def test_a_wording_leaves_out_what_differs_from_run_to_run(one: str, other: str) -> None:
    assert wording(one) == wording(other)
    assert wording(one) != wording("quite another thing")


def test_what_the_baseline_knows_is_not_new_and_fails_no_build(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", refused(0))
    report = tmp_path / "report.json"
    with loaded(old) as engine, report.open("wb") as stream:
        writer("json")(of(engine), stream)
    formatted = tmp_path / "formatted.json"
    formatted.write_text(json.dumps(json.loads(report.read_bytes()), indent=2))
    new = write(tmp_path / "new.jsonl", refused(1), refused(2, says="no such currency"))

    with loaded(new) as engine:
        result = of(engine)
        for known in map(read_baseline, (report, formatted, old)):
            told = groups(result.traces, known)
            assert {group.wording: group.is_new for group in told}.values() != {None}
            assert sorted(group.is_new for group in told if group.is_new is not None) == [False, True]
            from dataclasses import replace

            counted = matching(replace(result, baseline=known), ["any"])
            assert [found.trace_id for found in counted] == [f"{2:032x}"]
    assert len(matching(result, ["any"])) == 2


def test_a_judge_is_asked_where_the_rules_are_silent_and_marked(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", refused(0), clean(1))
    asked: list[tuple[str, tuple[str | None, ...]]] = []

    def critic(run: JudgedRun) -> list[Opinion]:
        asked.append((run.verdict.trace_id, tuple(step.output for step in run.steps)))
        return [Opinion("output.boring", run.steps[0].step_id, "nothing came of it", 0.7)]

    with loaded(path) as engine:
        ruled, opined = of(engine, judge=critic).traces
        unasked = of(engine).traces[1]

    assert asked == [(f"{1:032x}", ("fine",))]
    assert all(not found.rule.startswith("judge:") for found in ruled.diagnoses)
    assert unasked.diagnoses == ()
    (said,) = opined.diagnoses
    assert (said.code, said.rule, opined.primary) == ("output.boring", "judge:critic", 0)
    assert said.message == "judge:critic says: nothing came of it"


def test_a_judge_that_fails_is_named(tmp_path: Path) -> None:
    def broken(run: JudgedRun) -> list[Opinion]:
        return [Opinion("x.y", "no such step", "?", 0.5)]

    with loaded(write(tmp_path / "log.jsonl", clean(1))) as engine:
        with pytest.raises(TracekitError, match="broken named step 'no such step'") as caught:
            of(engine, judge=broken)
        with pytest.raises(TracekitError, match="expected each item to be an Opinion") as odd:
            of(engine, judge=lambda run: [{"code": "x.y"}])  # type: ignore[list-item]  # a mistake of a user
        with pytest.raises(TracekitError, match="module:name"):
            named("json")
        with pytest.raises(TracekitError, match="no attribute"):
            named("json:nothing")
    assert caught.value.code == odd.value.code == "judge.failed"
    assert named("json:dumps") is json.dumps


def test_a_filter_narrows_the_list_to_the_traces_of_one_group(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", refused(0), refused(1), refused(2, tool="book"), clean(9))
    session = Session([path])
    pay, book = session.groups()

    page = session.traces(filter=f"group={pay.id}", sort="started_at")
    assert [row.trace_id for row in page.rows] == [f"{0:032x}", f"{1:032x}"]
    assert (page.total, page.unfiltered) == (2, 4)
    assert [row.trace_id for row in session.traces(filter=f"group={book.id[:6]}").rows] == [f"{2:032x}"]
    assert session.traces(filter=f"!group={pay.id} status=error").total == 1
    assert session.traces(filter="group=zz").total == 0
    with pytest.raises(TracekitError, match="beginning of its id"):
        session.traces(filter="group>3")

    write(path, refused(0), clean(9))
    session.load()
    assert [group.traces for group in session.groups()] == [1]
    session.close()
