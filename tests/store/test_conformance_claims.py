"""What the contract says of claims on questions, run on every store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.store.samples import SetClock, review, state_of, waiting_review
from tracekit.errors import Conflict, TracekitError
from tracekit.model import TaskStatus
from tracekit.store.contract import InsertReview, Store, UpdateTask

needs_set_clock = pytest.mark.parametrize("store_url", ["memory", "sqlite"], indirect=True)
"""The times of PostgreSQL are the server's."""


def decide(store: Store, by: str) -> None:
    store.decide("r1", decision="retry", by=by, args_digest="d" * 32, payload=None, now_ms=100)


def test_a_claim_names_who_and_is_seen_by_all(store: Store, open_again: Callable[[], Store]) -> None:
    waiting_review(store)
    claim = store.claim_review("r1", by="ann", for_s=900)

    assert (claim.task_id, claim.claimed_by) == ("t1", "ann")
    assert claim.until_ms - claim.claimed_ms == 900_000
    assert open_again().claims() == [claim]


def test_a_claim_changes_nothing_of_the_question(store: Store) -> None:
    asked = waiting_review(store)
    store.claim_review("r1", by="ann", for_s=900)

    assert store.reviews() == [asked]
    assert state_of(store).reviews == (asked,)


@needs_set_clock
def test_a_claim_ends_by_itself(store: Store, set_clock: SetClock) -> None:
    waiting_review(store)
    first = store.claim_review("r1", by="ann", for_s=60)
    set_clock.ms += 59_999
    assert first.stands(set_clock.ms)

    set_clock.ms += 1
    assert not first.stands(set_clock.ms)
    assert store.claim_review("r1", by="bob", for_s=900).claimed_by == "bob"


@needs_set_clock
def test_claiming_again_puts_the_end_off_and_keeps_since_when(store: Store, set_clock: SetClock) -> None:
    waiting_review(store)
    first = store.claim_review("r1", by="ann", for_s=60)
    set_clock.ms += 30_000
    again = store.claim_review("r1", by="ann", for_s=60)

    assert (again.claimed_ms, again.until_ms) == (first.claimed_ms, first.until_ms + 30_000)
    assert store.claims() == [again]


def test_of_two_who_claim_the_first_has_it_and_the_other_is_told_who(store: Store) -> None:
    waiting_review(store)
    first = store.claim_review("r1", by="ann", for_s=900)

    with pytest.raises(Conflict, match="claimed by ann since") as caught:
        store.claim_review("r1", by="bob", for_s=900)
    assert caught.value.code == "review.claimed"
    assert store.claims() == [first]


def test_a_claim_is_taken_over_only_from_whom_it_was_seen_with(store: Store) -> None:
    waiting_review(store)
    store.claim_review("r1", by="ann", for_s=900)

    with pytest.raises(Conflict, match="claimed by ann"):
        store.claim_review("r1", by="bob", instead_of="cid", for_s=900)
    assert store.claim_review("r1", by="bob", instead_of="ann", for_s=900).claimed_by == "bob"
    assert [claim.claimed_by for claim in store.claims()] == ["bob"]


def test_a_claim_keeps_nobody_from_deciding_and_goes_with_the_question(store: Store) -> None:
    waiting_review(store)
    store.claim_review("r1", by="ann", for_s=900)
    decide(store, by="bob")

    assert store.claims() == []
    with pytest.raises(Conflict, match="decided by bob"):
        store.claim_review("r1", by="ann", for_s=900)


def test_a_refused_decision_leaves_the_claim(store: Store) -> None:
    waiting_review(store)
    claim = store.claim_review("r1", by="ann", for_s=900)

    with pytest.raises(Conflict):
        store.decide("r1", decision="retry", by="bob", args_digest="e" * 32, payload=None, now_ms=100)
    assert store.claims() == [claim]


def test_a_claim_is_taken_back_by_its_owner_alone(store: Store) -> None:
    waiting_review(store)
    store.claim_review("r1", by="ann", for_s=900)

    assert not store.unclaim_review("r1", by="bob")
    assert store.unclaim_review("r1", by="ann")
    assert not store.unclaim_review("r1", by="ann")
    assert store.claims() == []


def test_an_expired_or_unknown_question_takes_no_claim(store: Store) -> None:
    waiting_review(store, expires_ms=50)

    with pytest.raises(Conflict, match="expired"):
        store.claim_review("r1", by="ann", for_s=900)
    with pytest.raises(TracekitError, match="no review 'r2'"):
        store.claim_review("r2", by="ann", for_s=900)
    assert not store.unclaim_review("r2", by="ann")


def test_claims_are_forgotten_with_their_task(store: Store, set_clock: SetClock) -> None:
    waiting_review(store)
    decide(store, by="ann")
    lease = store.acquire("t1", owner="w2", ttl_s=60)
    assert lease is not None
    store.commit(lease, [InsertReview(review("r2", place="2"))], durable=True)
    store.claim_review("r2", by="ann", for_s=900)
    store.commit(lease, [UpdateTask({"status": TaskStatus.CANCELLED})], durable=True)
    far = set_clock.ms + 10**12
    counts = store.prune(before_ms=far, forget_before_ms=far)

    assert (counts["review_claim"], counts["review"], counts["task"]) == (1, 2, 1)
    assert store.load("t1") is None
