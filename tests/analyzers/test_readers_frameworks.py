"""Framework and platform formats: outcomes, contexts and times as each format tells them."""

from __future__ import annotations

import json
import re
import sqlite3
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.readers_help import input_file, read, steps
from tests.analyzers.readers_samples import CHAT, SAMPLES, UUID
from tracekit_analyzers.readers import all_readers, inspect_ai, langgraph, tapeagents_sqlite
from tracekit_analyzers.readers._msgpack import unpack
from tracekit_analyzers.reading.registry import choose

BY_NAME = {reader.name: reader for reader in all_readers()}


def sample(tmp_path: Path, name: str, kind: str | None = None) -> list[dict[str, Any]]:
    """Steps of the hand-made sample of a format."""
    path, value = tmp_path / "log", SAMPLES[name]
    lines = value if isinstance(value, tuple) else (value,)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return steps(read(BY_NAME[name], path)[0], kind)


def test_inspect_tool_errors_have_their_type_their_text_and_their_time(tmp_path: Path) -> None:
    (tool,) = sample(tmp_path, "inspect_ai", "tool")

    assert (tool["status"], tool["error_type"], tool["error_message"]) == ("error", "timeout", "slow")
    assert (tool["output_snapshot"], tool["duration_ms"]) == ("rain", 2000.0)  # the attachment's text


def test_an_inspect_limit_is_a_step_that_says_so(tmp_path: Path) -> None:
    (ended,) = sample(tmp_path, "inspect_ai", "step")

    assert (ended["status"], ended["error_type"]) == ("error", "limit_message")


def archive(path: Path, entries: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as target:
        for name, data in entries.items():
            target.writestr(name, data)
    return path


def test_an_inspect_archive_gives_each_sample_and_tells_the_broken_one(tmp_path: Path) -> None:
    good = json.dumps(SAMPLES["inspect_ai"]["samples"][0]).encode()
    entries = {"header.json": b"{}", "samples/1_epoch_1.json": good, "samples/2_epoch_1.json": b"{broken"}
    path = archive(tmp_path / "log.eval", entries)
    found, damage = read(inspect_ai.READER, path)

    assert choose(input_file(path)) is inspect_ai.READER
    assert len(steps(found, "model")) == 1
    assert [bad["reason"].split(":")[0] for bad in damage.found] == ["not_json samples/2_epoch_1.json"]


def test_an_archive_made_to_burst_is_refused(tmp_path: Path) -> None:
    bomb = b"[" + b" " * (40 << 20) + b"]"
    found, damage = read(inspect_ai.READER, archive(tmp_path / "log.eval", {"samples/1.json": bomb}))

    assert found == []
    assert damage.found[0]["reason"].startswith("too_large")


def test_what_a_branch_of_a_tree_was_shown_is_its_own_way_only(tmp_path: Path) -> None:
    models = sample(tmp_path, "toolbench", "model")
    first, second = sample(tmp_path, "toolbench", "tool")

    assert [step["context"]["count"] for step in models] == [2, 2]  # the prompts, none of the other branch
    assert (first["status"], first["error_type"], first["source"]["index"]) == ("error", "timeout", 3)
    assert (second["status"], second["source"]["index"]) == ("ok", 5)
    assert models[0]["model_raw_output"] == "I ask"


def test_a_call_that_waits_for_an_approval_was_not_made(tmp_path: Path) -> None:
    (tool,), (waiting,) = sample(tmp_path, "runstate", "tool"), sample(tmp_path, "runstate", "step")

    assert (tool["tool_name"], tool["status"]) == ("weather", "ok")
    assert (waiting["name"], waiting["status"]) == ("approval of pay", "running")
    assert [s["usage"] for s in sample(tmp_path, "runstate", "model") if "usage" in s] == [
        {"input_tokens": 3, "output_tokens": 1}
    ]


def test_autogen_contexts_are_what_each_call_was_sent(tmp_path: Path) -> None:
    first, second = sample(tmp_path, "autogen", "model")
    (tool,) = sample(tmp_path, "autogen", "tool")

    assert (first["context"]["count"], second["context"]["count"]) == (2, 1)
    assert (tool["status"], tool["error_message"], tool["source"]["index"]) == ("error", "rain", 1)


def test_adk_responses_answer_the_call_of_their_name(tmp_path: Path) -> None:
    (tool,) = sample(tmp_path, "adk", "tool")

    (model,) = sample(tmp_path, "adk", "model")
    assert (tool["output_snapshot"], tool["agent"], tool["duration_ms"]) == ({"sky": "rain"}, "a", 1000.0)
    assert tool["call_id"] == model["asked"][0]["call_id"] != ""


def test_a_tapes_observation_answers_its_action(tmp_path: Path) -> None:
    (tool,) = sample(tmp_path, "tapeagents", "tool")

    assert (tool["tool_name"], tool["input_snapshot"]) == ("search", {"query": "Ulm"})
    assert (tool["status"], tool["source"]["index"]) == ("ok", 2)


def test_atif_calls_and_results_share_an_index_and_sub_agents_hang_below_their_call(tmp_path: Path) -> None:
    (tool,) = sample(tmp_path, "atif", "tool")
    inner = next(step for step in sample(tmp_path, "atif", "model") if step["agent"] == "b")

    assert (tool["source"]["index"], tool["output_snapshot"]) == (1, "rain")
    assert inner["parent_step_id"] == tool["step_id"]


def test_swe_agent_times_and_a_bad_end_are_kept(tmp_path: Path) -> None:
    (tool,), (ended,) = sample(tmp_path, "sweagent", "tool"), sample(tmp_path, "sweagent", "step")

    assert (tool["tool_name"], tool["input_snapshot"], tool["duration_ms"]) == (
        "ls",
        {"command": "ls -l"},
        500.0,
    )
    assert (ended["status"], ended["error_type"]) == ("error", "exit_cost")


def test_mini_swe_runs_exactly_one_block(tmp_path: Path) -> None:
    (tool,) = sample(tmp_path, "miniswe", "tool")
    refused = [
        {"role": "assistant", "content": "```bash\nls\n```\n```bash\npwd\n```"},
        {
            "role": "user",
            "content": "Please always provide EXACTLY ONE action , yours had two.",
        },
    ]
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"info": {"mini_version": "1"}, "messages": refused}))

    assert (tool["input_snapshot"], tool["attributes"]["exit_code"]) == ({"command": "ls"}, 0)
    assert [step["kind"] for step in steps(read(BY_NAME["miniswe"], path)[0])] == ["model"]


