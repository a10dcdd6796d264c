"""Each sentence of the contract as a test, run on every store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.store.samples import (
    ARGUMENTS,
    FUNCTION,
    SetClock,
    blob,
    effect,
    review,
    started,
    step,
    task,
    waiting_review,
)
from tracekit.errors import Conflict, LeaseLost, TracekitError
from tracekit.model import EffectStatus, StepStatus, TaskStatus
from tracekit.store.contract import (
    AddUsage,
    AppendDecision,
    AppendEvent,
    CompensationRow,
    DecisionRow,
    InsertEffect,
    InsertReview,
    PutBlob,
    PutCompensation,
    PutStep,
    Store,
    UpdateEffect,
    UpdateTask,
    UseReview,
    WorkerRow,
)

PENDING = frozenset({EffectStatus.PENDING})


def state(store: Store, task_id: str = "t1", *, with_bodies: bool = False):  # type: ignore[no-untyped-def]  # never None here
    found = store.load(task_id, with_bodies=with_bodies)
    assert found is not None
    return found


class TestAdmission:
    def test_a_created_task_is_queued_and_comes_back_as_it_was(self, store: Store) -> None:
        row = task(goal="Rückzahlung für “A-1024” 💶", plan='[{"name":"pay"}]', priority=3, cost_used=0.5)
        assert store.create(row, [ARGUMENTS])

        assert state(store).task == row
        assert state(store).blobs == {ARGUMENTS.hash: ARGUMENTS.data}

    def test_a_second_create_writes_nothing(self, store: Store) -> None:
        store.create(task(), [ARGUMENTS])

        assert not store.create(task(goal="another"), [blob("other")])
        assert state(store).task.goal == "refund A-1024"
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

    def test_another_opening_sees_the_same(self, store: Store, open_again: Callable[[], Store]) -> None:
        store.create(task(), [ARGUMENTS])

        assert state(open_again()) == state(store)


class TestOwnership:
    def test_a_queued_task_is_had_once(self, store: Store) -> None:
        lease = started(store)

        assert (lease.owner, lease.fence) == ("w1", 1)
        assert store.acquire("t1", owner="w2", ttl_s=60) is None
        row = state(store).task
        assert (row.status, row.attempt, row.recoveries) == (TaskStatus.RUNNING, 1, 0)

    def test_its_own_owner_does_not_get_it_twice(self, store: Store) -> None:
        started(store)

        assert store.acquire("t1", owner="w1", ttl_s=60) is None

    def test_a_lease_that_is_over_is_taken_and_counted(self, store: Store) -> None:
        started(store, ttl_s=0)
        lease = store.acquire("t1", owner="w2", ttl_s=60)

        assert lease is not None
        assert lease.fence == 2
        assert state(store).task.recoveries == 1
        assert state(store).task.attempt == 2

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
        assert state(store).task.recoveries == 1

    def test_a_released_task_is_had_again_without_counting(self, store: Store) -> None:
        store.release(started(store))

        assert store.acquire("t1", owner="w2", ttl_s=60) is not None
        assert state(store).task.recoveries == 0

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
        before = state(store)

        with pytest.raises(LeaseLost, match="w2 has it"):
            store.commit(stale, [PutStep(step()), AppendEvent("x", None, "{}")], durable=True)
        assert state(store) == before
        assert store.events("t1") == []

    def test_what_a_lost_owner_left_pending_is_unknown(self, store: Store) -> None:
        lease = started(store, ttl_s=0)
        store.commit(lease, [InsertEffect(effect()), InsertEffect(effect("k2", call_no=2))], durable=True)
        store.commit(lease, [UpdateEffect("k2", PENDING, {"status": EffectStatus.SUCCESS})], durable=True)
        store.acquire("t1", owner="w2", ttl_s=60)

        statuses = {row.key: row.status for row in state(store).effects}
        assert statuses == {"k1": EffectStatus.EXECUTED_UNKNOWN, "k2": EffectStatus.SUCCESS}

    def test_a_rollback_is_taken_over_as_a_rollback(self, store: Store) -> None:
        lease = started(store, ttl_s=0)
        store.commit(lease, [UpdateTask({"status": TaskStatus.ROLLING_BACK})], durable=True)
        store.acquire("t1", owner="w2", ttl_s=60)

        assert state(store).task.status is TaskStatus.ROLLING_BACK

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
        assert state(store).task.recoveries == 1


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

        found = state(store)
        assert found.steps == rows
        assert found.effects == (effect(fence=1),)
        assert found.reviews == (review(),)
        assert found.compensations == (undo,)
        assert found.decisions == (decision,)

    def test_a_step_is_replaced_at_its_place(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [PutStep(step())], durable=False)
        store.commit(lease, [PutStep(step(status=StepStatus.OK))], durable=False)

        assert [row.status for row in state(store).steps] == [StepStatus.OK]

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
        before = state(store)

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
        assert state(store) == before
        assert store.events("t1") == []
        with pytest.raises(TracekitError, match="never stored"):
            store.blobs([blob_write.hash])

    def test_usage_adds_up(self, store: Store) -> None:
        lease = started(store)
        store.commit(lease, [AddUsage(10, 0.25), AddUsage(5, 0.5)], durable=False)
        store.commit(lease, [AddUsage(1, 0.0)], durable=False)

        assert (state(store).task.tokens_used, state(store).task.cost_used) == (16, 0.75)

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
        assert (state(store).effects[0].attempt, state(store).effects[0].status) == (2, EffectStatus.SUCCESS)


class TestReviews:
    def test_the_same_question_is_asked_once(self, store: Store) -> None:
        waiting = waiting_review(store)
        lease = store.acquire("t1", owner="w2", ttl_s=60)
        assert lease is None

        assert store.reviews() == [waiting]

    def test_a_task_waits_until_its_last_question_is_answered(self, store: Store) -> None:
        lease = started(store)
        store.commit(
            lease,
            [
                InsertReview(review()),
                InsertReview(review("r2")),
                InsertReview(review("r3", place="2")),
                UpdateTask({"status": TaskStatus.REQUIRES_REVIEW}),
            ],
            durable=True,
        )
        store.release(lease)
        assert [row.review_id for row in store.reviews()] == ["r1", "r3"]
        self.decide(store)

        assert store.claim(owner="w2", ttl_s=60) is None
        self.decide(store, "r3")
        assert store.claim(owner="w2", ttl_s=60) is not None
        assert (state(store).task.status, state(store).task.recoveries) == (TaskStatus.RUNNING, 0)

    def test_a_decision_names_who_and_brings_its_payload(self, store: Store) -> None:
        waiting_review(store)
        result = blob('{"ok":true}')
        row = self.decide(store, decision="done", payload=result)

        assert (row.status, row.decision, row.decided_by, row.decided_ms) == ("decided", "done", "ann", 100)
        assert store.reviews(open_only=True) == []
        assert store.reviews(open_only=False) == [row]
        assert state(store).blobs[result.hash] == result.data

    def test_the_same_decision_again_gives_the_same_row(self, store: Store) -> None:
        waiting_review(store)

        assert self.decide(store) == self.decide(store)

    @pytest.mark.parametrize("other", [{"by": "bob"}, {"decision": "abort"}, {"payload": blob("x")}])
    def test_the_first_decision_wins(self, store: Store, other: dict[str, object]) -> None:
        waiting_review(store)
        first = self.decide(store)

        with pytest.raises(Conflict, match="decided by ann"):
            self.decide(store, **other)  # type: ignore[arg-type]  # one of three keywords
        assert store.reviews(open_only=False) == [first]

    def test_a_decision_on_other_arguments_is_refused(self, store: Store) -> None:
        waiting_review(store)

        with pytest.raises(Conflict, match="look at the review again"):
            self.decide(store, args_digest="e" * 32)

    def test_an_expired_review_takes_no_decision_and_is_asked_anew(
        self, store: Store, set_clock: SetClock
    ) -> None:
        waiting_review(store, expires_ms=50)

        with pytest.raises(Conflict, match="expired"):
            self.decide(store)
        lease = store.acquire("t1", owner="w2", ttl_s=60)
        assert lease is not None
        store.commit(lease, [InsertReview(review("r2"))], durable=True)
        assert [(row.review_id, row.status) for row in state(store).reviews] == [
            ("r1", "expired"),
            ("r2", "open"),
        ]

    def test_a_decision_is_used_once(self, store: Store) -> None:
        waiting_review(store)
        self.decide(store)
        lease = store.acquire("t1", owner="w2", ttl_s=60)
        assert lease is not None
        store.commit(lease, [UseReview("r1")], durable=True)

        with pytest.raises(Conflict, match="it is used"):
            store.commit(lease, [UseReview("r1")], durable=True)
        assert self.decide(store).status == "used"

    def test_an_unknown_review_is_said_to_be_unknown(self, store: Store) -> None:
        with pytest.raises(TracekitError, match="no review 'r1'"):
            self.decide(store)

    @staticmethod
    def decide(
        store: Store,
        review_id: str = "r1",
        *,
        decision: str = "retry",
        by: str = "ann",
        args_digest: str = "d" * 32,
        payload: PutBlob | None = None,
    ):  # type: ignore[no-untyped-def]  # a ReviewRow
        return store.decide(
            review_id, decision=decision, by=by, args_digest=args_digest, payload=payload, now_ms=100
        )


class TestBodies:
    def test_a_body_is_stored_once_under_its_hash(self, store: Store) -> None:
        lease = started(store)
        body = blob("ä" * 100_000)
        store.commit(lease, [body, body], durable=False)
        store.commit(lease, [body], durable=False)

        assert store.blobs([body.hash, body.hash]) == {body.hash: body.data}

    def test_a_body_under_a_wrong_hash_is_refused(self, store: Store) -> None:
        lease = started(store)

        with pytest.raises(TracekitError, match="expected the hash"):
            store.commit(lease, [PutBlob("0" * 32, b"x")], durable=True)

    def test_step_bodies_come_only_when_asked_for_with_all_that_they_name(self, store: Store) -> None:
        lease = started(store)
        message = blob("hello")
        shorter = blob("list 1", refs=(message.hash,))
        longer = blob("list 2", refs=(shorter.hash,))
        store.commit(lease, [message, shorter, longer, PutStep(step(input=longer.hash))], durable=False)

        assert set(state(store).blobs) == {ARGUMENTS.hash}
        assert set(state(store, with_bodies=True).blobs) == {
            ARGUMENTS.hash,
            message.hash,
            shorter.hash,
            longer.hash,
        }


class TestWorkers:
    def test_a_worker_is_registered_refreshed_and_forgotten(self, store: Store) -> None:
        worker = WorkerRow("w1", "host", "boot", 42, 1, 1)
        store.register_worker(worker)
        store.register_worker(later := replace(worker, heartbeat_ms=9))
        assert store.workers() == [later]

        store.forget_worker("w1")
        assert store.workers() == []


class TestPrune:
    def test_history_is_thinned_but_nothing_of_an_open_task_is_lost(
        self, store: Store, set_clock: SetClock
    ) -> None:
        lease = started(store)
        writes = [AppendEvent("review_asked" if n == 7 else "e", None, "{}") for n in range(1, 26)]
        store.commit(lease, [*writes, PutStep(step()), InsertEffect(effect())], durable=True)
        before = state(store)
        set_clock.ms += 10 * 86_400_000
        store.prune(before_ms=set_clock.ms, keep_every=10)

        if "postgres" not in store.url:
            assert [row.seq for row in store.events("t1")] == [1, 7, 10, 20, 25]
        assert state(store) == before

    def test_a_long_history_is_thinned_in_one_call(self, store: Store, set_clock: SetClock) -> None:
        store.commit(started(store), [AppendEvent("e", None, "{}")] * 1300, durable=True)
        counts = store.prune(before_ms=set_clock.ms + 10**12, keep_every=100)

        assert [row.seq for row in store.events("t1")] == [1, *range(100, 1301, 100)]
        assert counts == {"event": 1300 - 14}

    def test_an_ended_task_keeps_its_ledger_and_its_id(self, store: Store, set_clock: SetClock) -> None:
        lease = started(store)
        result = blob("result")
        store.commit(
            lease,
            [
                result,
                PutStep(step()),
                InsertEffect(effect()),
                UpdateTask({"status": TaskStatus.DONE, "result": result.hash}),
            ],
            durable=True,
        )
        store.prune(before_ms=set_clock.ms + 10**12)

        assert state(store).steps == ()
        assert len(state(store).effects) == 1
        assert state(store).blobs[result.hash] == result.data
        assert not store.create(task(), [ARGUMENTS])

    def test_a_forgotten_task_is_gone_whole(self, store: Store, set_clock: SetClock) -> None:
        lease = started(store)
        started(store, "t2")
        store.commit(
            lease,
            [
                PutStep(step()),
                InsertEffect(effect()),
                AppendEvent("e", None, "{}"),
                InsertReview(review()),
                AppendDecision(DecisionRow("t1", None, "x", "low", 0, "retry", "r")),
                PutCompensation(CompensationRow("t1", 1, "k1", "cancel", ARGUMENTS.hash, "u")),
                UpdateTask({"status": TaskStatus.DONE}),
            ],
            durable=True,
        )
        future_ms = set_clock.ms + 10**12
        counts = store.prune(before_ms=0, forget_before_ms=future_ms)

        assert counts | {"blob": 0} == {
            "task": 1,
            "step": 1,
            "effect": 1,
            "event": 1,
            "review": 1,
            "decision": 1,
            "compensation": 1,
            "blob": 0,
        }
        assert store.load("t1") is None
        assert store.load("t2") is not None

    def test_bodies_that_nothing_names_are_swept_after_a_while(
        self, store: Store, set_clock: SetClock
    ) -> None:
        if "postgres" in store.url:
            pytest.skip("a server has its own clock; the sweep itself is tested in test_postgres.py")
        lease = started(store)
        message, loose = blob("message"), blob("loose")
        listed = blob("list", refs=(message.hash,))
        store.commit(lease, [message, loose, listed, PutStep(step(raw=listed.hash))], durable=True)
        assert store.prune(before_ms=set_clock.ms + 10**12) == {}
        set_clock.ms += 3 * 3_600_000

        assert store.prune(before_ms=set_clock.ms) == {"blob": 1}
        assert len(store.blobs([message.hash, listed.hash, ARGUMENTS.hash])) == 3


def test_a_closed_store_refuses_everything(store: Store) -> None:
    store.close()

    with pytest.raises(TracekitError, match="was closed"):
        store.load("t1")
    with pytest.raises(TracekitError, match="was closed"):
        store.create(task(), [])
