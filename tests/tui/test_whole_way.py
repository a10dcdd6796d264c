"""The whole way on real things: an agent killed with SIGKILL, its log and store, keys, a recovery in its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, screen_words, settle
from tests.tui.killed import AGENT, killed_agent, moved
from tests.tui.watching import use_environment, watched_to_the_end
from tracekit.store import open_store
from tracekit_tui.controller import open_controller
from tracekit_tui.dialogs import Confirm

PAYMENT_SENT = "after_dispatch#4"
"""The second tool call has been carried out; nobody has recorded that."""


async def test_by_keys_alone_from_the_list_to_the_ended_task_and_the_money_moves_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_agent(tmp_path, at=PAYMENT_SENT)
    use_environment(monkeypatch, tmp_path)
    assert moved(tmp_path) == 1

    async with explorer(lambda: open_controller([tmp_path], store=None, app=str(AGENT), reader=None)) as (
        app,
        pilot,
    ):
        assert "process.killed" in screen_text(app)

        await press(pilot, "enter")
        text = screen_text(app)
        assert "payment.refund" in text
        assert "model wrote" in text
        assert "tool received" in text
        assert '"99.50"' in text
        assert "⟨decimal 99.50⟩" in text

        await press(pilot, "r")
        assert "it may have happened" in screen_text(app)

        await press(pilot, "r")
        assert isinstance(app.screen, Confirm)
        assert "tracekit.cli resume ticket-77" in screen_text(app)

        await press(pilot, "enter")
        screen = await watched_to_the_end(app, pilot)

        assert screen.code == 0, screen.output
        assert "The refund of A-1024 is done." in screen_text(app)
        assert "notify.send" in screen_text(app)
    assert moved(tmp_path) == 1


async def test_without_a_probe_the_recovery_stops_at_a_question_that_is_answered_on_the_same_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = killed_agent(tmp_path, at=PAYMENT_SENT, probe=False)
    use_environment(monkeypatch, tmp_path, AGENT_PROBE="off", TRACEKIT_PERSON="grace")

    async with explorer(
        lambda: open_controller([tmp_path], store=None, app=str(AGENT), reader=None),
        size=(120, 40),
    ) as (app, pilot):
        await press(pilot, "r", "r", "enter")
        screen = await watched_to_the_end(app, pilot)
        assert screen.code == 5, screen.output
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "ended with code 5: it waits for a person" in screen_words(app)

        await press(pilot, "D")
        area = app.screen.query_one("TextArea")
        area.text = '{"key": "k", "order_id": "A-1024", "amount": "99.50"}'  # type: ignore[attr-defined]
        await press(pilot, "ctrl+s")
        assert "'done'" in screen_text(app)
        await press(pilot, "enter")
        screen = await watched_to_the_end(app, pilot)

        assert screen.code == 0, screen.output
    assert moved(tmp_path) == 1
    store = open_store(url)
    state = store.load("ticket-77")
    store.close()
    assert state is not None
    assert [(row.decision, row.decided_by) for row in state.reviews] == [("done", "grace")]


async def test_restoring_to_a_step_makes_a_new_task_and_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = killed_agent(tmp_path, at="before_commit:before_effect#1")
    use_environment(monkeypatch, tmp_path)

    async with explorer(lambda: open_controller([tmp_path], store=None, app=str(AGENT), reader=None)) as (
        app,
        pilot,
    ):
        await press(pilot, "r", "i")
        text = screen_text(app)
        assert "new task: ticket-77-fork-" in text
        assert "in place of ticket-77" in text
        assert "paid again: nothing" in text
        await press(pilot, "enter")
        screen = await watched_to_the_end(app, pilot)

        assert screen.code == 0, screen.output
    store = open_store(url)
    tasks = {row.parent_task: row for row in store.tasks()}
    store.close()
    assert sorted(tasks, key=str) == [None, "ticket-77"]
    # Two tasks that both go on would pay twice: the old one has ended.
    assert tasks[None].status == "cancelled"
    assert tasks["ticket-77"].status == "done"
    assert screen.trace_id == tasks["ticket-77"].trace_id
    assert moved(tmp_path) == 1
