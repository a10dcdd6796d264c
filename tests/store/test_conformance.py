"""Each sentence of the contract as a test, run on every store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.store.samples import (
    ARGUMENTS,
    FUNCTION,
    blob,
    effect,
    review,
    started,
    state_of,
    step,
    task,
)
from tracekit.errors import Conflict, LeaseLost, TracekitError
from tracekit.model import EffectStatus, StepStatus, TaskStatus
from tracekit.store.contract import (
    AddUsage,
    AppendDecision,
    AppendEvent,
    InsertEffect,
    InsertReview,
    PutCompensation,
    PutStep,
    Store,
    UpdateEffect,
    UpdateTask,
)
from tracekit.store.rows import CompensationRow, DecisionRow

PENDING = frozenset({EffectStatus.PENDING})


class TestAdmission:
    def test_a_created_task_is_queued_and_comes_back_as_it_was(self, store: Store) -> None:
        row = task(goal="Rückzahlung für “A-1024” 💶", plan='[{"name":"pay"}]', priority=3, cost_used=0.5)
        assert store.create(row, [ARGUMENTS])

        assert state_of(store).task == row
        assert state_of(store).blobs == {ARGUMENTS.hash: ARGUMENTS.data}

    def test_a_second_create_writes_nothing(self, store: Store) -> None:
        store.create(task(), [ARGUMENTS])

        assert not store.create(task(goal="another"), [blob("other")])
        assert state_of(store).task.goal == "refund A-1024"
        with pytest.raises(TracekitError, match="pruned or never stored"):
            store.blobs([blob("other").hash])

    def test_an_unknown_task_is_none(self, store: Store) -> None:
        assert store.load("nobody") is None
        assert store.acquire("nobody", owner="w1", ttl_s=60) is None

    def test_tasks_are_listed_by_id_in_pages(self, store: Store) -> None:
        for name in "dbac":
            store.create(task(name), [ARGUMENTS])

        assert [row.task_id for row in store.tasks(limit=3)] == ["a", "b", "c"]
        assert [row.task_id for row in store.tasks(after="c")] == ["d"]
        assert store.tasks(status=[TaskStatus.DONE]) == []

    def test_steps_that_were_left_out_are_counted_by_task(self, store: Store) -> None:
        for name, statuses in {"a": "so", "b": "ss", "c": "o"}.items():
            lease = started(store, name, owner=f"w-{name}")
            rows = [
                step(str(n), task_id=name, status=StepStatus.SKIPPED if each == "s" else StepStatus.OK)
                for n, each in enumerate(statuses)
            ]
            store.commit(lease, [PutStep(row) for row in rows], durable=False)

        assert store.left_out(["a", "b", "c", "nobody"]) == {"a": 1, "b": 2}
        assert store.left_out(["c"]) == {}
        assert store.left_out([]) == {}

    def test_another_opening_sees_the_same(self, store: Store, open_again: Callable[[], Store]) -> None:
        store.create(task(), [ARGUMENTS])

        assert state_of(open_again()) == state_of(store)


class TestOwnership:
    def test_a_queued_task_is_had_once(self, store: Store) -> None:
        lease = started(store)

        assert (lease.owner, lease.fence) == ("w1", 1)
        assert store.acquire("t1", owner="w2", ttl_s=60) is None
        row = state_of(store).task
        assert (row.status, row.attempt, row.recoveries) == (TaskStatus.RUNNING, 1, 0)

    def test_its_own_owner_does_not_get_it_twice(self, store: Store) -> None:
        started(store)

        assert store.acquire("t1", owner="w1", ttl_s=60) is None

    def test_a_lease_that_is_over_is_taken_and_counted(self, store: Store) -> None:
        started(store, ttl_s=0)
        lease = store.acquire("t1", owner="w2", ttl_s=60)

        assert lease is not None
        assert lease.fence == 2
        assert state_of(store).task.recoveries == 1
        assert state_of(store).task.attempt == 2

    def test_a_dead_owner_is_robbed_before_its_lease_is_over(self, store: Store) -> None:
        started(store)

        assert store.acquire("t1", owner="w2", ttl_s=60, dead=["w1"]) is not None

    def test_a_living_owner_is_never_robbed_even_when_its_lease_is_over(self, store: Store) -> None:
        started(store, ttl_s=0)

        assert store.acquire("t1", owner="w2", ttl_s=60, alive=["w1"]) is None
        assert store.claim(owner="w2", ttl_s=60, alive=["w1"]) is None

    def test_without_recover_only_a_queued_task_is_taken(self, store: Store) -> None:
        started(store, ttl_s=0)

        assert store.acquire("t1", owner="w2", ttl_s=60, recover=False) is None

    def test_recoveries_end_at_the_limit(self, store: Store) -> None:
        started(store, ttl_s=0, max_recoveries=1)
        assert store.acquire("t1", owner="w2", ttl_s=0) is not None

        assert store.acquire("t1", owner="w3", ttl_s=0) is None
        assert store.claim(owner="w3", ttl_s=0) is None
        assert store.acquire("t1", owner="w3", ttl_s=0, beyond_limit=True) is not None
        assert state_of(store).task.recoveries == 1

    def test_a_released_task_is_had_again_without_counting(self, store: Store) -> None:
        store.release(started(store))

        assert store.acquire("t1", owner="w2", ttl_s=60) is not None
        assert state_of(store).task.recoveries == 0

    def test_a_lease_is_put_off_only_by_its_holder(self, store: Store) -> None:
        lost = started(store, ttl_s=0)
        held = store.acquire("t1", owner="w2", ttl_s=0)
        assert held is not None

        assert store.renew(held, ttl_s=60)
        assert not store.renew(lost, ttl_s=60)
        store.release(lost)
        assert store.acquire("t1", owner="w3", ttl_s=60) is None

    def test_a_stale_owner_writes_nothing(self, store: Store) -> None:
        stale = started(store, ttl_s=0)
        store.acquire("t1", owner="w2", ttl_s=60)
        before = state_of(store)

        with pytest.raises(LeaseLost, match="w2 has it"):
            store.commit(stale, [PutStep(step()), AppendEvent("x", None, "{}")], durable=True)
        assert state_of(store) == before
        assert store.events("t1") == []

    def test_what_a_lost_owner_left_pending_is_unknown(self, store: Store) -> None:
        lease = started(store, ttl_s=0)
        store.commit(lease, [InsertEffect(effect()), InsertEffect(effect("k2", call_no=2))], durable=True)
        store.commit(lease, [UpdateEffect("k2", PENDING, {"status": EffectStatus.SUCCESS})], durable=True)
        store.acquire("t1", owner="w2", ttl_s=60)

        statuses = {row.key: row.status for row in state_of(store).effects}
        assert statuses == {"k1": EffectStatus.EXECUTED_UNKNOWN, "k2": EffectStatus.SUCCESS}

    def test_a_rollback_is_taken_over_as_a_rollback(self, store: Store) -> None:
        lease = started(store, ttl_s=0)
        store.commit(lease, [UpdateTask({"status": TaskStatus.ROLLING_BACK})], durable=True)
        store.acquire("t1", owner="w2", ttl_s=60)

        assert state_of(store).task.status is TaskStatus.ROLLING_BACK

    @pytest.mark.parametrize("status", [TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED])
    def test_a_task_at_its_end_is_never_had(self, store: Store, status: TaskStatus) -> None:
        lease = started(store, ttl_s=0)
        store.commit(lease, [UpdateTask({"status": status})], durable=True)

        assert store.acquire("t1", owner="w2", ttl_s=60, dead=["w1"]) is None
        assert store.claim(owner="w2", ttl_s=60, dead=["w1"]) is None


class TestClaim:
    def test_the_oldest_of_the_highest_priority_comes_first(self, store: Store) -> None:
        for name, priority, created_ms in [("a", 0, 1), ("b", 5, 9), ("c", 5, 2)]:
            store.create(task(name, priority=priority, created_ms=created_ms), [ARGUMENTS])
        leases = [store.claim(owner="w1", ttl_s=60) for _ in range(4)]

        assert [lease and lease.task_id for lease in leases] == ["c", "b", "a", None]

    def test_only_asked_functions_are_claimed(self, store: Store) -> None:
        store.create(task(), [ARGUMENTS])

        assert store.claim(owner="w1", ttl_s=60, functions=["other:f"]) is None
        assert store.claim(owner="w1", ttl_s=60, functions=["other:f", FUNCTION]) is not None

    def test_the_task_of_a_dead_owner_is_claimed_and_counted(self, store: Store) -> None:
        started(store)

        assert store.claim(owner="w2", ttl_s=60) is None
        assert store.claim(owner="w2", ttl_s=60, dead=["w1"]) is not None
        assert state_of(store).task.recoveries == 1


class TestCommit:
    def test_everything_that_was_written_comes_back(self, store: Store) -> None:
        lease = started(store)
        rows = (
            step(
                "1", depends_on=("a", "b"), tokens=7, cost=0.25, context_complete=False, error='{"type":"X"}'
            ),
            step("2", ord=2, status=StepStatus.OK, finished_ms=8),
        )
        undo = CompensationRow("t1", 1, "k1", "cancel", ARGUMENTS.hash, "k1:undo")
        decision = DecisionRow("t1", "1", "timeout.no_answer", "high", 0.5, "review", "rule-1", ts_ms=4)
        store.commit(
            lease,
            [
                *map(PutStep, rows),
                InsertEffect(effect()),
                InsertReview(review()),
                PutCompensation(undo),
                AppendDecision(decision),
            ],
            durable=True,
        )

        found = state_of(store)
        assert found.steps == rows
        assert found.effects == (effect(fence=1),)
        assert found.reviews == (review(),)
        assert found.compensations == (undo,)
        assert found.decisions == (decision,)

    def test_a_step_is_replaced_at_its_place(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [PutStep(step())], durable=False)
        store.commit(lease, [PutStep(step(status=StepStatus.OK))], durable=False)

        assert [row.status for row in state_of(store).steps] == [StepStatus.OK]

    def test_events_are_numbered_without_gaps(self, store: Store) -> None:
        lease = started(store)
        assert store.commit(lease, [], durable=False) == 0
        assert (
            store.commit(lease, [AppendEvent("a", None, "1"), AppendEvent("b", "1", "2")], durable=True) == 2
        )
        assert store.commit(lease, [AppendEvent("c", "1", "3")], durable=True) == 3

        assert [(row.seq, row.kind, row.fence) for row in store.events("t1")] == [
            (1, "a", 1),
            (2, "b", 1),
            (3, "c", 1),
        ]
        assert [row.seq for row in store.events("t1", after_seq=1, limit=1)] == [2]

    def test_a_refused_write_undoes_the_whole_commit(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [InsertEffect(effect())], durable=True)
        before = state_of(store)

        with pytest.raises(Conflict):
            store.commit(
                lease,
                [
                    blob_write := blob("new"),
                    PutStep(step()),
                    AddUsage(5, 1.0),
                    AppendEvent("a", None, "{}"),
                    AppendDecision(DecisionRow("t1", None, "x", "low", 0, "retry", "r")),
                    InsertEffect(effect()),
                ],
                durable=True,
            )
        assert state_of(store) == before
        assert store.events("t1") == []
        with pytest.raises(TracekitError, match="never stored"):
            store.blobs([blob_write.hash])

    def test_usage_adds_up(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [AddUsage(10, 0.25), AddUsage(5, 0.5)], durable=False)
        store.commit(lease, [AddUsage(1, 0.0)], durable=False)

        assert (state_of(store).task.tokens_used, state_of(store).task.cost_used) == (16, 0.75)

    def test_a_lease_writes_to_its_own_task_only(self, store: Store) -> None:
        lease = started(store)
        other = started(store, "t2")
        store.commit(other, [InsertEffect(effect("k9", task_id="t2"))], durable=True)

        with pytest.raises(TracekitError, match="whose lease this is"):
            store.commit(lease, [PutStep(step(task_id="t2"))], durable=True)
        with pytest.raises(Conflict, match="found none"):
            store.commit(lease, [UpdateEffect("k9", PENDING, {"status": EffectStatus.FAILED})], durable=True)

    @pytest.mark.parametrize("column", ["fence", "owner", "next_seq", "task_id", "nonsense"])
    def test_columns_of_ownership_are_not_changed_by_hand(self, store: Store, column: str) -> None:
        lease = started(store)

        with pytest.raises(TracekitError, match=column):
            store.commit(lease, [UpdateTask({column: 1})], durable=True)

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_numbers_that_no_column_holds_are_refused(self, store: Store, value: float) -> None:
        lease = started(store)

        with pytest.raises(TracekitError, match="finite"):
            store.commit(lease, [AddUsage(1, value)], durable=True)

    @pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
    def test_text_that_no_database_holds_is_refused(self, store: Store, text: str) -> None:
        with pytest.raises(TracekitError, match=r"task\.goal"):
            store.create(task(goal=text), [ARGUMENTS])
        assert store.load("t1") is None


class TestLedger:
    def test_the_same_call_is_booked_once(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [InsertEffect(effect())], durable=True)

        with pytest.raises(Conflict, match="booked already") as caught:
            store.commit(lease, [InsertEffect(effect())], durable=True)
        assert caught.value.code == "effect.booked"

    def test_the_same_key_with_other_arguments_is_refused(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [InsertEffect(effect())], durable=True)

        with pytest.raises(Conflict, match="other") as caught:
            store.commit(lease, [InsertEffect(effect(args_hash="other"))], durable=True)
        assert caught.value.code == "effect.other_arguments"

    def test_an_effect_moves_on_only_from_an_expected_status(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [InsertEffect(effect())], durable=True)
        change = UpdateEffect("k1", PENDING, {"status": EffectStatus.SUCCESS, "attempt": 2})
        store.commit(lease, [change], durable=True)

        with pytest.raises(Conflict, match="stands at success"):
            store.commit(lease, [change], durable=True)
        assert (state_of(store).effects[0].attempt, state_of(store).effects[0].status) == (
            2,
            EffectStatus.SUCCESS,
        )
