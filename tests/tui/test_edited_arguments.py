"""Edited arguments are held against the tool when they are given: what it would refuse is never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_words, settle
from tests.tui.fake_analysis import FakeAnalysis
from tests.tui.waiting import TASK, TRACE, waiting_store
from tracekit import tool, tools
from tracekit.errors import TracekitError
from tracekit.store import open_store
from tracekit_tui.dialogs import Ask, Confirm
from tracekit_tui.recoveries import Recoveries


@pytest.fixture
def url(tmp_path: Path) -> str:
    return waiting_store(tmp_path)


@pytest.fixture(autouse=True)
def no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_registry", {})


@pytest.fixture
def refund(no_tool: None) -> None:
    @tool(effect="payment", name="payment.refund")
    def refund(order_id: str, amount: float, note: str = "") -> None:
        """Never called."""


WRONG = {
    "an unknown one": ('{"order_id": "A-1", "amount": 1, "amont": 2}', "$.amont: Extra inputs"),
    "a missing one": ('{"order_id": "A-1"}', "$.amount: Field required"),
    "a wrong type": ('{"order_id": "A-1", "amount": "much"}', "$.amount: Input should be a valid number"),
    "no object": ('["A-1", 1]', "expected the arguments by name"),
}


@pytest.mark.usefixtures("refund")
@pytest.mark.parametrize("name", WRONG)
async def test_what_the_tool_would_refuse_stays_for_mending_and_nothing_is_written(
    url: str, name: str
) -> None:
    text, why = WRONG[name]
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        app.look_at(TRACE, None)
        app.go("recovery")
        await settle(pilot)
        await press(pilot, "E")
        app.screen.query_one("TextArea").text = text  # type: ignore[attr-defined]
        await press(pilot, "ctrl+s")

        assert isinstance(app.screen, Ask)
        assert why in screen_words(app)

    store = open_store(url)
    state = store.load(TASK)
    store.close()
    assert state is not None
    assert state.reviews[0].decision is None


@pytest.mark.usefixtures("refund")
def test_it_is_refused_below_the_screen_too(url: str) -> None:
    recoveries = Recoveries(url)
    view = recoveries.view(TASK)
    assert view is not None

    with pytest.raises(TracekitError, match="Extra inputs") as caught:
        recoveries.intend(view, "edit", WRONG["an unknown one"][0], "ada")

    assert caught.value.code == "recovery.unfit"
    assert recoveries.intend(view, "edit", '{"order_id": "A-1", "amount": 1}', "ada").value["amount"] == 1
    recoveries.close()


async def test_where_no_tool_is_known_it_says_so_and_how_the_call_differs_from_the_one_before(
    url: str,
) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url), size=(120, 40)) as (app, pilot):
        app.look_at(TRACE, None)
        app.go("recovery")
        await settle(pilot)
        await press(pilot, "E")
        app.screen.query_one("TextArea").text = '{"order_id": 1024, "amont": "99.50"}'  # type: ignore[attr-defined]
        await press(pilot, "ctrl+s")

        assert isinstance(app.screen, Confirm)
        text = screen_words(app)
        assert "not checked against the tool" in text
        assert "amont is new; amount is left out; order_id is a number, and was a text" in text
