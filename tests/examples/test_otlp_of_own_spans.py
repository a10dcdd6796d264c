"""The SDK's own spans, exported as OTLP JSON Lines, say the same as the native log of the same run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.testing.loopback import Fault

if TYPE_CHECKING:
    from conftest import Stage

TICKETS = (
    "The lamp of order A-1024 came broken.",
    "I want money for order B-2001, though nothing of it came back.",
    "Refund order Z-9, please.",
    "The pen of order A-1025 leaks.",
)


def verdicts(stage: Stage, path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    printed = stage.tracekit("analyze", str(path), "--format", "json")
    report = json.loads(printed.stdout)
    kept = ("cause_step", "code", "recovered", "retry")
    return {
        (trace["trace_id"], each["failed_step"]): {name: each[name] for name in kept}
        for trace in report["traces"]
        for each in trace["diagnoses"]
    }


def test_the_sdk_spans_as_otlp_give_the_same_diagnoses_as_the_native_log(
    plain_stage: Stage, tmp_path: Path
) -> None:
    stage = plain_stage
    stage.world.misbehave(
        Fault("POST /notifications", "drop", when="after", skip=0),
        Fault("GET /orders/A-1024", "delay", seconds=0.01),
    )
    spans = tmp_path / "spans.jsonl"
    script = Path(__file__).with_name("otlp_agent.py")
    subprocess.run(
        [sys.executable, str(script), str(stage.agent), str(spans), *TICKETS], env=stage.env(), check=True
    )

    native, otlp = verdicts(stage, stage.home / "traces"), verdicts(stage, spans)

    assert len({verdict["code"] for verdict in native.values()}) >= 3, native
    assert otlp == native
