"""Claims in the review queue: others see who looks at a question, nobody is locked out, and it ends by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text
from tests.tui.fake_analysis import FakeAnalysis
from tests.tui.test_recovery import decision
from tests.tui.waiting import waiting_store
from tracekit import clock
from tracekit.clock import SystemClock
from tracekit.store import open_store
from tracekit_tui.dialogs import Confirm
from tracekit_tui.recoveries import Recoveries


@pytest.fixture
def url(tmp_path: Path) -> str:
    return waiting_store(tmp_path)


class MovableClock(SystemClock):
    """A clock that a test sets forward."""

    ahead_s = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead_s * 1_000_000_000


def holders(url: str) -> list[str]:
    store = open_store(url)
    found = [claim.claimed_by for claim in store.claims()]
    store.close()
    return found


async def test_c_claims_the_question_and_c_again_takes_it_back(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await press(pilot, "5")
        assert "mine" not in screen_text(app)

        await press(pilot, "c")
        assert "waiting 1 · mine 1" in screen_text(app)
        assert "ada, for 0s · ends in" in screen_text(app)
        assert holders(url) == ["ada"]

        await press(pilot, "c")
        assert "mine" not in screen_text(app)
        assert holders(url) == []


async def test_another_person_sees_the_claim_and_is_asked_before_taking_it_over(url: str) -> None:
    store = open_store(url)
    store.claim_review("rev-1", by="grace", for_s=900)
    store.close()
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await press(pilot, "5")
        assert "grace" in screen_text(app)
        assert "mine" not in screen_text(app)

        await press(pilot, "c")
        assert isinstance(app.screen, Confirm)
        assert "grace has claimed this question" in screen_text(app)
        await press(pilot, "escape")
        assert holders(url) == ["grace"]

        await press(pilot, "c", "enter")
        assert holders(url) == ["ada"]


async def test_another_person_may_decide_and_is_told_once_who_has_claimed_it(url: str) -> None:
    store = open_store(url)
    store.claim_review("rev-1", by="grace", for_s=900)
    store.close()
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await press(pilot, "5", "enter", "t")
        assert "claimed by grace" in screen_text(app)

        await press(pilot, "enter")
        assert decision(url) == ("retry", "ada")


async def test_ones_own_claim_is_no_note_before_deciding(url: str) -> None:
    async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
        await press(pilot, "5", "c", "enter", "t")

        assert "claimed by" not in screen_text(app)


async def test_of_two_people_who_saw_it_free_the_second_is_told_who_was_first(url: str) -> None:
    async with (
        explorer(FakeAnalysis(), recoveries=Recoveries(url), who="ada") as (_, first),
        explorer(FakeAnalysis(), recoveries=Recoveries(url), who="grace") as (second_app, second),
    ):
        await press(first, "5")
        await press(second, "5")
        await press(first, "c")
        await press(second, "c")

        assert holders(url) == ["ada"]
        told = [note.message for note in second_app._notifications]
        assert any("claimed by ada" in message for message in told), told
        assert "ada" in screen_text(second_app)


async def test_a_claim_ends_by_itself(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_CLAIM_S", "60")
    from tracekit import config

    config.reset()
    with clock.use(MovableClock()) as moved:
        assert isinstance(moved, MovableClock)
        async with explorer(FakeAnalysis(), recoveries=Recoveries(url)) as (app, pilot):
            await press(pilot, "5", "c")
            assert "mine 1" in screen_text(app)

            moved.ahead_s = 61
            await press(pilot, "ctrl+r")
            assert "mine" not in screen_text(app)
