"""Session files of coding agents: responses, calls, sub-agents; counts equal the corpus' own facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.readers_help import corpus, input_file, read, steps
from tracekit_analyzers.readers import (
    agent_sdk_stream,
    claude_code,
    cline,
    codex,
    gemini_cli,
    openclaw,
)
from tracekit_analyzers.reading.registry import choose
from tracekit_analyzers.session import Session


def write_lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def claude_line(
    uuid: str, parent: str | None, second: int, message: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "sessionId": "5c0375b4-57a5-4f26-b12d-d022ee4e51b7",
        "uuid": uuid,
        "parentUuid": parent,
        "type": message["role"],
        "timestamp": f"2025-09-07T09:52:{second:02d}.000Z",
        "message": message,
        **more,
    }


def asked(message_id: str, *blocks: dict[str, Any], output_tokens: int = 5) -> dict[str, Any]:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": output_tokens}
    return {"role": "assistant", "id": message_id, "model": "m", "content": list(blocks), "usage": usage}


def use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: str, *, failed: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": failed}
    return {"role": "user", "content": [block]}


def test_lines_of_one_claude_response_are_one_step_with_its_usage_once(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        {"type": "summary", "summary": "x"},
        claude_line("u1", None, 1, {"role": "user", "content": "go"}),
        claude_line("u2", "u1", 2, asked("m1", {"type": "text", "text": "ok"}, output_tokens=1)),
        claude_line("u3", "u2", 3, asked("m1", use("t1", "Bash", command="ls"), output_tokens=9)),
        claude_line("u4", "u3", 5, result("t1", "boom", failed=True)),
    )
    found, damage = read(claude_code.READER, path)

    (model,), (tool,) = steps(found, "model"), steps(found, "tool")
    assert model["usage"] == {"input_tokens": 10, "output_tokens": 9}
    assert (model["model_raw_output"], len(model["asked"])) == ("ok", 1)
    assert (tool["status"], tool["error_message"], tool["duration_ms"]) == ("error", "boom", 2000.0)
    assert (tool["source"]["line"], tool["parent_step_id"]) == (5, model["step_id"])
    assert tool["trace_id"] == "5c0375b457a54f26b12dd022ee4e51b7"
    assert damage.found == []


def test_a_side_chain_hangs_below_the_call_that_started_it(tmp_path: Path) -> None:
    task = use("t1", "Task", subagent_type="explorer", prompt="look around")
    path = write_lines(
        tmp_path / "s.jsonl",
        claude_line("u1", None, 1, {"role": "user", "content": "go"}),
        claude_line("u2", "u1", 2, asked("m1", task)),
        claude_line("s1", None, 3, {"role": "user", "content": "look around"}, isSidechain=True),
        claude_line("s2", "s1", 4, asked("m2", use("t2", "Glob", pattern="*")), isSidechain=True),
        claude_line("s3", "s2", 5, result("t2", "a.txt"), isSidechain=True),
        claude_line("u3", "u2", 6, result("t1", "found a.txt")),
    )
    found, _ = read(claude_code.READER, path)

    by_name = {step.get("tool_name") or step["name"]: step for step in steps(found)}
    inner = next(step for step in steps(found, "model") if step.get("agent") == "explorer")
    assert inner["parent_step_id"] == by_name["Task"]["step_id"]
    assert by_name["Glob"]["agent"] == "explorer"
    assert inner["context"]["count"] == 1  # its own prompt, not the main conversation


def test_after_a_compaction_the_context_holds_only_what_follows(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        claude_line("u1", None, 1, {"role": "user", "content": "go"}),
        claude_line("u2", "u1", 2, asked("m1", {"type": "text", "text": "ok"})),
        claude_line("u3", "u2", 3, {"role": "user", "content": "summary so far"}, isCompactSummary=True),
        claude_line("u4", "u3", 4, asked("m2", {"type": "text", "text": "on"})),
    )
    found, _ = read(claude_code.READER, path)

    assert [step["context"]["count"] for step in steps(found, "model")] == [1, 1]


def test_a_claude_session_that_ends_in_a_call_leaves_it_unknown_at_its_own_line(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl", claude_line("u2", None, 2, asked("m1", use("t1", "Bash", command="rm")))
    )
    found, _ = read(claude_code.READER, path)

    assert (steps(found, "tool")[0]["status"], steps(found, "tool")[0]["source"]["line"]) == ("unknown", 1)


def codex_line(kind: str, second: int = 1, *, outer: str = "response_item", **payload: Any) -> dict[str, Any]:
    return {
        "timestamp": f"2025-09-25T15:49:{second:02d}.000Z",
        "type": outer,
        "payload": {"type": kind, **payload},
    }


def test_codex_exit_codes_and_refusals_are_errors_and_plain_answers_are_not(tmp_path: Path) -> None:
    outputs = [
        json.dumps({"output": "no match", "metadata": {"exit_code": 1, "duration_seconds": 0.1}}),
        json.dumps({"output": "fine", "metadata": {"exit_code": 0}}),
        "patch rejected by user",
        "Plan updated",
        "Exit code: 2\nWall time: 0.1 seconds\nOutput:\nbad",
    ]
    records = [codex_line("message", role="user", content=[{"type": "input_text", "text": "go"}])]
    for number, output in enumerate(outputs):
        records.append(
            codex_line("function_call", number, name="shell", arguments="{}", call_id=f"c{number}")
        )
        records.append(codex_line("function_call_output", number, call_id=f"c{number}", output=output))
    found, _ = read(codex.READER, write_lines(tmp_path / "r.jsonl", *records))

    tools = steps(found, "tool")
    assert [step.get("error_type") for step in tools] == [
        "nonzero_exit",
        None,
        "not_executed",
        None,
        "nonzero_exit",
    ]
    assert tools[0]["output_snapshot"] == "no match"
    assert tools[0]["attributes"] == {"exit_code": 1, "duration_seconds": 0.1}


def test_codex_items_between_two_answers_are_one_response(tmp_path: Path) -> None:
    counts = {"last_token_usage": {"input_tokens": 7, "output_tokens": 2}}
    path = write_lines(
        tmp_path / "r.jsonl",
        codex_line("message", role="user", content=[{"type": "input_text", "text": "go"}]),
        codex_line("token_count", outer="event_msg", info=counts),
        codex_line("message", role="assistant", content=[{"type": "output_text", "text": "two calls"}]),
        codex_line("function_call", name="shell", arguments="{}", call_id="a"),
        codex_line("function_call", name="shell", arguments="{}", call_id="b"),
        codex_line("turn_aborted", outer="event_msg", reason="interrupted"),
    )
    found, _ = read(codex.READER, path)

    (model,) = steps(found, "model")
    assert (len(model["asked"]), model["usage"], model["model_raw_output"]) == (
        2,
        {"input_tokens": 7, "output_tokens": 2},
        "two calls",
    )
    assert [(s["name"], s["status"]) for s in steps(found, "step")] == [("turn_aborted", "abandoned")]


def test_messages_that_only_events_tell_are_read_where_there_are_no_items(tmp_path: Path) -> None:
    told = [
        codex_line("user_message", outer="event_msg", message="go"),
        codex_line("agent_message", outer="event_msg", message="ok"),
    ]
    alone, _ = read(codex.READER, write_lines(tmp_path / "a.jsonl", *told))
    item = codex_line("message", role="assistant", content=[{"type": "output_text", "text": "ok"}])
    both, _ = read(codex.READER, write_lines(tmp_path / "b.jsonl", *told, item))

    assert [step["model_raw_output"] for step in steps(alone, "model")] == ["ok"]
    assert len(steps(both, "model")) == 1


def test_glued_records_are_both_kept_and_a_cut_one_is_told(tmp_path: Path) -> None:
    first = codex_line("message", role="user", content=[{"type": "input_text", "text": "go"}])
    second = codex_line("message", role="assistant", content=[{"type": "output_text", "text": "ok"}])
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(first) + json.dumps(second) + "\n" + json.dumps(second)[:-20])
    found, damage = read(codex.READER, path)

    assert [step["model_raw_output"] for step in steps(found, "model")] == ["ok"]
    assert [bad["line"] for bad in damage.found] == [1, 2]


def test_a_file_with_no_message_is_told(tmp_path: Path) -> None:
    found, damage = read(
        codex.READER, write_lines(tmp_path / "r.jsonl", codex_line("agent_reasoning", outer="event_msg"))
    )

    assert found == []
    assert [bad["reason"].partition(":")[0] for bad in damage.found] == ["no_records"]


def test_openclaw_pairs_starts_and_ends_by_order_and_adds_only_calls_that_the_conversation_lacks(
    tmp_path: Path,
) -> None:
    here = {"sessionKey": "s", "agentId": "main"}
    asked_in_chat = [
        {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "t1", "name": "exec", "arguments": {"c": 1}}],
        },
        {"role": "toolResult", "toolCallId": "t1", "toolName": "exec", "content": "done", "isError": False},
    ]
    path = write_lines(
        tmp_path / "o.jsonl",
        {"type": "agent.start", "prompt": "go", **here},
        {"type": "tool.start", "toolName": "exec", "params": {"c": 1}, **here},
        {"type": "tool.end", "toolName": "exec", "success": True, **here},
        {"type": "tool.start", "toolName": "exec", "params": {"c": 2}, **here},
        {"type": "tool.end", "toolName": "exec", "success": False, "error": "no", "durationMs": 4, **here},
        {"type": "agent.end", "messages": asked_in_chat, **here},
    )
    found, _ = read(openclaw.READER, path)

    assert [(s["input_snapshot"], s["status"]) for s in steps(found, "tool")] == [
        ({"c": 1}, "ok"),
        ({"c": 2}, "error"),
    ]


def test_cline_messages_with_blocks_and_metrics_are_read(tmp_path: Path) -> None:
    session = {
        "version": 1,
        "sessionId": "s-1",
        "agent": "lead",
        "system_prompt": "Be good",
        "messages": [
            {"id": "1", "role": "user", "content": [{"type": "text", "text": "go"}], "ts": 1750000000000},
            {
                "id": "2",
                "role": "assistant",
                "content": [use("t1", "read_file", path="a")],
                "ts": 1750000001000,
                "metrics": {"inputTokens": 5, "outputTokens": 2, "cost": 0.1},
                "modelInfo": {"id": "m"},
            },
            {"id": "3", "ts": 1750000002000, **result("t1", "text")},
        ],
    }
    path = tmp_path / "c.json"
    path.write_text(json.dumps(session))
    found, _ = read(cline.READER, path)

    assert choose(input_file(path)) is cline.READER
    (model,), (tool,) = steps(found, "model"), steps(found, "tool")
    assert (model["model"], model["usage"]) == ("m", {"input_tokens": 5, "output_tokens": 2, "cost": 0.1})
    assert model["context"]["count"] == 2
    assert (tool["output_snapshot"], tool["source"]["index"], tool["duration_ms"]) == ("text", 2, 1000.0)


def facts(folder: str, name: str = "expected.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (corpus(folder) / name).read_text().splitlines()]


SESSIONS = [
    ("claude_code", claude_code.READER),
    ("codex_rollout", codex.READER),
    ("gemini_cli", gemini_cli.READER),
]


@pytest.mark.corpus
@pytest.mark.parametrize(("folder", "reader"), SESSIONS, ids=[name for name, _ in SESSIONS])
def test_calls_answers_and_errors_are_as_many_as_the_sessions_hold(folder: str, reader: Any) -> None:
    for fact in facts(folder):
        path = corpus(folder) / fact["file"]
        found, damage = read(reader, path)
        tools = steps(found, "tool")
        unanswered = [step["call_id"] for step in tools if step["status"] == "unknown"]
        assert choose(input_file(path)) is reader
        assert damage.found == []
        assert len(tools) == fact["tool_calls"]
        assert unanswered == fact.get("unanswered_tool_calls", [])
        assert len([step for step in tools if step["status"] == "error"]) == fact["tool_errors"]
        if "llm_responses_distinct_message_id" in fact:
            assert len(steps(found, "model")) == fact["llm_responses_distinct_message_id"]
        if "turn_aborted" in fact:
            assert len(steps(found, "step")) == fact["turn_aborted"]


@pytest.mark.corpus
@pytest.mark.parametrize(("folder", "reader"), SESSIONS, ids=[name for name, _ in SESSIONS])
def test_each_tool_error_stands_at_its_record(folder: str, reader: Any) -> None:
    expected = facts(folder, "tool_errors.jsonl")
    for file in {error["file"] for error in expected}:
        found, _ = read(reader, corpus(folder) / file)
        failed = [step for step in steps(found, "tool") if step["status"] == "error"]
        places = {(s["source"]["index"], s["tool_name"]) for s in failed}
        wanted = {(e.get("line", e.get("message_index")), e["tool"]) for e in expected if e["file"] == file}
        assert places == wanted
        kinds = {e["line"]: e["kind"] for e in expected if e["file"] == file and "kind" in e}
        assert all(
            step["error_type"] == kinds.get(step["source"]["index"], step["error_type"]) for step in failed
        )


@pytest.mark.corpus
def test_the_recorded_sdk_stream_is_one_run_with_its_outcome() -> None:
    path = next(corpus("claude_agent_sdk_stream").glob("*.json"))
    found, damage = read(agent_sdk_stream.READER, path)

    assert choose(input_file(path)) is agent_sdk_stream.READER
    assert [step["kind"] for step in steps(found)] == ["model", "tool", "model", "agent"]
    assert damage.found == []


@pytest.mark.corpus
@pytest.mark.parametrize("folder", ["claude_code_line_samples", "codex_line_samples", "openclaw_telemetry"])
def test_single_lines_are_read_or_told(folder: str) -> None:
    files = [path for path in sorted(corpus(folder).rglob("*.jsonl")) if path.name != "expected.jsonl"]
    for path in files:
        reader = choose(input_file(path))
        assert reader is not None, path.name
        found, damage = read(reader, path)
        assert found or damage.found, path.name


def test_what_stands_first_and_has_no_time_is_numbered_first(tmp_path: Path) -> None:
    chat = [
        {"role": "assistant", "content": [use("t1", "read_file", path="a")]},
        {"ts": 1750000002000, **result("t1", "text")},
        {"role": "assistant", "content": "done", "ts": 1750000003000},
    ]
    path = tmp_path / "c.json"
    path.write_text(
        json.dumps({"sessionId": "s", "messages": [{"role": "user", "content": "go", "ts": None}, *chat]})
    )
    session = Session([path])
    session.load()
    (row,) = session.traces().rows

    assert [line.kind for line in sorted(session.steps(row.trace_id).rows, key=lambda line: line.seq)] == [
        "model",
        "tool",
        "model",
    ]
    session.close()


def test_what_a_stream_says_it_cost_is_the_cost_of_its_result(tmp_path: Path) -> None:
    result = {"type": "result", "session_id": "5e1c0000-0000-4000-8000-000000000001", "subtype": "success"}
    path = tmp_path / "stream.jsonl"
    path.write_text(json.dumps({**result, "result": "done", "total_cost_usd": 0.5}) + "\n")
    found, _ = read(agent_sdk_stream.READER, path)
    assert steps(found, "agent")[0]["usage"] == {"cost": 0.5}
