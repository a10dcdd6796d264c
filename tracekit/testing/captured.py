"""
Steps for a test to look at: recorded as always, into a folder of the test's own.

    with CapturedSteps(tmp_path) as captured:
        my_agent.run()
    assert captured.one("refund")["status"] == "ok"
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tracekit.config import settings
from tracekit.recording import recorder as recording
from tracekit.recording.log import StepLog
from tracekit.recording.recorder import Recorder
from tracekit.recording.spans import Spans, scope_tracer
from tracekit.redaction import Redactor


class CapturedSteps:
    """What is recorded in the block goes to *folder*; before and after it, wherever it went anyway."""

    def __init__(self, folder: Path) -> None:
        self._traces = folder / "traces"
        options = replace(settings(), home=folder, log_enabled=True)
        redact = Redactor(options.harmless_keys, options.secret_keys) if options.redact else None
        self._log = StepLog(options, to_file=True, redact=redact)
        self._before: Recorder | None = None

    def __enter__(self) -> Self:
        self._before = recording.recorder()
        recording.install(Recorder(self._log, Spans(scope_tracer())))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.close()
        recording.install(self._before)

    def lines(self) -> list[dict[str, Any]]:
        """Every line written so far, as docs/log-format.md describes them; also by child processes after a fork."""
        paths = sorted(self._traces.glob("*.jsonl"))
        return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]

    def steps(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The steps so far in the order in which they began, each as its last line leaves it; only those of *kind*."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for line in self.lines():
            if line["record"] == "step":
                name = line["trace_id"], line["step_id"]
                found[name] = found.get(name, {}) | line
        return [step for step in found.values() if kind in (None, step["kind"])]

    def one(self, name: str) -> dict[str, Any]:
        """The step called *name*; an `AssertionError` that lists what there is, where it is not exactly one."""
        steps = self.steps()
        found = [step for step in steps if step["name"] == name]
        if len(found) != 1:
            there = [f"{step['kind']} {step['name']} {step['status']}" for step in steps]
            raise AssertionError(f"expected one step called {name!r}, got {len(found)} among {there}")
        return found[0]
