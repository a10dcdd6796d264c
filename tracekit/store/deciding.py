"""How a person's answer is recorded: the first one wins, and it is tied to what that person saw."""

from __future__ import annotations

from dataclasses import replace

from tracekit.errors import Conflict, TracekitError
from tracekit.store.contract import PutBlob
from tracekit.store.ownership import is_open
from tracekit.store.rows import ReviewRow
from tracekit.store.transaction import Transaction
from tracekit.store.writes import put_blob


def decide(
    tx: Transaction,
    review_id: str,
    *,
    decision: str,
    by: str,
    args_digest: str,
    payload: PutBlob | None,
    now_ms: int,
) -> ReviewRow:
    """Record the decision, or give back the same one made before; raises `Conflict` when another stands."""
    review = known_review(tx, review_id)
    answer = (decision, by, payload.hash if payload else None)
    if review.status in ("decided", "used"):
        return _same_answer(review, answer)
    _check_answerable(review, args_digest, now_ms)
    if payload is not None:
        put_blob(tx, payload)
    decided = replace(
        review,
        status="decided",
        decision=decision,
        decided_by=by,
        payload=answer[2],
        decided_ms=now_ms,
        version=review.version + 1,
    )
    tx.put_review(decided)
    tx.drop_review_claim(review_id)
    return decided


def known_review(tx: Transaction, review_id: str) -> ReviewRow:
    """The question, locked until the transaction ends; raises `review.unknown`."""
    review = tx.review(review_id)
    if review is None:
        raise TracekitError("review.unknown", f"there is no review {review_id!r}; list those that wait")
    return review


def check_open(review: ReviewRow, now_ms: int) -> None:
    """Raise `review.expired` for an undecided question that takes no answer any more."""
    if not is_open(review, now_ms):
        raise Conflict(
            "review.expired",
            f"review {review.review_id!r} has expired; resume task {review.task_id!r} to be asked anew",
        )


def _same_answer(review: ReviewRow, answer: tuple[str, str, str | None]) -> ReviewRow:
    if (review.decision, review.decided_by, review.payload) == answer:
        return review
    raise Conflict(
        "review.decided",
        f"review {review.review_id!r} was decided by {review.decided_by} as {review.decision!r}; "
        "the first decision stands and yours was not recorded",
    )


def _check_answerable(review: ReviewRow, args_digest: str, now_ms: int) -> None:
    check_open(review, now_ms)
    if review.args_digest != args_digest:
        raise Conflict(
            "review.other_arguments",
            f"the decision on review {review.review_id!r} was made on the arguments {args_digest!r}, but it now asks "
            f"about {review.args_digest!r}; look at the review again before deciding",
        )
