"""
A machine that plays with one task: tools answer, fail, lose answers; the process "dies" at any commit; people decide.

The model of the world counts what every dispatch really did. Whatever the order, no effect is dispatched twice
without a decision on record, nothing acknowledged is lost, and every task ends or waits where a person sees it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import tracekit
from tracekit import clock, config
from tracekit.durable.api import decide, pending_reviews
from tracekit.durable.owning import Ownership, close_all, ownership
from tracekit.errors import TracekitError
from tracekit.model import EffectStatus, StepStatus, TaskStatus
from tracekit.testing.faults import Faults
from tracekit.testing.settable_clock import SettableClock

FAST = tracekit.Retry(attempts=2, base_s=0.0, jitter=0.0)
POINTS = (
    "before_commit:before_effect",
    "after_commit:before_effect",
    "before_commit:after_effect",
    "after_commit:after_effect",
    "after_commit:after_model",
    "before_commit:task_done",
    "after_commit:decision_used",
    "after_commit:settled",
)
OUTCOMES = ("ok", "refused", "not_sent", "lost_before", "lost_after", "odd")


class Died(Exception):
    """Stands for the end of the process: nothing after it is written."""


class Desk:
    """The world outside: what was asked for and what really happened, by idempotency key."""

    def __init__(self) -> None:
        self.script: list[str] = []
        self.dispatched: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self.model_calls = 0

    def serve(self, honours_key: bool) -> str:
        """One request under the current key, with the next scripted outcome."""
        key = str(tracekit.idempotency_key())
        self.dispatched[key] = self.dispatched.get(key, 0) + 1
        outcome = self.script.pop(0) if self.script else "ok"
        if outcome == "refused":
            raise tracekit.Rejected("no")
        if outcome == "not_sent":
            raise tracekit.NotExecuted("down")
        if outcome == "lost_before":
            raise tracekit.OutcomeUnknown("lost on the way there")
        if not (honours_key and key in self.done):
            self.done[key] = self.done.get(key, 0) + 1
        if outcome == "lost_after":
            raise tracekit.OutcomeUnknown("lost on the way back")
        if outcome == "odd":
            raise ValueError("whatever this means")
        return "receipt"


desk = Desk()


@tracekit.tool(effect="payment", retry=FAST)
def plain() -> str:
    return desk.serve(honours_key=False)


@tracekit.tool(
    effect="payment", retry=FAST, probe=lambda idempotency_key: desk.done.get(idempotency_key) and "receipt"
)
def probed() -> str:
    return desk.serve(honours_key=False)


@tracekit.tool(effect="payment", retry=FAST, idempotent=True)
def keyed() -> str:
    return desk.serve(honours_key=True)


def ask(messages: list[dict[str, Any]]) -> str:
    desk.model_calls += 1
    return "fine"


@tracekit.task(max_recoveries=1000, max_attempts=3, name="tests.world_machine:work")
def work(run: tracekit.Run) -> list[Any]:
    answers = []
    for tool in (plain, probed, keyed):
        run.model(ask, [{"role": "user", "content": tool.name}])
        try:
            answers.append(run.tool(tool))
        except (tracekit.Rejected, tracekit.NotExecuted) as error:
            answers.append(type(error).__name__)
    return answers


class Recovery(RuleBasedStateMachine):
    """Each rule is one thing that may happen to a task or its store."""

    url_of = staticmethod(lambda folder: f"sqlite:{folder / 'state.db'}")

    def __init__(self) -> None:
        super().__init__()
        global desk
        desk = Desk()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = clock.use(SettableClock())
        self.time = self.clock.__enter__()
        self.url = self.url_of(Path(self.folder.name))
        self.acknowledged: dict[str, tuple[str, str | None]] = {}
        self.started = False

    def teardown(self) -> None:
        close_all()
        self.clock.__exit__(None, None, None)
        self.folder.cleanup()

    def go(self, faults: Faults) -> None:
        """Start or resume, whatever comes of it."""
        try:
            if self.started:
                tracekit.resume("t", store=self.url)
            else:
                self.started = True
                work.start(task_id="t", store=self.url)
        except (Died, TracekitError):
            pass
        finally:
            faults.__exit__(None, None, None)

    @rule(script=st.lists(st.sampled_from(OUTCOMES), max_size=6))
    def run(self, script: list[str]) -> None:
        desk.script = script
        self.go(Faults())

    @rule(
        script=st.lists(st.sampled_from(OUTCOMES), max_size=4),
        point=st.sampled_from(POINTS),
        nth=st.integers(1, 4),
    )
    def run_and_die(self, script: list[str], point: str, nth: int) -> None:
        desk.script = script
        faults = Faults()
        faults.raise_at(point, Died(), nth=nth)
        self.go(faults)
        close_all()

    @rule(decision=st.sampled_from(["retry", "skip", "done"]), by=st.sampled_from(["ann", "bob"]))
    def somebody_decides(self, decision: str, by: str) -> None:
        if not self.started:
            return
        for review in pending_reviews(store=self.url):
            try:
                decide(review.review_id, decision, by=by, result="by hand", store=self.url)
            except TracekitError:
                continue  # not an option of this question, or decided by the other one

    @rule(script=st.lists(st.sampled_from(OUTCOMES), max_size=3))
    def a_second_owner_takes_over_in_the_middle(self, script: list[str]) -> None:
        """Another machine takes the lease while an effect is under way: the old owner writes nothing more."""
        if not self.started:
            return
        desk.script = script
        faults = Faults()
        owner: Ownership = ownership(self.url)

        def rob() -> None:
            lost = [owner.presence.worker_id]
            lease = owner.store.acquire("t", owner="elsewhere", ttl_s=30, dead=lost)
            if lease is not None:
                owner.store.release(lease)

        faults.call_at("after_dispatch", rob)
        self.go(faults)

    @rule(seconds=st.integers(-100_000, 100_000))
    def the_clock_jumps(self, seconds: int) -> None:
        assert isinstance(self.time, SettableClock)
        self.time.move(seconds)

    @rule()
    def history_is_pruned(self) -> None:
        if self.started:
            ownership(self.url).store.prune(before_ms=clock.now_ms() + 1, keep_every=3)

    @invariant()
    def nothing_is_dispatched_twice_without_a_decision(self) -> None:
        state = ownership(self.url).store.load("t") if self.started else None
        if state is None:
            return
        for effect in state.effects:
            extra = desk.dispatched.get(effect.key, 0) - 1
            if extra <= 0:
                continue
            reasons = [row for row in state.decisions if row.place == effect.place]
            people = [row for row in state.reviews if row.place == effect.place and row.status == "used"]
            assert len(reasons) + len(people) >= extra, (effect, desk.dispatched)
            assert desk.dispatched[effect.key] <= effect.attempt

    @invariant()
    def the_money_moves_once_unless_a_person_said_again(self) -> None:
        state = ownership(self.url).store.load("t") if self.started else None
        for effect in state.effects if state is not None else ():
            assert state is not None
            again = [
                row
                for row in state.reviews
                if row.place == effect.place and row.decision == "retry" and row.status == "used"
            ]
            assert desk.done.get(effect.key, 0) <= 1 + len(again)

    @invariant()
    def what_was_acknowledged_stays(self) -> None:
        state = ownership(self.url).store.load("t") if self.started else None
        if state is None or state.task.status.is_final:
            return  # steps of an ended task may be pruned
        now = {
            row.place: (row.status.value, row.result) for row in state.steps if row.status is StepStatus.OK
        }
        assert self.acknowledged.items() <= now.items()
        self.acknowledged = now

    @invariant()
    def every_task_ends_or_waits_where_it_is_seen(self) -> None:
        state = ownership(self.url).store.load("t") if self.started else None
        if state is None:
            return
        if state.task.status is TaskStatus.DONE:
            assert not any(row.status is EffectStatus.PENDING for row in state.effects)
        if state.task.status is TaskStatus.REQUIRES_REVIEW:
            assert any(row.status in ("open", "decided") for row in state.reviews)


class RecoveryInMemory(Recovery):
    """The same on the store for tests."""

    url_of = staticmethod(lambda folder: f"memory:{folder.name}")


MOST = 1000 if os.environ.get("TRACEKIT_CHAOS") else 60

BUDGET = settings(
    max_examples=MOST,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("machine", [Recovery, RecoveryInMemory])
def test_whatever_happens_the_promises_hold(machine: type[Recovery]) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    config.configure(home=tempfile.gettempdir(), log_enabled=False)
    run_state_machine_as_test(machine, settings=BUDGET)
