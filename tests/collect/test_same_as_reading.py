"""A span that is received gives the same step as the same span read from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.readers_help import corpus, read, steps
from tracekit import config
from tracekit.collect import otlp_json
from tracekit.collect.inlet import Inlet
from tracekit_analyzers.readers.otlp import READER

SAME = ("kind", "name", "status", "parent_step_id", "tool_name", "call_id", "input_snapshot", "output_snapshot",
        "model", "usage", "model_raw_output", "started_at", "finished_at")  # fmt: skip


def told(rows: list[Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["trace_id"], row["step_id"]): {name: row.get(name) for name in SAME} for row in rows}


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["test-traces.json", "proto_examples/trace.json"])
def test_real_spans_are_the_same_steps_received_and_read(name: str, tmp_path: Path) -> None:
    path = corpus("otlp_json") / name
    data = path.read_bytes()
    bodies = data.splitlines() if name == "test-traces.json" else [data]
    config.reset()
    inlet = Inlet(config.configure(home=tmp_path, service="c"))

    for body in bodies:
        found = otlp_json.traces(body)
        assert (found.rejected, inlet.take(found.spans)) == (0, [])

    inlet.close()
    config.reset()
    (log,) = (tmp_path / "traces").glob("*.jsonl")
    received = [line for line in map(json.loads, log.read_text().splitlines()) if line["record"] == "step"]
    records, _ = read(READER, path)
    assert received
    assert told(received) == told(steps(records))


def test_values_that_json_lacks_and_enums_by_name_are_the_same_received_and_read(
    tmp_path: Path, make: Any
) -> None:
    values = [{"doubleValue": "NaN"}, {"doubleValue": "-Infinity"}, {"doubleValue": 1.5}, {"bytesValue": "aGk="},
              {"intValue": "9007199254740993"}, {"arrayValue": {"values": [{"bytesValue": "aGk="}]}}]  # fmt: skip
    attributes = [{"key": f"v{number}", "value": value} for number, value in enumerate(values)]
    status = {"code": "STATUS_CODE_ERROR", "message": "no seat"}
    request = make.request(make.span(1, kind="SPAN_KIND_CLIENT", status=status, attributes=attributes))
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(request))
    config.reset()
    inlet = Inlet(config.configure(home=tmp_path, service="c"))
    found = otlp_json.traces(path.read_bytes())
    assert (found.rejected, inlet.take(found.spans)) == (0, [])
    inlet.close()
    config.reset()

    (log,) = (tmp_path / "traces").glob("*.jsonl")
    (received,) = [line for line in map(json.loads, log.read_text().splitlines()) if line["record"] == "step"]
    (step,) = steps(read(READER, path)[0])
    shown = {
        name: value
        for name, value in received["attributes"].items()
        if name in {a["key"] for a in attributes}
    }
    assert shown == {name: value for name, value in step["attributes"].items() if name in shown}
    assert shown["v3"] == {"$tk": {"type": "bytes", "base64": "aGk="}}
    assert received["status"] == step["status"] == "error"
    assert [span.kind for span in found.spans] == ["client"]


def test_a_received_conversation_grows_the_log_by_its_new_messages_only(tmp_path: Path, make: Any) -> None:
    config.reset()
    inlet = Inlet(config.configure(home=tmp_path, service="c"))
    talk: list[dict[str, str]] = []
    for turn in range(30):
        talk += [
            {"role": "user", "content": f"question {turn}"},
            {"role": "assistant", "content": f"answer {turn}"},
        ]
        said = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(talk)}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]
        span = make.span(turn + 1, name=f"turn {turn}", attributes=attributes)
        assert inlet.take(otlp_json.traces(json.dumps(make.request(span)).encode()).spans) == []
    inlet.close()
    config.reset()

    (log,) = (tmp_path / "traces").glob("*.jsonl")
    contexts = [
        line["context"] for line in map(json.loads, log.read_text().splitlines()) if "context" in line
    ]
    assert [context["count"] for context in contexts] == [2 * turn for turn in range(1, 31)]
    assert [len(context["hashes"]) for context in contexts] == [2] * 30
