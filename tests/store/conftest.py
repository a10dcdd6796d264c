"""The three stores, each fresh for every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.store.samples import SetClock
from tracekit import clock
from tracekit.store import open_store
from tracekit.store.contract import Store


@pytest.fixture
def set_clock() -> Iterator[SetClock]:
    with clock.use(SetClock()) as current:
        assert isinstance(current, SetClock)
        yield current


@pytest.fixture(
    params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return f"memory:{tmp_path}"
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'state.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def open_again(store_url: str) -> Iterator[Callable[[], Store]]:
    """Opens the same store as another process would."""
    opened: list[Store] = []

    def open_it() -> Store:
        opened.append(open_store(store_url))
        return opened[-1]

    yield open_it
    for each in opened:
        each.close()


@pytest.fixture
def store(open_again: Callable[[], Store]) -> Store:
    return open_again()
