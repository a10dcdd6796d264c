"""pytest fixtures for tests of recovery; `pytest_plugins = ["tracekit.testing.plugin"]` in a conftest puts them in force."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit import clock
from tracekit.testing.captured import CapturedSteps
from tracekit.testing.faults import Faults
from tracekit.testing.settable_clock import SettableClock


@pytest.fixture
def faults() -> Iterator[Faults]:
    """Faults that end with the test."""
    with Faults() as planted:
        yield planted


@pytest.fixture
def settable_clock() -> Iterator[SettableClock]:
    """A clock that stands still until it is moved; waits move it and take no time."""
    with clock.use(SettableClock()) as made:
        assert isinstance(made, SettableClock)
        yield made


@pytest.fixture
def captured_steps(tmp_path: Path) -> Iterator[CapturedSteps]:
    """What the test records, for it to look at."""
    with CapturedSteps(tmp_path / "captured") as captured:
        yield captured
