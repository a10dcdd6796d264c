"""When a question may be claimed: the same rules for every store. A decision never asks for a claim."""

from __future__ import annotations

from datetime import UTC, datetime

from tracekit.errors import Conflict
from tracekit.store.claims import ClaimRow
from tracekit.store.deciding import check_open, known_review
from tracekit.store.rows import ReviewRow
from tracekit.store.transaction import Transaction


def claim(tx: Transaction, review_id: str, *, by: str, for_s: float, instead_of: str | None) -> ClaimRow:
    """Note that *by* has the question; raises `Conflict` when it is no longer open or another has it."""
    review = known_review(tx, review_id)
    _check_claimable(review, tx.now_ms)
    standing = tx.review_claim(review_id)
    if standing is not None and not standing.stands(tx.now_ms):
        standing = None
    if standing is not None and standing.claimed_by not in (by, instead_of):
        raise Conflict(
            "review.claimed",
            f"review {review_id!r} is claimed by {standing.claimed_by} since {_clock(standing.claimed_ms)} and until "
            f"{_clock(standing.until_ms)} UTC; you may decide it all the same, or take the claim over",
        )
    is_mine = standing is not None and standing.claimed_by == by
    since_ms = standing.claimed_ms if is_mine and standing is not None else tx.now_ms
    row = ClaimRow(review_id, review.task_id, by, since_ms, tx.now_ms + round(for_s * 1000))
    tx.put_review_claim(row)
    return row


def unclaim(tx: Transaction, review_id: str, *, by: str) -> bool:
    """Take the note of *by* back; False when there is none."""
    if tx.review(review_id) is None:  # locks it, so that nobody claims it meanwhile
        return False
    standing = tx.review_claim(review_id)
    if standing is None or standing.claimed_by != by:
        return False
    tx.drop_review_claim(review_id)
    return True


def _check_claimable(review: ReviewRow, now_ms: int) -> None:
    if review.status in ("decided", "used"):
        raise Conflict(
            "review.decided",
            f"review {review.review_id!r} was decided by {review.decided_by} as {review.decision!r}; "
            "there is nothing left to claim",
        )
    check_open(review, now_ms)


def _clock(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%H:%M:%S}"
