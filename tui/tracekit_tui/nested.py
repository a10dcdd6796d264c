"""A task that started another one: for which it stopped, and which one stopped for it."""

from __future__ import annotations

import ast
import re

from tracekit.durable.api import panel_of
from tracekit.store.contract import Store
from tracekit.store.rows import ReviewRow, TaskRow

_STOPPED_FOR = re.compile(
    r"\w+: task (?P<id>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") (?:waits for a person|is there already)"
)
"""How the question of a task begins whose own code met another one that had not ended."""


def inner_of(store: Store, review: ReviewRow | None) -> TaskRow | None:
    """The task inside the one that asks *review*, where that is why it asks; None for any other question."""
    task_id = None if review is None else _named_in(review)
    state = None if task_id is None else store.load(task_id)
    return None if state is None else state.task


def outer_of(store: Store, task_id: str) -> TaskRow | None:
    """The task that started *task_id* and waits because of it, the one that asked first."""
    asked = (row for row in store.reviews() if row.task_id != task_id and _named_in(row) == task_id)
    review = next(asked, None)
    state = None if review is None else store.load(review.task_id)
    return None if state is None else state.task


def _named_in(review: ReviewRow) -> str | None:
    if review.reason != "task.exception":
        return None
    found = _STOPPED_FOR.match(str(panel_of(review).get("reason", "")))
    return None if found is None else str(ast.literal_eval(found["id"]))
