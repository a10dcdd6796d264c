"""`tracekit audit` says what to do about each thing that a log lacks, and nothing where nothing is lacking."""

import json
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tracekit.cli import main

CHAT = [
    {"role": "user", "content": "Where is order A-1024?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find_order", "arguments": '{"order_id": "A-1024"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"state": "sent"}'},
    {"role": "assistant", "content": "It was sent."},
]  # fmt: skip


def audit(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert main(["audit", str(path), "--format", "json"]) == 0
    answers: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return answers


def test_a_log_of_a_whole_agent_needs_no_advice(capsys: pytest.CaptureFixture[str]) -> None:
    answers = audit(ROOT / "sample_traces", capsys)

    assert [(item["answer"], item["advice"]) for item in answers] == [("yes", [])] * 5


def test_a_foreign_log_is_told_how_to_declare_what_its_tools_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chat.json").write_text(json.dumps(CHAT))

    declared = audit(tmp_path / "chat.json", capsys)[3]

    assert declared["answer"] == "no"
    assert declared["advice"] == ["say what each tool changes: @tracekit.tool(effect=...), docs/effects.md"]
