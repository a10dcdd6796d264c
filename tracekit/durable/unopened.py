"""
A task that a worker could take but not open: damaged rows, or code that can't be imported.

It is laid before a person. Given back it would be taken again at once and for ever; kept, nobody would see it.
"""

from __future__ import annotations

import orjson

from tracekit.durable.errors_stored import safe_text
from tracekit.durable.owning import Ownership
from tracekit.durable.session import event, now_ms
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.snapshot import digest
from tracekit.store.contract import InsertReview, UpdateTask
from tracekit.store.rows import Lease, ReviewRow

REASON = "task.unopened"


def lay_aside(owner: Ownership, lease: Lease, error: Exception) -> None:
    """Put the question and give the lease back; where even that can't be written, only give the lease back."""
    review = _question(lease, f"{type(error).__name__}: {safe_text(error)}")
    writes = (
        InsertReview(review),
        UpdateTask({"status": TaskStatus.REQUIRES_REVIEW}),
        event("review", None, review_id=review.review_id, reason=REASON),
    )
    try:
        owner.store.commit(lease, writes, durable=True)
    except TracekitError:
        # The store is away or too damaged to write: whoever takes the task next comes here again.
        return
    finally:
        owner.give_back(lease)


def _question(lease: Lease, why: str) -> ReviewRow:
    panel = {
        "goal": "",
        "break_point": "before the task goes on",
        "reason": f"it could not be opened: {why}",
        "recommendation": "put the cause right, then decide `retry`",
        "options": ["retry", "abort"],
        "answers": [],
        "details": {},
    }
    name = digest(f"{lease.task_id}\x1f{REASON}\x1f{lease.fence}".encode())[:12]
    text = orjson.dumps(panel).decode()
    return ReviewRow(f"rev-{name}", lease.task_id, None, None, REASON, text, "", created_ms=now_ms())
