"""
Random lives of tasks against a model: create, own, book, crash, clock jumps, decide, prune, reopen.

`TRACEKIT_RUNS=20` lives twenty times as many lives as usual. The model says what the contract says, in its own words; memory and SQLite have to agree with it at every step.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.store.samples import ARGUMENTS, SetClock, blob, effect, review, step, task
from tracekit import clock
from tracekit.errors import Conflict, LeaseLost
from tracekit.model import EffectStatus, TaskStatus
from tracekit.store import open_store
from tracekit.store.contract import (
    AddUsage,
    AppendEvent,
    InsertEffect,
    InsertReview,
    PutStep,
    Store,
    UpdateEffect,
    UpdateTask,
    UseReview,
)
from tracekit.store.rows import Lease

WORKERS = st.sampled_from(["w1", "w2", "w3"])
NAMES = st.sampled_from(["t1", "t2"])
KEYS = st.sampled_from(["k1", "k2"])
MAX_RECOVERIES = 2
TTL_MS = 30_000
PENDING = frozenset({EffectStatus.PENDING})

_numbers = itertools.count(1)


@dataclass
class ModelTask:
    """What a task must look like."""

    status: TaskStatus = TaskStatus.QUEUED
    owner: str | None = None
    lease_until_ms: int = 0
    fence: int = 0
    attempt: int = 0
    recoveries: int = 0
    tokens: int = 0
    events: int = 0
    steps: set[str] = field(default_factory=set)
    effects: dict[str, EffectStatus] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    ended_ms: int | None = None

    def can_be_had(self, now_ms: int, dead: set[str], alive: set[str]) -> bool:
        if self.status is TaskStatus.QUEUED:
            return True
        if self.status is TaskStatus.REQUIRES_REVIEW:
            return "open" not in self.reviews.values()
        if self.status is not TaskStatus.RUNNING:
            return False
        if self.owner is None:
            return True
        is_lost = self.owner in dead or (self.owner not in alive and self.lease_until_ms <= now_ms)
        return is_lost and self.recoveries < MAX_RECOVERIES

    def taken(self, owner: str, now_ms: int) -> None:
        self.recoveries += self.status is TaskStatus.RUNNING and self.owner is not None
        self.status, self.owner, self.lease_until_ms = TaskStatus.RUNNING, owner, now_ms + TTL_MS
        self.fence += 1
        self.attempt += 1
        for key, status in self.effects.items():
            if status is EffectStatus.PENDING:
                self.effects[key] = EffectStatus.EXECUTED_UNKNOWN


class StoreMachine(RuleBasedStateMachine):
    """The rules of life; a subclass says which store."""

    def open(self) -> Store:
        raise NotImplementedError

    @initialize(alive=st.sets(WORKERS))
    def begin(self, alive: set[str]) -> None:
        self.exits = ExitStack()
        self.clock = SetClock()
        self.exits.enter_context(clock.use(self.clock))
        self.folder = Path(tempfile.mkdtemp(prefix="tracekit-machine-"))
        self.exits.callback(shutil.rmtree, self.folder)
        self.store = self.open()
        self.tasks: dict[str, ModelTask] = {}
        self.leases: list[Lease] = []
        self.dead: set[str] = set()
        self.alive = set(alive)
        self.create("t1")

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.exits.close()

    @rule(name=NAMES)
    def admit(self, name: str) -> None:
        self.create(name)

    def create(self, name: str) -> None:
        row = task(name, max_recoveries=MAX_RECOVERIES, priority=int(name == "t2"))
        assert self.store.create(row, [ARGUMENTS]) is (name not in self.tasks)
        self.tasks.setdefault(name, ModelTask())

    @rule(name=NAMES, owner=WORKERS, wait_ms=st.sampled_from([0, 0, 0, TTL_MS]))
    def acquire(self, name: str, owner: str, wait_ms: int) -> None:
        self.clock.ms += wait_ms
        lease = self.store.acquire(
            name, owner=owner, ttl_s=TTL_MS / 1000, dead=sorted(self.dead), alive=sorted(self.alive)
        )
        known = self.tasks.get(name)
        assert (lease is not None) is (known is not None and self.is_free(known))
        if lease is not None and known is not None:
            known.taken(owner, self.clock.ms)
            self.leases.append(lease)

    @rule(owner=WORKERS, wait_ms=st.sampled_from([0, TTL_MS]))
    def claim(self, owner: str, wait_ms: int) -> None:
        self.clock.ms += wait_ms
        lease = self.store.claim(
            owner=owner, ttl_s=TTL_MS / 1000, dead=sorted(self.dead), alive=sorted(self.alive)
        )
        free = [name for name in ("t2", "t1") if name in self.tasks and self.is_free(self.tasks[name])]
        assert (lease and lease.task_id) == (free[0] if free else None)
        if lease is not None:
            self.tasks[lease.task_id].taken(owner, self.clock.ms)
            self.leases.append(lease)

    def is_free(self, known: ModelTask) -> bool:
        return known.can_be_had(self.clock.ms, self.dead, self.alive)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), key=KEYS, durable=st.booleans())
    def book(self, data: st.DataObject, key: str, durable: bool) -> None:
        lease, known, holds = self.some_lease(data)
        writes = [
            PutStep(step(key, task_id=lease.task_id)),
            InsertEffect(effect(key, task_id=lease.task_id)),
            AddUsage(3, 0.0),
            AppendEvent("before_tool", key, "{}"),
        ]
        refused = Conflict if holds and key in known.effects else None
        if self.commit(lease, writes, holds=holds, refused=refused, durable=durable):
            known.effects[key] = EffectStatus.PENDING
            known.steps.add(key)
            known.tokens += 3
            known.events += 1

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), key=KEYS, outcome=st.sampled_from([EffectStatus.SUCCESS, EffectStatus.FAILED]))
    def record_outcome(self, data: st.DataObject, key: str, outcome: EffectStatus) -> None:
        lease, known, holds = self.some_lease(data)
        writes = [AppendEvent("after_tool", key, "{}"), UpdateEffect(key, PENDING, {"status": outcome})]
        refused = Conflict if holds and known.effects.get(key) is not EffectStatus.PENDING else None
        if self.commit(lease, writes, holds=holds, refused=refused):
            known.effects[key] = outcome
            known.events += 1

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), key=KEYS)
    def ask(self, data: st.DataObject, key: str) -> None:
        lease, known, holds = self.some_lease(data)
        review_id = f"r{next(_numbers)}"
        row = review(review_id, task_id=lease.task_id, place=key)
        writes = [InsertReview(row), UpdateTask({"status": TaskStatus.REQUIRES_REVIEW})]
        is_asked = any(
            each.place == key and each.status == "open" and each.task_id == lease.task_id
            for each in self.store.reviews()
        )
        if self.commit(lease, writes, holds=holds):
            known.status = TaskStatus.REQUIRES_REVIEW
            if not is_asked:
                known.reviews[review_id] = "open"

    @precondition(lambda self: any(known.reviews for known in self.tasks.values()))
    @rule(data=st.data(), by=st.sampled_from(["ann", "bob"]))
    def decide(self, data: st.DataObject, by: str) -> None:
        names = sorted(name for name, known in self.tasks.items() if known.reviews)
        known = self.tasks[data.draw(st.sampled_from(names))]
        review_id = data.draw(st.sampled_from(sorted(known.reviews)))
        before = {row.review_id: row for row in self.store.reviews(open_only=False)}[review_id]

        def answer() -> None:
            self.store.decide(
                review_id, decision="retry", by=by, args_digest="d" * 32, payload=None, now_ms=self.clock.ms
            )

        if known.reviews[review_id] == "open" or before.decided_by == by:
            answer()
            if known.reviews[review_id] == "open":
                known.reviews[review_id] = "decided"
        else:
            with pytest.raises(Conflict):
                answer()

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def use_decision(self, data: st.DataObject) -> None:
        lease, known, holds = self.some_lease(data)
        if not known.reviews:
            return
        review_id = data.draw(st.sampled_from(sorted(known.reviews)))
        refused = Conflict if holds and known.reviews[review_id] != "decided" else None
        if self.commit(lease, [UseReview(review_id)], holds=holds, refused=refused):
            known.reviews[review_id] = "used"

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), status=st.sampled_from([TaskStatus.DONE, TaskStatus.FAILED]))
    def end(self, data: st.DataObject, status: TaskStatus) -> None:
        lease, known, holds = self.some_lease(data)
        result = blob(f"result of {lease.task_id}")
        writes = [result, UpdateTask({"status": status, "result": result.hash})]
        if self.commit(lease, writes, holds=holds):
            known.status, known.ended_ms = status, self.clock.ms

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        lease, known, holds = self.some_lease(data)
        assert self.store.renew(lease, ttl_s=TTL_MS / 1000) is holds
        if holds:
            known.lease_until_ms = self.clock.ms + TTL_MS

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        lease, known, holds = self.some_lease(data)
        self.store.release(lease)
        if holds:
            known.owner = None
            known.ended_ms = self.clock.ms if known.status.is_final else None

    @rule(worker=WORKERS, seen=st.sampled_from(["dead", "alive", "out of sight"]))
    def see_worker(self, worker: str, seen: str) -> None:
        self.dead.discard(worker)
        self.alive.discard(worker)
        if seen != "out of sight":
            (self.dead if seen == "dead" else self.alive).add(worker)

    @rule(jump_ms=st.sampled_from([-86_400_000, -1, 1, TTL_MS, 86_400_000]))
    def clock_jumps(self, jump_ms: int) -> None:
        self.clock.ms += jump_ms

    @rule()
    def prune(self) -> None:
        self.store.prune(before_ms=self.clock.ms - 1, keep_every=1)
        for known in self.tasks.values():
            if known.status.is_final and known.ended_ms is not None and known.ended_ms < self.clock.ms - 1:
                known.steps.clear()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.open()

    def some_lease(self, data: st.DataObject) -> tuple[Lease, ModelTask, bool]:
        lease = data.draw(st.sampled_from(self.leases))
        known = self.tasks[lease.task_id]
        return lease, known, (known.owner, known.fence) == (lease.owner, lease.fence)

    def commit(
        self,
        lease: Lease,
        writes: list,  # type: ignore[type-arg]  # of Write
        *,
        holds: bool,
        refused: type[Exception] | None = None,
        durable: bool = True,
    ) -> bool:
        """Whether it was kept; a stale owner and a guarded write must be refused."""
        known = self.tasks[lease.task_id]
        expected = refused if holds else LeaseLost
        if expected is not None:
            with pytest.raises(expected):
                self.store.commit(lease, writes, durable=durable)
            return False
        self.store.commit(lease, writes, durable=durable)
        known.ended_ms = self.clock.ms if known.status.is_final else None
        return True

    @invariant()
    def store_and_model_agree(self) -> None:
        for name, known in getattr(self, "tasks", {}).items():
            state = self.store.load(name, with_bodies=True)
            assert state is not None
            row = state.task
            assert (row.status, row.owner, row.fence) == (known.status, known.owner, known.fence)
            assert (row.attempt, row.recoveries) == (known.attempt, known.recoveries)
            assert row.recoveries <= MAX_RECOVERIES
            assert row.tokens_used == known.tokens
            assert {each.place for each in state.steps} == known.steps
            assert {each.key: each.status for each in state.effects} == known.effects
            assert {each.review_id: each.status for each in state.reviews} == known.reviews
            assert [each.seq for each in self.store.events(name)] == list(range(1, known.events + 1))


class MemoryMachine(StoreMachine):
    def open(self) -> Store:
        return open_store(f"memory:{self.folder}")


class SqliteMachine(StoreMachine):
    def open(self) -> Store:
        return open_store(self.folder / "state.db")


def machine_test(machine: type[StoreMachine], *, runs: int, steps: int) -> Callable[[], None]:
    machine.TestCase.settings = settings(
        max_examples=runs * int(os.environ.get("TRACEKIT_RUNS", "1")),
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    return machine.TestCase  # type: ignore[return-value]  # a unittest class that pytest collects


TestMemory = machine_test(MemoryMachine, runs=120, steps=50)
TestSqlite = machine_test(SqliteMachine, runs=20, steps=50)
