"""The second half of the conformance suite: questions to people, bodies, workers, retention, closing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.store.samples import (
    ARGUMENTS,
    SetClock,
    blob,
    effect,
    review,
    started,
    state_of,
    step,
    task,
    waiting_review,
)
from tracekit.errors import Conflict, TracekitError
from tracekit.model import TaskStatus
from tracekit.store.contract import (
    AppendDecision,
    AppendEvent,
    InsertEffect,
    InsertReview,
    PutBlob,
    PutCompensation,
    PutStep,
    Store,
    UpdateTask,
    UseReview,
)
from tracekit.store.rows import CompensationRow, DecisionRow, WorkerRow


class TestReviews:
    def test_a_task_with_an_open_question_is_not_had(self, store: Store) -> None:
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
        assert (state_of(store).task.status, state_of(store).task.recoveries) == (TaskStatus.RUNNING, 0)

    def test_a_decision_names_who_and_brings_its_payload(self, store: Store) -> None:
        waiting_review(store)
        result = blob('{"ok":true}')
        row = self.decide(store, decision="done", payload=result)

        assert (row.status, row.decision, row.decided_by, row.decided_ms) == ("decided", "done", "ann", 100)
        assert store.reviews(open_only=True) == []
        assert store.reviews(open_only=False) == [row]
        assert state_of(store).blobs[result.hash] == result.data

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
        assert [(row.review_id, row.status) for row in state_of(store).reviews] == [
            ("r1", "expired"),
            ("r2", "open"),
        ]

    def test_a_worker_takes_the_task_of_an_expired_question_to_ask_anew(
        self, store: Store, set_clock: SetClock
    ) -> None:
        waiting_review(store, expires_ms=50)

        assert store.claim(owner="w2", ttl_s=60, functions=["other:f"]) is None
        assert store.claim(owner="w2", ttl_s=60) is not None

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

        assert set(state_of(store).blobs) == {ARGUMENTS.hash}
        assert set(state_of(store, with_bodies=True).blobs) == {
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
        before = state_of(store)
        set_clock.ms += 10 * 86_400_000
        store.prune(before_ms=set_clock.ms, keep_every=10)

        if "postgres" not in store.url:
            assert [row.seq for row in store.events("t1")] == [1, 7, 10, 20, 25]
        assert state_of(store) == before

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

        assert state_of(store).steps == ()
        assert len(state_of(store).effects) == 1
        assert state_of(store).blobs[result.hash] == result.data
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
