"""Chat logs: what becomes a step, where its outcome stands, and what is told when a file is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.readers_help import Damage, corpus, input_file, read, steps
from tests.analyzers.readers_samples import SAMPLES
from tracekit_analyzers.readers import miniswe
from tracekit_analyzers.readers.openai_chat import READER


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


REFUND = [
    {"role": "system", "content": "You pay refunds."},
    {"role": "user", "content": "Order A-1 please"},
    {"role": "assistant", "content": None, "tool_calls": [call("c1", "find_order", '{"id": "A-1"}')]},
    {"role": "tool", "tool_call_id": "c1", "name": "find_order", "content": '{"amount": 99.5}'},
    {"role": "assistant", "content": "Paying", "tool_calls": [call("c2", "refund", '{"amount": 99.5')]},
]


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_a_call_is_a_tool_step_at_its_result_with_the_raw_text_and_the_parsed_input(tmp_path: Path) -> None:
    found, damage = read(READER, write(tmp_path / "a.json", REFUND))

    find_order = steps(found, "tool")[0]
    assert find_order["source"] == {"trace_index": 0, "line": None, "index": 3}
    assert find_order["model_raw_output"] == '{"id": "A-1"}'
    assert find_order["input_snapshot"] == {"id": "A-1"}
    assert find_order["output_snapshot"] == '{"amount": 99.5}'
    assert find_order["status"] == "ok"
    assert damage.found == []


def test_a_call_without_a_result_is_unknown_and_stands_where_it_was_asked(tmp_path: Path) -> None:
    found, _ = read(READER, write(tmp_path / "a.json", REFUND))

    refund = steps(found, "tool")[1]
    assert (refund["status"], refund["source"]["index"]) == ("unknown", 4)
    assert "input_snapshot" not in refund  # the raw text is no JSON
    assert refund["model_raw_output"] == '{"amount": 99.5'


def test_contexts_tell_only_what_is_new_since_the_call_before(tmp_path: Path) -> None:
    found, _ = read(READER, write(tmp_path / "a.json", REFUND))

    first, second = (step["context"] for step in steps(found, "model"))
    assert (first["count"], first["base"], len(first["hashes"])) == (2, None, 2)
    assert (second["count"], second["base"], second["keep"], len(second["hashes"])) == (
        4,
        first["digest"],
        2,
        2,
    )


def test_every_message_that_a_context_names_was_written_before_it(tmp_path: Path) -> None:
    found, _ = read(READER, write(tmp_path / "a.json", REFUND))

    known: set[str] = set()
    for record in found:
        if record["record"] == "message":
            known.add(record["hash"])
        else:
            assert set(record.get("context", {}).get("hashes", ())) <= known


def test_each_run_of_a_list_has_its_own_trace_and_trace_index(tmp_path: Path) -> None:
    runs = [{"task_id": 7, "trial": n, "reward": 0.0, "traj": REFUND} for n in range(3)]
    found, _ = read(READER, write(tmp_path / "runs.json", runs))

    assert len({record["trace_id"] for record in found}) == 3
    assert {record["source"]["trace_index"] for record in found} == {0, 1, 2}
    assert {record["task_id"] for record in steps(found)} == {"7/trial-0", "7/trial-1", "7/trial-2"}


def test_ids_stay_when_the_file_is_moved_and_differ_between_files(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    one = read(READER, write(tmp_path / "a.json", REFUND))[0]
    moved = read(READER, write(tmp_path / "x" / "a.json", REFUND))[0]
    other = read(READER, write(tmp_path / "x" / "b.json", REFUND))[0]

    assert one == moved
    assert one[0]["trace_id"] != other[0]["trace_id"]


def test_a_file_cut_in_its_third_run_keeps_two_and_tells_the_place(tmp_path: Path) -> None:
    text = json.dumps([{"traj": REFUND}] * 3)
    path = tmp_path / "cut.json"
    path.write_text(text[: len(text) - 300])
    found, damage = read(READER, path)

    assert len({record["trace_id"] for record in found}) == 2
    assert [bad["reason"].partition(":")[0] for bad in damage.found] == ["cut"]
    assert damage.found[0]["offset"] == text.index("{", text.rindex('"traj"') - 2)


def test_labels_inside_a_run_are_not_read(tmp_path: Path) -> None:
    run = {"history": REFUND, "mistake_step": "2", "ground_truth": "NEVER", "info": {"reward": "NEVER"}}
    found, _ = read(READER, write(tmp_path / "a.json", run))

    assert "NEVER" not in json.dumps(found)
    assert "mistake" not in json.dumps(found)


def test_where_several_agents_talk_each_is_named_and_code_that_was_run_is_a_call(tmp_path: Path) -> None:
    history = [
        {"role": "user", "name": "Coder", "content": "Try\n```python\nprint(1)\n```"},
        {"role": "user", "name": "Terminal", "content": "exitcode: 1 (execution failed)\nCode output: boom"},
        {"role": "assistant", "name": "Checker", "content": "It failed."},
    ]
    found, _ = read(READER, write(tmp_path / "a.json", {"history": history}))

    assert [(step["kind"], step.get("agent")) for step in steps(found)] == [
        ("model", "Coder"),
        ("tool", "Coder"),
        ("model", "Checker"),
    ]
    ran = steps(found, "tool")[0]
    assert ran["input_snapshot"] == {"language": "python", "code": "print(1)"}
    assert (ran["status"], ran["attributes"]["exit_code"]) == (
        "ok",
        1,
    )  # said in text, so left to the failure classes
    assert ran["source"]["index"] == 1
    assert steps(found, "model")[0]["context"]["complete"] is False


def test_json_lines_of_conversations_are_runs(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps({"messages": REFUND}) + "\n" for _ in range(2)))
    found, _ = read(READER, path)

    assert READER.sniff(input_file(path)) > 0
    assert len({record["trace_id"] for record in found}) == 2


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, [], [1, 2], {"resourceSpans": []}, [{"name": "x"}], "text"],
    ids=lambda value: str(value),
)
def test_other_json_is_not_taken_for_a_chat(tmp_path: Path, value: Any) -> None:
    assert READER.sniff(input_file(write(tmp_path / "a.json", value))) == 0


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("folder", "runs"), [("taubench_airline", 116), ("agentrx_tau_retail", 45)], ids=["airline", "retail"]
)
def test_tau_bench_errors_stand_at_their_message(folder: str, runs: int) -> None:
    traces: set[str] = set()
    at: dict[tuple[str, int, int], Any] = {}
    for path in sorted(corpus(folder).glob("*.json")):
        found, damage = read(READER, path)
        assert damage.found == []
        traces |= {record["trace_id"] for record in found}
        for step in steps(found, "tool"):
            at[path.name, step["source"]["trace_index"], step["source"]["index"]] = step

    assert len(traces) == runs
    for line in (corpus(folder) / "tool_errors.jsonl").read_text().splitlines():
        error = json.loads(line)
        step = at[error["file"], error["trace_index"], error["message_index"]]
        assert step["tool_name"] == error["tool"]
        assert step["output_snapshot"] == error["error"]


@pytest.mark.corpus
@pytest.mark.parametrize("folder", ["whowhen", "agentrx_magentic"])
def test_every_labelled_step_of_a_talk_among_agents_is_a_step(folder: str) -> None:
    missing = []
    for line in (corpus(folder) / "labels.jsonl").read_text().splitlines():
        label = json.loads(line)
        found, _ = read(READER, corpus(folder) / label["file"])
        index = label.get("critical_message_index", label["critical_step"])
        if int(index) not in {step["source"]["index"] for step in steps(found)}:
            missing.append((label["file"], index))

    assert missing == []


def test_a_damage_report_is_asked_for_every_bad_message(tmp_path: Path) -> None:
    damage = Damage()
    list(READER.read(input_file(write(tmp_path / "a.json", [*REFUND, "stray"])), damage))

    assert [bad["reason"].split()[0] for bad in damage.found] == ["not_object"]


def test_what_openrouter_says_a_response_cost_is_the_cost_of_its_step(tmp_path: Path) -> None:
    sample = json.loads(json.dumps(SAMPLES["miniswe"]))
    sample["messages"][1]["extra"]["response"]["usage"] = {
        "prompt_tokens": 3,
        "completion_tokens": 1,
        "cost": 0.25,
    }
    path = tmp_path / "run.traj.json"
    path.write_text(json.dumps(sample))
    found, _ = read(miniswe.READER, path)
    assert [step["usage"] for step in steps(found, "model")] == [
        {"input_tokens": 3, "output_tokens": 1, "cost": 0.25}
    ]