def test_openhands_calls_are_in_the_models_own_words(tmp_path: Path) -> None:
    (tool,) = sample(tmp_path, "openhands", "tool")
    (model,) = sample(tmp_path, "openhands", "model")

    assert tool["model_raw_output"] == '{"city": "Ulm"}'
    assert (tool["attributes"]["exit_code"], tool["duration_ms"]) == (0, 1000.0)
    assert model["attributes"]["assumed_zone"] == "UTC"


def test_an_llm_call_log_keeps_the_text_before_it_was_parsed(tmp_path: Path) -> None:
    (model,) = sample(tmp_path, "openhands_llm", "model")

    assert model["model_raw_output"] == "<function=weather>"
    assert (model["attributes"]["latency_sec"], model["usage"]) == (1.5, {"input_tokens": 3, "cost": 0.1})
    assert sample(tmp_path, "openhands_llm", "tool") == []  # another file tells what became of the call


def test_langfuse_values_are_unpacked_twice_and_attributes_in_metadata_are_used(tmp_path: Path) -> None:
    (model,), (tool,) = sample(tmp_path, "langfuse", "model"), sample(tmp_path, "langfuse", "tool")

    assert (model["model_raw_output"], model["context"]["count"]) == ("rain", 2)
    assert (tool["call_id"], tool["input_snapshot"]) == ("c1", {"city": "Ulm"})


def test_a_langsmith_run_without_its_patch_is_running(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"post": SAMPLES["langsmith"]["post"], "patch": []}))

    (whole,) = sample(tmp_path, "langsmith")
    (begun,) = steps(read(BY_NAME["langsmith"], path)[0])
    assert (whole["status"], whole["duration_ms"], begun["status"]) == ("ok", 1115.0, "running")
    assert whole["step_id"] == begun["step_id"]


def test_mlflow_ids_are_the_hexadecimal_ones_and_attributes_are_plain(tmp_path: Path) -> None:
    (tool,) = sample(tmp_path, "mlflow", "tool")

    assert (tool["trace_id"], tool["step_id"]) == ("5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b173")
    assert (tool["input_snapshot"], tool["output_snapshot"], tool["error_type"]) == (
        {"city": "Ulm"},
        "rain",
        "E",
    )


