"""Span formats: each shape becomes the same native steps, and counts equal the corpus' own facts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.readers_help import corpus, input_file, read, steps
from tracekit_analyzers.readers import (
    agentops,
    all_readers,
    jaeger,
    js_spans,
    openinference_tree,
    otel_console,
    otlp,
    phoenix,
    span_samples,
)
from tracekit_analyzers.reading.registry import choose

TRACE, ROOT, CALL = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b173", "eee19b7ec3c1b174"


def pairs(**values: Any) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", bool: "boolValue", float: "doubleValue"}
    return [
        {
            "key": key.replace("__", "."),
            "value": {"intValue": str(v)} if type(v) is int else {kinds[type(v)]: v},
        }
        for key, v in values.items()
    ]


def otlp_span(span_id: str, parent: str, **more: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE.upper(),
        "spanId": span_id.upper(),
        "parentSpanId": parent,
        "name": "s",
        "startTimeUnixNano": "1544712660000000000",
        "endTimeUnixNano": "1544712661500000000",
        **more,
    }


def traces_data(*spans: dict[str, Any]) -> dict[str, Any]:
    scopes = [{"scope": {"name": "lib"}, "spans": list(spans)}]
    return {
        "resourceSpans": [{"resource": {"attributes": pairs(service__name="shop")}, "scopeSpans": scopes}]
    }


def write(path: Path, *values: Any, indent: int | None = None) -> Path:
    path.write_text("\n".join(json.dumps(value, indent=indent) for value in values) + "\n")
    return path


def test_otlp_json_lines_hold_one_trace_over_many_lines_with_logs_between(tmp_path: Path) -> None:
    tool = pairs(gen_ai__operation__name="execute_tool", gen_ai__tool__name="refund", n=7)
    path = write(
        tmp_path / "traces.json",
        traces_data(otlp_span(CALL, ROOT, attributes=tool)),
        {"resourceLogs": []},
        {"resourceMetrics": []},
        traces_data(otlp_span(ROOT, "")),
    )
    found, damage = read(otlp.READER, path)

    call, root = steps(found)
    assert (call["trace_id"], call["step_id"], call["parent_step_id"]) == (TRACE, CALL, ROOT)
    assert (call["kind"], call["tool_name"], call["duration_ms"]) == ("tool", "refund", 1500.0)
    assert call["attributes"]["n"] == 7
    assert (call["source"]["line"], root["source"]["line"]) == (1, 4)
    assert (call["source"]["index"], root["source"]["index"]) == (0, 1)
    assert damage.found == []
    assert damage.lines == 4


def test_a_bad_otlp_line_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", traces_data(otlp_span(ROOT, "")))
    path.write_text(path.read_text() + '{"resourceSpans": [{\n' + path.read_text())
    found, damage = read(otlp.READER, path)

    assert len(steps(found)) == 2
    assert [(bad["line"], bad["reason"].partition(":")[0]) for bad in damage.found] == [(2, "cut")]


def test_tempos_batches_with_base64_ids_and_bare_numbers_are_otlp_too(tmp_path: Path) -> None:
    span = {
        "traceId": "W47/95gDgQPSabYzgT/GDA==",
        "spanId": "7uGbfsPBsXM=",
        "name": "s",
        "startTimeUnixNano": 1544712660000000000,
        "endTimeUnixNano": 1544712661000000000,
        "attributes": [{"key": "n", "value": {"intValue": 7}}],
        "status": {"code": "STATUS_CODE_ERROR", "message": "boom"},
    }
    scopes = [{"instrumentationLibrary": {"name": "lib"}, "spans": [span]}]
    path = write(tmp_path / "tempo.json", {"batches": [{"instrumentationLibrarySpans": scopes}]}, indent=1)
    found, _ = read(otlp.READER, path)

    step = steps(found)[0]
    assert (step["trace_id"], step["step_id"]) == (TRACE, ROOT)
    assert (step["status"], step["error_message"], step["attributes"]["n"]) == ("error", "boom", 7)


def log_record(name: str, body: dict[str, Any], *, details: bool = False) -> dict[str, Any]:
    values = [{"key": key, "value": {"stringValue": value}} for key, value in body.items()]
    content = {"attributes": values} if details else {"body": {"kvlistValue": {"values": values}}}
    record = {"eventName": name, "traceId": TRACE, "spanId": CALL, **content}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


def test_messages_sent_as_log_records_belong_to_their_span_before_and_after_it(tmp_path: Path) -> None:
    chat = otlp_span(CALL, "", attributes=pairs(gen_ai__operation__name="chat"))
    choice = {"index": "0", "message": '{"role": "assistant", "content": "hi"}'}
    path = write(
        tmp_path / "t.jsonl",
        log_record("gen_ai.user.message", {"content": "hello"}),
        traces_data(chat),
        log_record("gen_ai.choice", choice),
        log_record("some.other.event", {"content": "no"}),
    )
    found, damage = read(otlp.READER, path)

    (step,) = steps(found)
    assert (step["model_raw_output"], step["context"]["count"], step["source"]["line"]) == ("hi", 1, 2)
    assert damage.found == []


def test_a_call_that_waits_for_its_content_is_not_counted_again_around_it(tmp_path: Path) -> None:
    usage = {"gen_ai__operation__name": "chat", "gen_ai__usage__input_tokens": 10}
    told = pairs(**usage, gen_ai__prompt__0__role="user", gen_ai__prompt__0__content="hello")
    bare, full = otlp_span(CALL, ROOT, attributes=pairs(**usage)), otlp_span(ROOT, "", attributes=told)
    found, _ = read(otlp.READER, write(tmp_path / "t.jsonl", traces_data(bare), traces_data(full)))

    assert [step["step_id"] for step in steps(found) if "usage" in step] == [CALL]


def test_the_details_event_of_a_call_says_what_its_span_leaves_out(tmp_path: Path) -> None:
    chat = otlp_span(CALL, "", attributes=pairs(gen_ai__operation__name="chat"))
    told = {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]'}
    event = log_record("gen_ai.client.inference.operation.details", told, details=True)
    found, _ = read(otlp.READER, write(tmp_path / "t.jsonl", traces_data(chat), event))

    assert [record["message"] for record in found if record["record"] == "message"] == [
        {"role": "user", "content": "hello"}
    ]


def test_a_file_with_logs_only_is_not_silently_empty(tmp_path: Path) -> None:
    found, damage = read(otlp.READER, write(tmp_path / "logs.json", {"resourceLogs": []}))

    assert found == []
    assert [bad["reason"].partition(":")[0] for bad in damage.found] == ["no_records"]


def test_two_spans_of_one_model_call_count_tokens_once_in_either_order(tmp_path: Path) -> None:
    chat = {
        "gen_ai__usage__input_tokens": 10,
        "gen_ai__operation__name": "chat",
        "gen_ai__completion__0__content": "hi",
    }
    inner, outer = (
        otlp_span(CALL, ROOT, attributes=pairs(**chat)),
        otlp_span(ROOT, "", attributes=pairs(**chat)),
    )
    streamed, _ = read(otlp.READER, write(tmp_path / "a.jsonl", traces_data(inner), traces_data(outer)))
    tags = [{"key": pair["key"], "value": next(iter(pair["value"].values()))} for pair in pairs(**chat)]
    refs = [{"refType": "CHILD_OF", "spanID": ROOT}]
    spans = [
        {"traceID": TRACE, "spanID": ROOT, "operationName": "outer", "tags": tags},
        {"traceID": TRACE, "spanID": CALL, "operationName": "inner", "tags": tags, "references": refs},
    ]
    whole, _ = read(
        jaeger.READER,
        write(tmp_path / "j.json", {"data": [{"traceID": TRACE, "spans": spans, "processes": {}}]}),
    )

    for found in (streamed, whole):
        assert [step["step_id"] for step in steps(found) if "usage" in step] == [CALL]
        assert [step["step_id"] for step in steps(found, "model")] == [CALL]


def test_names_that_are_no_hex_ids_become_ids_and_keep_their_ties(tmp_path: Path) -> None:
    spans = [
        {
            "name": "a",
            "context": {"trace_id": "t-1", "span_id": "s-1"},
            "parent_id": None,
            "span_kind": "AGENT",
        },
        {
            "name": "b",
            "context": {"trace_id": "t-1", "span_id": "s-2"},
            "parent_id": "s-1",
            "span_kind": "TOOL",
        },
    ]
    found, _ = read(phoenix.READER, write(tmp_path / "p.json", spans))

    parent, child = steps(found)
    assert child["parent_step_id"] == parent["step_id"]
    assert len(child["trace_id"]) == 32
    assert child["attributes"]["original.span_id"] == "s-2"


def test_agentops_nested_attributes_are_read(tmp_path: Path) -> None:
    prompt = [{"role": "user", "content": "hello"}]
    attributes = {"gen_ai": {"prompt": prompt, "request": {"model": "m"}, "usage": {"prompt_tokens": 3}}}
    span = {
        "span_id": CALL,
        "parent_span_id": "",
        "span_name": "chat",
        "span_type": "request",
        "start_time": "2025-01-01T00:00:00Z",
        "duration": 2_000_000_000,
        "span_attributes": attributes,
        "event_names": ["exception"],
        "event_timestamps": ["2025-01-01T00:00:01Z"],
        "event_attributes": [{"exception.type": "Boom"}],
    }
    path = write(tmp_path / "a.json", {"trace": {"trace_id": TRACE}, "spans": [span]})
    found, _ = read(agentops.READER, path)

    step = steps(found)[0]
    assert choose(input_file(path)) is agentops.READER
    assert (step["kind"], step["duration_ms"], step["error_type"]) == ("model", 2000.0, "Boom")
    assert step["usage"] == {"input_tokens": 3}
    assert step["context"]["count"] == 1


def test_text_between_console_spans_is_told_and_passed_over(tmp_path: Path) -> None:
    span = {
        "name": "s",
        "context": {"trace_id": "0x" + TRACE, "span_id": "0x" + ROOT},
        "status": {},
        "attributes": {},
    }
    path = tmp_path / "out.txt"
    path.write_text(json.dumps(span, indent=4) + "\nprinted by the program\n" + json.dumps(span, indent=4))
    found, damage = read(otel_console.READER, path)

    assert [step["trace_id"] for step in steps(found)] == [TRACE, TRACE]
    assert len(damage.found) == 1


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("folder", "pattern", "reader"),
    [
        ("otlp_json", "**/*.json", otlp.READER),
        ("jaeger_otel", "*.json", jaeger.READER),
        ("phoenix_spans", "*.json", phoenix.READER),
        ("vercel_ai_sdk_spans", "ai-*.json", js_spans.READER),
        ("langwatch_span_fixtures", "*.json", span_samples.READER),
        ("otel_console_exporter", "*.txt", otel_console.READER),
        ("trail_gaia", "traces/*", openinference_tree.READER),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_span_folder_is_known_by_its_content(folder: str, pattern: str, reader: Any) -> None:
    files = sorted(corpus(folder).glob(pattern))
    chosen = {path.name: choose(input_file(path)) for path in files}

    assert files
    assert {name for name, found in chosen.items() if found is not reader} == set()


@pytest.mark.corpus
@pytest.mark.parametrize("folder", ["otlp_json", "phoenix_spans", "jaeger_otel"])
def test_spans_and_errors_are_as_many_as_the_files_hold(folder: str) -> None:
    readers = {"otlp_json": otlp.READER, "phoenix_spans": phoenix.READER, "jaeger_otel": jaeger.READER}
    for line in (corpus(folder) / "expected.jsonl").read_text().splitlines():
        facts = json.loads(line)
        found = steps(read(readers[folder], corpus(folder) / facts["file"])[0])
        failed = [step for step in found if step["status"] == "error"]
        if folder == "jaeger_otel":
            assert [step["name"] for step in failed] == facts["error_spans"]
            assert [s["tool_name"] for s in found if s["kind"] == "tool"] == facts["execute_tool_spans"]
        assert len(found) == facts["spans"]
        if "kinds" in facts:
            kinds = Counter({"model": "LLM"}.get(s["kind"], s["kind"].upper()) for s in found)
            assert kinds == facts["kinds"]
            assert len(failed) == facts["status"].get("ERROR", 0)


@pytest.mark.corpus
def test_every_tool_error_of_the_span_trees_is_an_error_and_no_other_tool_step_is() -> None:
    expected: Counter[tuple[str, str]] = Counter()
    for line in (corpus("trail_gaia") / "tool_errors.jsonl").read_text().splitlines():
        error = json.loads(line)
        expected[error["trace_id"], error["span_id"]] += 1
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(corpus("trail_gaia").glob("traces/*")):
        records, damage = read(openinference_tree.READER, path)
        assert damage.found == []
        for step in steps(records, "tool"):
            if step["status"] == "error":
                found[step["trace_id"], step["step_id"]] += 1

    assert found == expected


def test_no_two_readers_have_one_name() -> None:
    assert [n for n, count in Counter(reader.name for reader in all_readers()).items() if count > 1] == []
