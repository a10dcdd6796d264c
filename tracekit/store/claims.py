"""
What a store keeps of who looks at which question: a note that others see, never a lock.

Whoever claims a question says for how long; the note ends by itself then. Another may decide all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """Who looks at one open question, and until when that stands."""

    review_id: str
    task_id: str
    claimed_by: str
    claimed_ms: int
    """Since when this person has it; claiming again keeps it."""
    until_ms: int

    def stands(self, now_ms: int) -> bool:
        """Whether it is not over yet."""
        return self.until_ms > now_ms


class Claims(Protocol):
    """The part of a store that keeps claims."""

    def claim_review(
        self, review_id: str, *, by: str, for_s: float, instead_of: str | None = None
    ) -> ClaimRow:
        """
        Note that *by* looks at an open question for the next *for_s* seconds; claiming it again puts the end off.

        Args:
            instead_of: Whose claim is taken over; only that one's.

        Raises:
            Conflict: `review.claimed` when another has it (the message names who and since when), `review.decided`,
                `review.expired`.
            TracekitError: `review.unknown`.
        """

    def unclaim_review(self, review_id: str, *, by: str) -> bool:
        """Take the note of *by* back; False when there is none."""

    def claims(self) -> list[ClaimRow]:
        """Claims on open questions, the earliest first; also those that are over and were not taken back."""
