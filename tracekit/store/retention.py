"""What a prune removes, in an order that never leaves a row pointing at nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

BATCH_ROWS = 500
"""Rows removed in one transaction, so that a prune never keeps workers waiting."""

SWEEP_ROWS = 10_000
"""Bodies removed in one transaction: more, since each one marks anew what all rows name."""

SWEEP_GRACE_MS = 2 * 3_600_000
"""
A body is swept at the earliest this long after it was put last: it may have been put by one commit and be named only by
a later one. Twice the hour after which `blob_put` marks a body as used again.
"""

Delete = Callable[[str, Mapping[str, Any]], int]
"""Runs the statement of that name in its own transaction; rows removed."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What may go; see `Store.prune`."""

    before_ms: int
    keep_every: int
    forget_before_ms: int | None
    now_ms: int


def prune(delete: Delete, retention: Retention, damaged: Any) -> dict[str, int]:
    """
    Rows removed by table, each table in batches until nothing is left to remove.

    Args:
        delete: Runs one statement.
        retention: What may go.
        damaged: Ids of tasks whose rows can't be trusted, as a list of the dialect: nothing of them goes by their status.
    """
    counts: dict[str, int] = {}
    for table, statement, params in _passes(retention):
        batch = SWEEP_ROWS if table == "blob" else BATCH_ROWS
        while removed := delete(statement, params | {"batch": batch, "damaged": damaged}):
            counts[table] = counts.get(table, 0) + removed
            if removed < batch:
                break
    return counts


def _passes(retention: Retention) -> Iterator[tuple[str, str, dict[str, Any]]]:
    old = {"before_ms": retention.before_ms}
    yield "event", "prune_events", old | {"keep_every": max(1, retention.keep_every)}
    yield "step", "prune_steps", old
    if retention.forget_before_ms is not None:
        forgotten = {"before_ms": retention.forget_before_ms}
        for table in (
            "event",
            "decision",
            "compensation",
            "review_claim",
            "review",
            "effect",
            "step",
            "task",
        ):
            yield table, f"forget_{table}", forgotten
    yield "blob", "sweep_blobs", {"before_ms": min(retention.before_ms, retention.now_ms - SWEEP_GRACE_MS)}
