"""A name that a model wrote twice is told as that: the tool received one of the two values, and nobody saw the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.cli import main

AT = "2026-01-01T00:00:00.000000Z"


def said(raw: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    step = {
        "record": "step", "trace_id": "a" * 32, "step_id": "b" * 16, "kind": "tool", "name": "refund", "tool_name": "refund",
        "status": "ok", "input_snapshot": {"order": "A", "amount": 1000}, "model_raw_output": raw, "output_snapshot": "ok",
        "started_at": AT, "finished_at": AT,
    }  # fmt: skip
    (tmp_path / "log.jsonl").write_text(json.dumps(step) + "\n")
    assert main(["analyze", str(tmp_path / "log.jsonl"), "--format", "json"]) == 0
    [trace] = json.loads(capsys.readouterr().out)["traces"]
    return [each["message"] for each in trace["diagnoses"]]


@pytest.mark.parametrize(
    ("raw", "messages"),
    [
        (
            '{"order": "A", "amount": 10, "amount": 1000}',
            ["refund received 1000 at $.amount, which the model wrote twice, also as 10"],
        ),
        ('{"order": "A", "amount": 10}', ["refund received 1000 at $.amount, the model wrote 10"]),
        ('{"order": "A", "amount": 1000, "amount": 1000}', []),
    ],
)
def test_only_another_value_under_the_same_name_is_told(
    raw: str, messages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(raw, tmp_path, capsys) == messages
