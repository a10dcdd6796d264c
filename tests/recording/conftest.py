from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit import config
from tracekit.recording import setup


def read_lines(home: Path) -> list[dict[str, Any]]:
    """Every line of every log under *home*, in the order of the files' names; fails on a line that is not JSON."""
    found = []
    for path in sorted((home / "traces").glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            found.append(
                json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))
            )
    return found


def last_steps(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each step by id as a reader sees it: later lines win field by field."""
    steps: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["record"] == "step":
            steps[line["step_id"]] = steps.get(line["step_id"], {}) | line
    return steps


@pytest.fixture
def lines_of() -> Callable[[Path], list[dict[str, Any]]]:
    return read_lines


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home in which recording is on for the time of the test."""
    config.reset()
    setup.init(service="test", home=tmp_path / "home")
    yield tmp_path / "home"
    setup.shutdown()
    config.reset()


@pytest.fixture
def steps(home: Path) -> Callable[[], list[dict[str, Any]]]:
    """The steps in the log so far, in the order in which they began."""
    return lambda: list(last_steps(read_lines(home)).values())
