"""`tracekit audit` says what to do about each thing that a log lacks, and nothing where nothing is lacking."""

import json
import urllib.error
from email.message import Message
from pathlib import Path

import pytest

import tracekit
from tests.docs.pages import ROOT
from tracekit import config
from tracekit.cli import main
from tracekit.durable.owning import close_all
from tracekit.recording.setup import shutdown

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


def test_an_effect_that_the_service_refused_was_safely_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEKIT_HOME", str(tmp_path / "home"))
    config.reset()
    answers = [503, 429, 200]

    @tracekit.tool(effect="payment", retry=tracekit.Retry(attempts=3, base_s=0.001))
    def pay(amount: int) -> str:
        if (code := answers.pop(0)) != 200:
            raise urllib.error.HTTPError("http://shop", code, "busy", Message(), None)
        return "paid"

    @tracekit.task
    def order(run: tracekit.Run) -> str:
        return run.tool(pay, 5)

    tracekit.init(service="order")
    order.start(task_id="t")
    close_all()
    shutdown()
    config.reset()

    retries = audit(tmp_path / "home", capsys)[2]

    assert (retries["answer"], retries["advice"]) == ("yes", [])
    assert "1 of 1 retried steps were safe to run again" in retries["facts"]  # type: ignore[operator]


def test_an_effect_that_a_client_tried_again_unbooked_was_not_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = "2026-01-01T00:00:00.000000Z"
    step = {
        "record": "step", "trace_id": "a" * 32, "step_id": "b" * 16, "kind": "tool", "name": "pay", "tool_name": "pay",
        "status": "ok", "tries": 2, "effect": {"risk": "payment"}, "started_at": at, "finished_at": at,
    }  # fmt: skip
    (tmp_path / "log.jsonl").write_text(json.dumps(step) + "\n")

    retries = audit(tmp_path / "log.jsonl", capsys)[2]

    assert retries["answer"] == "no"
    assert "say idempotent=True" in str(retries["advice"])
