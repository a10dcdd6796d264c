"""Every folder of real logs reads without an exception, nothing is silently empty, and counts equal the folders' facts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.analyzers.readers_help import corpus, input_file, read, steps
from tracekit_analyzers.reading.registry import choose

NOT_LOGS = {
    "README.md",
    "labels.jsonl",
    "expected.jsonl",
    "tool_errors.jsonl",
    "unseen_ids.jsonl",
    "capture-results.json",
}
FOLDERS = {
    "adk_session": "adk",
    "agentrx_magentic": "openai_chat",
    "agentrx_tau_retail": "openai_chat",
    "atif": "atif",
    "autogen_chat_sessions": "autogen",
    "claude_agent_sdk_stream": "agent_sdk_stream",
    "claude_code": "claude_code",
    "claude_code_line_samples": "claude_code",
    "codex_line_samples": "codex",
    "codex_rollout": "codex",
    "gemini_cli": "gemini_cli",
    "inspect_ai": "inspect_ai",
    "jaeger_otel": "jaeger",
    "langfuse": "langfuse",
    "langgraph_checkpoint_sqlite": "langgraph",
    "langsmith_runs": "langsmith",
    "langwatch_span_fixtures": "span_samples",
    "miniswe_gemini3": "miniswe",
    "miniswe_list": "miniswe",
    "openai_agents_runstate": "runstate",
    "openclaw_telemetry": "openclaw",
    "openhands_eval_output": "openhands",
    "openhands_events": "openhands",
    "openhands_llm_logs": "openhands_llm",
    "otel_console_exporter": "otel_console",
    "otlp_json": "otlp",
    "phoenix_spans": "phoenix",
    "sweagent_traj": "sweagent",
    "tapeagents": "tapeagents",
    "tapeagents_sqlite": "tapeagents_sqlite",
    "taubench_airline": "openai_chat",
    "toolbench_dfs": "toolbench",
    "trail_gaia": "openinference_tree",
    "vercel_ai_sdk_spans": "js_spans",
    "whowhen": "openai_chat",
}
pytestmark = pytest.mark.corpus


def logs(folder: str) -> list[Path]:
    return [
        path for path in sorted(corpus(folder).rglob("*")) if path.is_file() and path.name not in NOT_LOGS
    ]


def facts(folder: str, name: str = "expected.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (corpus(folder) / name).read_text().splitlines()]


def records(folder: str, file: str) -> list[dict[str, Any]]:
    path = corpus(folder) / file
    reader = choose(input_file(path))
    assert reader is not None
    return read(reader, path)[0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_log_is_known_by_its_content_and_gives_records_or_is_told(folder: str) -> None:
    for path in logs(folder):
        reader = choose(input_file(path))
        assert reader is not None, path.name
        assert reader.name == FOLDERS[folder], path.name
        found, damage = read(reader, path)
        assert found or damage.found, path.name


@pytest.mark.parametrize("folder", FOLDERS)
def test_records_are_lines_of_the_native_log(folder: str) -> None:
    for path in logs(folder):
        reader = choose(input_file(path))
        assert reader is not None
        known: set[tuple[str, str]] = set()
        ids: Counter[tuple[str, str]] = Counter()
        for record in read(reader, path)[0]:
            orjson.dumps(record)
            assert set(record["source"]) == {"trace_index", "line", "index"}
            assert len(record["trace_id"]) == 32
            assert int(record["trace_id"], 16)
            if record["record"] == "message":
                known.add((record["trace_id"], record["hash"]))
                continue
            assert len(record["step_id"]) == 16
            ids[record["trace_id"], record["step_id"]] += 1
            named = record.get("context", {}).get("hashes", ())
            assert all((record["trace_id"], name) in known for name in named), path.name
        assert [key for key, count in ids.items() if count > 1] == [], path.name


def test_reading_leaves_nothing_behind() -> None:
    for folder in ("langgraph_checkpoint_sqlite", "tapeagents_sqlite"):
        before = sorted(corpus(folder).iterdir())
        for path in logs(folder):
            choose(input_file(path))
            records(folder, path.name)
        assert sorted(corpus(folder).iterdir()) == before


def test_a_corpus_folder_that_no_test_knows_is_noticed() -> None:
    base = corpus("taubench_airline").parent
    assert {path.name for path in base.iterdir() if path.is_dir()} <= set(FOLDERS)


def test_inspect_samples_and_model_calls() -> None:
    for fact in facts("inspect_ai"):
        found = records("inspect_ai", fact["file"])
        models = steps(found, "model")
        assert len({step["trace_id"] for step in steps(found)}) == max(fact["samples"], 1)
        assert len(models) <= fact["events"].get("model", 0)
        assert all(not json.dumps(record).count("attachment://") for record in found)
        if not fact["samples"]:
            assert [step["status"] for step in steps(found)] == ["abandoned"]


def test_atif_steps_and_calls() -> None:
    for fact in facts("atif"):
        found = records("atif", fact["file"])
        own = [record for record in found if record["source"]["index"] < fact["steps"]]
        copied = json.dumps(found).count('"is_copied_context": true')
        assert own
        assert len(steps(found, "tool")) == (0 if copied and "sub_" in fact["file"] else fact["tool_calls"])


def test_swe_agent_steps_and_native_calls() -> None:
    for fact in facts("sweagent_traj"):
        found = records("sweagent_traj", fact["file"])
        expected = fact["steps"] or fact["native_tool_calls"]
        assert len(steps(found, "model")) == expected
        assert len(steps(found, "tool")) == expected
        assert ("duration_ms" in steps(found, "tool")[0]) is fact["has_execution_time"]


def test_openhands_observations_and_errors() -> None:
    for folder in ("openhands_events", "openhands_eval_output"):
        for fact in facts(folder):
            found = [r for r in records(folder, fact["file"]) if r["source"]["trace_index"] == fact["record"]]
            tools = steps(found, "tool")
            answered = [step for step in tools if step["status"] != "unknown"]
            ends = fact["actions"].get("finish", 0)
            assert len(answered) == sum(fact["observations"].values()) + ends
            told = [step["error_message"] for step in steps(found, "step") if step["status"] == "error"]
            assert told == ([fact["run_error"]] if fact["run_error"] else [])
    expected = {
        (e["record"], e["event_index"], e["exit_code"])
        for e in facts("openhands_eval_output", "tool_errors.jsonl")
    }
    failed = [
        s
        for s in steps(records("openhands_eval_output", "multi_swe_bench_output.jsonl"), "tool")
        if s["status"] == "error"
    ]
    places = {
        (s["source"]["trace_index"], s["source"]["index"], s.get("attributes", {}).get("exit_code"))
        for s in failed
    }
    assert places == expected


def test_mini_swe_results_hold_the_labelled_exit_codes_and_refused_answers_ran_nothing() -> None:
    for label in facts("miniswe_gemini3", "labels.jsonl"):
        tools = {
            step["source"]["index"]: step for step in steps(records("miniswe_gemini3", label["file"]), "tool")
        }
        for failure in label["all_failures"]:
            step = tools.get(failure["step"])
            if failure["category"] == "unparseable_model_output":
                assert step is None
            elif failure["category"] == "nonzero_exit":
                assert step is not None
                assert step["attributes"]["exit_code"] == int(failure["reason"].rpartition(" ")[2])
            else:
                assert step is not None
                assert "timed out" in step["output_snapshot"]


def test_toolbench_codes_stand_at_their_nodes() -> None:
    for label in facts("toolbench_dfs", "labels.jsonl"):
        tools = steps(records("toolbench_dfs", label["file"]), "tool")
        at = {step["source"]["index"]: step for step in tools}
        assert len(tools) >= label["n_tool_calls"]
        for failure in label["all_failures"]:
            step = at[failure["step"]]
            assert step["attributes"]["observation_code"] == failure["code"]
            assert step["tool_name"] == failure["tool"]
            assert step["status"] == ("abandoned" if failure["code"] == 4 else "error")


def test_langfuse_observations_are_steps_and_their_tokens_are_not_counted_twice() -> None:
    for fact in facts("langfuse"):
        found = steps(records("langfuse", fact["file"]))
        assert len(found) == fact["observations"]
        assert {step["trace_id"] for step in found} == {fact["trace_id"]}
        used = sum(sum(step.get("usage", {}).values()) for step in found)
        assert 0 < used <= fact["total_tokens"] + 1


def test_tapes_have_their_steps() -> None:
    for fact in facts("tapeagents"):
        found = records("tapeagents", fact["file"])
        results = sum(
            n
            for kind, n in fact["kinds"].items()
            if kind == "tool" or kind.endswith(("_observation", "_result"))
        )
        answered = [step for step in steps(found, "tool") if step["status"] != "unknown"]
        assert len(answered) == results
        assert max(record["source"]["index"] for record in found) <= fact["steps"]


def test_labels_inside_files_are_not_read() -> None:
    for folder in ("whowhen", "taubench_airline"):
        for path in logs(folder)[:10]:
            text = json.dumps(records(folder, str(path.relative_to(corpus(folder)))))
            for label in ("mistake_step", "mistake_reason", "ground_truth", "reward_info", "is_correct"):
                assert f'"{label}"' not in text
