"""Steps captured for a test: what happened in the block, as the log has it, and nothing of it anywhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit import clock
from tracekit.testing.captured import CapturedSteps
from tracekit.testing.settable_clock import SettableClock

pytest_plugins = ["tracekit.testing.plugin"]


def test_steps_are_captured_without_init(captured_steps: CapturedSteps) -> None:
    @tracekit.tool(effect="read")
    def find(order_id: str) -> str:
        return order_id

    with tracekit.step("outer"):
        find("A-1024")

    assert [step["name"] for step in captured_steps.steps()] == ["outer", "find"]
    assert captured_steps.one("find")["input_snapshot"] == {"order_id": "A-1024"}
    assert [step["name"] for step in captured_steps.steps("tool")] == ["find"]


def test_an_open_step_can_be_looked_at(captured_steps: CapturedSteps) -> None:
    with tracekit.step("outer"):
        assert captured_steps.one("outer")["status"] == "running"

    assert captured_steps.one("outer")["status"] == "ok"


def test_recording_goes_on_as_before_after_the_block(
    home: Path, steps: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    with tracekit.step("before"):
        pass
    with CapturedSteps(tmp_path / "captured") as captured, tracekit.step("inside"):
        pass
    with tracekit.step("after"):
        pass

    assert [step["name"] for step in captured.steps()] == ["inside"]
    assert [step["name"] for step in steps()] == ["before", "after"]


def test_a_step_that_is_not_there_is_told_with_those_that_are(captured_steps: CapturedSteps) -> None:
    with tracekit.step("outer"):
        pass

    with pytest.raises(AssertionError, match="step outer ok"):
        captured_steps.one("inner")


def test_ids_and_times_are_the_clock_s_of_the_test(tmp_path: Path) -> None:
    def run(folder: Path) -> list[tuple[str, str, str]]:
        with clock.use(SettableClock()), CapturedSteps(folder) as captured, tracekit.step("outer"):
            pass
        return [(step["trace_id"], step["step_id"], step["started_at"]) for step in captured.steps()]

    assert run(tmp_path / "a") == run(tmp_path / "b")
