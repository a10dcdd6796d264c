"""A real agent with a real exporter: what the receiver writes says the same as the agent's own log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SAME = (
    "trace_id", "parent_step_id", "kind", "name", "status", "tool_name", "call_id", "agent", "input_snapshot",
    "output_snapshot", "model_raw_output", "asked", "model", "finish_reason", "usage", "error_type", "error_message",
    "attempt", "tries", "started_at",
)  # fmt: skip


def tree(home: Path) -> dict[str, dict[str, Any]]:
    """Each step by id, with what has to be the same, and the hashes of the messages that it was sent."""
    steps: dict[str, dict[str, Any]] = {}
    for path in sorted((home / "traces").glob("*.jsonl")):
        for text in path.read_bytes().splitlines():
            line = json.loads(text)
            if line["record"] == "step":
                steps[line["step_id"]] = steps.get(line["step_id"], {}) | line
    return {
        step_id: {name: step.get(name) for name in SAME}
        | {"context": (step.get("context") or {}).get("digest")}
        for step_id, step in steps.items()
    }


@pytest.mark.parametrize("encoding", ["protobuf", "gzip", "json"])
def test_the_tree_is_the_same_as_in_the_native_log(receive: Any, tmp_path: Path, encoding: str) -> None:
    receiver = receive()
    native = tmp_path / "native"

    subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("exporting_agent.py")),
            f"{receiver.url}/v1/traces",
            encoding,
        ],
        env={**os.environ, "TRACEKIT_HOME": str(native)},
        check=True,
        timeout=120,
    )

    told = receiver.end()
    sent, collected = tree(native), tree(receiver.home)
    assert told["spans"] == len(sent) == 18
    assert {step["kind"] for step in sent.values()} == {"agent", "model", "tool", "step"}
    assert any(step["status"] == "error" for step in sent.values())
    assert collected == sent


def test_messages_are_written_once_however_often_they_are_sent(receive: Any, tmp_path: Path) -> None:
    receiver = receive()

    subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("exporting_agent.py")),
            f"{receiver.url}/v1/traces",
            "protobuf",
        ],
        env={**os.environ, "TRACEKIT_HOME": str(tmp_path / "native")},
        check=True,
        timeout=120,
    )

    messages = [line for line in receiver.lines() if line["record"] == "message"]
    assert [message["role"] for message in messages] == ["system", "user"]