def test_opik_spans_hang_below_their_trace_and_errors_have_their_type(tmp_path: Path) -> None:
    root, tool = sample(tmp_path, "opik")

    assert (root["kind"], tool["parent_step_id"]) == ("agent", root["step_id"])
    assert (tool["status"], tool["error_type"], tool["error_message"]) == ("error", "E", "boom")


def test_opik_gives_the_same_from_a_page_in_camel_case_and_with_dates_as_text(tmp_path: Path) -> None:
    trace, span = SAMPLES["opik"]["trace"], SAMPLES["opik"]["spans"][0]
    page = tmp_path / "page.json"
    page.write_text(json.dumps({"page": 1, "size": 2, "total": 2, "content": [trace, span]}))
    camel = tmp_path / "camel.json"
    camel.write_text(json.dumps([_camel(trace), _camel(span)]))
    dated = tmp_path / "dated.json"
    plain = {"start_time": "2026-01-01 00:00:00+00:00", "end_time": "2026-01-01 00:00:01+00:00"}
    dated.write_text(
        json.dumps({"trace": {**trace, **plain}, "spans": [{**span, **plain}], "attachments": []})
    )

    for path in (page, camel, dated):
        assert BY_NAME["opik"].sniff(input_file(path)) == 80
        root, tool = steps(read(BY_NAME["opik"], path)[0])
        assert (root["kind"], tool["parent_step_id"], tool["tool_name"]) == (
            "agent",
            root["step_id"],
            "weather",
        )
        assert (tool["error_type"], tool["duration_ms"]) == ("E", 1000.0)


def _camel(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {re.sub(r"_(.)", lambda m: m[1].upper(), key): _camel(each) if key == "error_info" else each for key, each in value.items()}  # fmt: skip


@pytest.mark.parametrize("trace_id", ["tr-" + "5b" * 16, "trace:/catalog.schema/" + "5b" * 16])
def test_mlflow_names_of_traces_and_costs_of_later_versions_are_read(trace_id: str, tmp_path: Path) -> None:
    span = {
        "trace_id": trace_id, "span_id": "eee19b7ec3c1b173", "parent_span_id": None, "name": "ask",
        "start_time_unix_nano": 1544712660000000000, "end_time_unix_nano": 1544712661000000000,
        "status": {"code": "OK", "message": ""},
        "attributes": {
            "mlflow.spanType": '"CHAT_MODEL"', "mlflow.traceRequestId": json.dumps(trace_id), "mlflow.llm.model": '"m"',
            "mlflow.llm.cost": '{"input_cost": 0.1, "output_cost": 0.2, "total_cost": 0.3}',
            "mlflow.chat.tokenUsage": '{"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}',
        },
        "events": [],
    }  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(
        json.dumps({"info": {"trace_id": trace_id, "trace_location": {}}, "data": {"spans": [span]}})
    )

    (step,) = steps(read(BY_NAME["mlflow"], path)[0])

    assert (step["trace_id"], step["step_id"], step["kind"]) == ("5b" * 16, "eee19b7ec3c1b173", "model")
    assert (step["model"], step["usage"]) == ("m", {"input_tokens": 3, "output_tokens": 1, "cost": 0.3})


def human(text: str, key: str) -> dict[str, Any]:
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "HumanMessage"],
        "kwargs": {"content": text, "id": key},
    }


def said(text: str, key: str, **more: Any) -> dict[str, Any]:
    kwargs = {"content": text, "type": "ai", "id": key, **more}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": kwargs}


def checkpoints(path: Path, states: list[list[Any]], *, wal: bool = False) -> sqlite3.Connection:
    con = sqlite3.connect(path)
    if wal:
        con.execute("pragma journal_mode=wal")
    con.execute(
        "create table checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)"
    )
    con.execute("create table writes (thread_id)")
    for number, messages in enumerate(states):
        state = {"ts": f"2026-01-01T00:00:0{number}+00:00", "channel_values": {"messages": messages}}
        row = ("t", "", f"{number:04}", None, "json", json.dumps(state).encode(), b'{"source": "loop"}')
        con.execute("insert into checkpoints values (?, ?, ?, ?, ?, ?, ?)", row)
    con.commit()
    return con


