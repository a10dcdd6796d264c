"""A store that is opened without its logs: its tasks are the list, and the recovery opens from there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tui.driving import explorer, press, screen_text, type_text
from tests.tui.waiting import waiting_store
from tracekit import clock
from tracekit.cli.command import UsageError
from tracekit.errors import TracekitError
from tracekit_analyzers.session import Session
from tracekit_analyzers.views import TraceRow
from tracekit_tui.command import _paths
from tracekit_tui.controller import Controller
from tracekit_tui.recoveries import Recoveries
from tracekit_tui.stored import pages_of


async def test_its_tasks_are_listed_and_enter_opens_the_recovery(tmp_path: Path) -> None:
    recoveries = Recoveries(waiting_store(tmp_path))
    async with explorer(lambda: Controller(Session([]), recoveries, "ada")) as (app, pilot):
        text = screen_text(app)
        assert "1 task" in text
        assert "ticket-0" in text
        assert "waits for a person" in text
        assert "effect.unknown" in text

        await press(pilot, "enter")

        assert "look at the payment service, then retry or skip" in screen_text(app)


async def test_it_is_filtered_by_words_and_says_what_it_cannot_answer(tmp_path: Path) -> None:
    recoveries = Recoveries(waiting_store(tmp_path))
    async with explorer(lambda: Controller(Session([]), recoveries, "ada")) as (app, pilot):
        for words, found in (("status=done", "0 of 0"), ("!status=done refund", "1 of 1")):
            await press(pilot, "slash")
            app.screen.query_one("#prompt").value = ""  # type: ignore[attr-defined]
            await type_text(pilot, words.replace("!", ""))
            app.screen.query_one("#prompt").value = words  # type: ignore[attr-defined]
            await press(pilot, "enter")
            assert found in screen_text(app)

        app.screen.set_filter("tool=pay*")  # type: ignore[attr-defined]
        await press(pilot, "z")

        assert any("tool: only a log tells this" in said.message for said in app._notifications)


def test_a_store_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no .*nothing\.db"):
        _paths([], f"sqlite:{tmp_path / 'nothing.db'}")


def test_of_the_folder_of_a_store_only_the_traces_are_read(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    (tmp_path / "other.jsonl").touch()
    assert _paths([], f"sqlite:{tmp_path / 'state.db'}") == []

    (tmp_path / "traces").mkdir()

    assert _paths([], f"sqlite:{tmp_path / 'state.db'}") == [tmp_path / "traces"]


def row(number: int, **fields: Any) -> TraceRow:
    """The row of one task; what is not given says nothing."""
    told: dict[str, Any] = dict.fromkeys(TraceRow.__dataclass_fields__)
    began = datetime.fromtimestamp(clock.now_ns() / 1e9, UTC) - timedelta(hours=number)
    told |= {
        "trace_id": f"{number:032x}",
        "task_id": f"task-{number}",
        "name": f"refund A-{number}",
        "started_at": began,
    }
    return TraceRow(**{**told, "status": "done", "steps": number, "finished_steps": number, **fields})  # fmt: skip


ROWS = (
    row(1, cost=0.5, duration_ms=10.0),
    row(2, status="requires_review", code="effect.unknown", tokens=900),
    row(3, name="weekly report", cost=2.0),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [1, 2, 3]), ("refund", [1, 2]), ("!refund", [3]), ("cost>0.4", [1, 3]), ("cost>1", [3]), ("steps>=2", [2, 3]),
        ("status=requires*", [2]), ("!status=done", [2]), ("code=effect.*", [2]), ("tokens>100", [2]), ("age<90m", [1]),
        ("task=task-3", [3]), ('name="weekly report"', [3]), ("duration<20", [1]), ("status=done cost<1", [1]),
    ],
)  # fmt: skip
def test_tasks_are_narrowed_in_the_language_of_the_list_of_traces(text: str, found: list[int]) -> None:
    page = pages_of(lambda: ROWS, filter=text, sort="-started_at", errors_only=False)(0, 10)

    assert [one.steps for one in page.rows] == found
    assert (page.total, page.unfiltered) == (len(found), 3)


@pytest.mark.parametrize(
    "text", ["tool=pay", "model=x", "!agent=a", "family=tool", "file=a", "confidence>0.5"]
)
def test_what_only_a_log_knows_is_told_with_what_a_store_knows(text: str) -> None:
    with pytest.raises(
        TracekitError, match=r"only a log tells this.* A store alone knows age, code"
    ) as caught:
        pages_of(lambda: ROWS, filter=text, sort="name", errors_only=False)(0, 10)

    assert caught.value.code == "filter.needs_log"


def test_tasks_are_sorted_and_narrowed_to_those_that_need_a_look() -> None:
    def shown(sort: str, *, errors_only: bool = False) -> list[int]:
        page = pages_of(lambda: ROWS, filter="", sort=sort, errors_only=errors_only)(0, 10)
        return [one.steps for one in page.rows]

    assert shown("-started_at") == [1, 2, 3]
    assert shown("-cost") == [3, 1, 2]
    assert shown("-steps") == [3, 2, 1]
    assert shown("name") == [1, 2, 3]
    assert shown("code") == [2, 1, 3]
    assert shown("-cost", errors_only=True) == [2]


def test_the_tasks_are_read_and_narrowed_once_for_all_pages_of_a_list() -> None:
    asked: list[int] = []

    def tasks() -> tuple[TraceRow, ...]:
        asked.append(1)
        return ROWS

    fetch = pages_of(tasks, filter="refund", sort="name", errors_only=False)
    pages = [fetch(0, 1), fetch(1, 1), fetch(2, 1)]

    assert [[one.steps for one in page.rows] for page in pages] == [[1], [2], []]
    assert {(page.total, page.unfiltered) for page in pages} == {(2, 3)}
    assert len(asked) == 1
