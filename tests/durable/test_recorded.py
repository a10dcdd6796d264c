"""What the log says of a durable task: one trace over all attempts, no line for a replayed call, lost steps ended."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.durable.test_kill_matrix import World
from tracekit.durable.api import plan
from tracekit.testing.faults import Faults, killing


def lines_of(home: Path) -> list[dict[str, Any]]:
    """Step lines of all files, oldest file first."""
    found = []
    for path in sorted((home / "traces").glob("*.jsonl"), key=lambda each: each.stat().st_mtime_ns):
        found += [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in found if line["record"] == "step"]


@tracekit.tool(effect="write")
def put(name: str) -> str:
    return name


def ask(messages: list[Any], tools: list[Any]) -> Any:
    call = {"id": "c1", "type": "function", "function": {"name": "put", "arguments": '{"name": "x"}'}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_raw_text_received_input_and_effect_stand_side_by_side(own_home: Path) -> None:
    tracekit.init(home=own_home)

    @tracekit.task
    def job(run: tracekit.Run) -> None:
        reply = run.model(ask, [{"role": "user", "content": "go"}], tools=[put])
        run.tools(reply.tool_calls)

    job.start(task_id="t")

    ended = {line["name"]: line for line in lines_of(own_home) if line["status"] != "running"}
    started = {line["name"]: line for line in lines_of(own_home) if line["status"] == "running"}
    assert started["put"]["model_raw_output"] == '{"name": "x"}'
    assert started["put"]["input_snapshot"] == {"name": "x"}
    assert ended["put"]["effect"]["status"] == "success"
    assert ended["ask"]["asked"] == [{"call_id": "c1", "name": "put", "arguments": '{"name": "x"}'}]
    assert {line["task_id"] for line in lines_of(own_home)} == {"t"}


def test_what_a_tool_declares_stands_in_the_log(own_home: Path) -> None:
    tracekit.init(home=own_home)

    def by_post(name: str) -> str:
        return name

    @tracekit.tool(effect="write", undo=by_post, fallback=[by_post], critical=False)
    def write(name: str) -> str:
        return name

    @tracekit.task
    def job(run: tracekit.Run) -> None:
        run.tool(write, "x")

    job.start(task_id="t")
    write("beside a task")

    told = {
        "tracekit.critical": False,
        "tracekit.undo": "by_post",
        "tracekit.fallback": ["by_post"],
    }
    inside, beside = [line["attributes"] for line in lines_of(own_home) if line["name"] == "write"][::2]
    assert inside == inside | told
    assert beside == told


def test_a_replayed_call_writes_no_line_and_the_second_attempt_hangs_below_the_first(own_home: Path) -> None:
    tracekit.init(home=own_home)
    broken = [1]

    @tracekit.task
    def job(run: tracekit.Run) -> str:
        put("a")
        if broken:
            broken.pop()
            raise RuntimeError("once")
        return put("b")

    with pytest.raises(RuntimeError):
        job.start(task_id="t")
    tracekit.resume("t")

    ends = [line for line in lines_of(own_home) if line["status"] != "running"]
    assert [(line["kind"], line["attempt"], line["status"]) for line in ends] == [
        ("tool", 1, "ok"),
        ("task", 1, "error"),
        ("tool", 2, "ok"),
        ("task", 2, "ok"),
    ]
    assert len({line["trace_id"] for line in ends}) == 1
    assert ends[3]["parent_step_id"] == ends[1]["step_id"]
    assert ends[2]["parent_step_id"] == ends[3]["step_id"]


def test_tries_are_one_step_with_a_count(own_home: Path, faults: Faults) -> None:
    tracekit.init(home=own_home)

    @tracekit.tool(effect="write", retry=tracekit.Retry(base_s=0))
    def quick(name: str) -> str:
        return name

    faults.fail(quick, tracekit.NotExecuted("down"), times=2)

    @tracekit.task
    def quick_job(run: tracekit.Run) -> str:
        return run.tool(quick, "a")

    quick_job.start(task_id="t")

    (end,) = [line for line in lines_of(own_home) if line["kind"] == "tool" and line["status"] != "running"]
    assert (end["tries"], end["attempt"], end["status"]) == (3, 1, "ok")


def test_a_lost_step_is_ended_in_the_log_by_the_process_that_settles_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.run("start", "sync", kill=killing("before_commit:after_effect")) == -signal.SIGKILL
    home = tmp_path / "home"
    open_refund = [line for line in lines_of(home) if line["name"] == "refund"]
    assert [line["status"] for line in open_refund] == ["running"]

    assert world.run("resume") == 0

    refund = [line for line in lines_of(home) if line["step_id"] == open_refund[0]["step_id"]]
    assert [line["status"] for line in refund] == ["running", "ok"]
    assert refund[1]["effect"]["status"] == "success"
    assert not {"attempt", "process_id", "pid", "started_at", "seq"} & refund[1].keys()
    assert refund[1]["attributes"]["tracekit.settled_by_attempt"] == 2
    assert refund[1]["attributes"]["tracekit.settled_by"] != refund[0]["process_id"]


def test_a_task_that_a_living_process_holds_has_nothing_to_recover() -> None:
    seen = []

    @tracekit.task
    def job(run: tracekit.Run) -> None:
        seen.append(plan("t"))

    job.start(task_id="t")

    assert (seen[0].action, seen[0].rule_id) == ("wait", "owner.alive")