def test_a_langgraph_model_was_sent_the_state_before_it(tmp_path: Path) -> None:
    calls = [{"id": "c1", "name": "weather", "args": {"city": "Ulm"}}]
    asked, answer = (
        said("", "2", tool_calls=calls),
        {"type": "tool", "tool_call_id": "c1", "content": "no", "status": "error", "id": "3"},
    )
    states = [
        [human("a", "1")],
        [human("a", "1"), asked],
        [human("a", "1"), asked, answer],
        [answer, said("b", "4")],
    ]
    checkpoints(tmp_path / "g.db", states).close()
    found, damage = read(langgraph.READER, tmp_path / "g.db")

    assert choose(input_file(tmp_path / "g.db")) is langgraph.READER
    assert [step["context"]["count"] for step in steps(found, "model")] == [1, 3]
    (tool,) = steps(found, "tool")
    assert (tool["status"], tool["source"]["index"], tool["duration_ms"]) == ("error", 2, 1000.0)
    assert damage.found == []


def test_a_database_that_another_program_writes_is_read_with_its_newest_state_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    writer = checkpoints(tmp_path / "g.db", [[human("a", "1")], [human("a", "1"), said("b", "2")]], wal=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    found, _ = read(langgraph.READER, tmp_path / "g.db")

    assert len(steps(found, "model")) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    writer.close()


def test_a_checkpoint_that_cannot_be_read_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    con = checkpoints(tmp_path / "g.db", [[human("a", "1"), said("b", "2")]])
    con.execute("insert into checkpoints values ('t', '', '9999', null, 'msgpack', x'c1', '{}')")
    con.commit()
    con.close()
    found, damage = read(langgraph.READER, tmp_path / "g.db")

    assert len(steps(found, "model")) == 1
    assert [bad["reason"].split()[0] for bad in damage.found] == ["not_read"]


def test_messagepack_values_and_python_objects_are_unpacked() -> None:
    text, number = b"\xa5hello", b"\xcd\x01\x00"
    inner = b"\x93\xa1m\xa1C\x81\xa1k" + number
    data = (
        b"\x84"
        b"\xa1a"
        + text
        + b"\xa1b"
        + b"\xc7"
        + bytes([len(inner)])
        + b"\x05"
        + inner
        + b"\xa1c\x93\xff\xc0\xc3"
    )
    data += b"\xa1d\xcb" + struct.pack(">d", 1.5)

    assert unpack(data) == {
        "a": "hello",
        "b": {"id": ["m", "C"], "kwargs": {"k": 256}},
        "c": [-1, None, True],
        "d": 1.5,
    }
    for cut in range(len(data)):
        with pytest.raises(ValueError, match="MessagePack"):
            unpack(data[:cut])


def test_a_tape_store_joins_tapes_with_their_model_calls(tmp_path: Path) -> None:
    con = sqlite3.connect(tmp_path / "t.sqlite")
    con.execute(
        "create table LLMCalls (prompt_id, timestamp, prompt, output, prompt_length_tokens, output_length_tokens)"
    )
    con.execute("create table Tapes (tape_id, timestamp, length, metadata, context, steps)")
    for prompt_id in ("p1", "other"):
        prompt, output = (
            json.dumps({"messages": CHAT[:2]}),
            json.dumps({"role": "assistant", "content": "raw " + prompt_id}),
        )
        con.execute(
            "insert into LLMCalls values (?, '2026-01-01T00:00:00', ?, ?, 5, 2)", (prompt_id, prompt, output)
        )
    tape = SAMPLES["tapeagents"]
    con.execute(
        "insert into Tapes values (?, '', 4, ?, null, ?)",
        (UUID, json.dumps(tape["metadata"]), json.dumps(tape["steps"])),
    )
    con.commit()
    con.close()
    found, _ = read(tapeagents_sqlite.READER, tmp_path / "t.sqlite")

    outputs = [
        (s["source"]["trace_index"], s["model_raw_output"], s.get("usage")) for s in steps(found, "model")
    ]
    assert (0, "raw p1", {"input_tokens": 5, "output_tokens": 2}) in outputs
    assert (1, "raw other", {"input_tokens": 5, "output_tokens": 2}) in outputs
