"""What the tests of durable tasks share: a store of their own, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit import config
from tracekit.durable.owning import close_all
from tracekit.recording.setup import shutdown


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home with its own SQLite store for each test."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("TRACEKIT_HOME", str(home))
    monkeypatch.delenv("TRACEKIT_STORE", raising=False)
    config.reset()
    yield home
    close_all()
    shutdown()
    config.reset()
