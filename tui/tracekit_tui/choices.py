"""What a person may choose on the recovery screen, and why a choice is not open now."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tracekit.model import EffectStatus, TaskStatus
from tracekit.store.contract import ReviewRow, TaskState


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to go on."""

    id: str
    """As in the table of actions: `recovery.<id>`."""
    title: str
    means: str
    """What it does, in one sentence."""
    decision: str | None
    """What is written on the open review; None when none is needed."""
    blocked: str = ""
    """Why it can't be chosen now; empty when it can."""
    wants: str = ""
    """`arguments` or `result` when the person has to give a JSON text."""


_CHOICES = (
    Choice(
        "resume",
        "Resume",
        "the task runs from its journal: finished calls answer from it, nothing is sent twice",
        None,
    ),
    Choice("retry", "Retry the call", "the call is sent again under the same key", "retry"),
    Choice(
        "edit",
        "Edit the arguments",
        "the call is sent with the arguments that you give",
        "edit",
        wants="arguments",
    ),
    Choice(
        "done", "It was done", "the call counts as done with the result that you give", "done", wants="result"
    ),
    Choice("skip", "Skip and mark", "the call is left out and stands on the to-do list", "skip"),
    Choice("rollback", "Roll back", "the undos of finished effects run in reverse order", "rollback"),
    Choice("abort", "Abort", "the task ends as cancelled; nothing is undone", "abort"),
)


def choices_of(state: TaskState, review: ReviewRow | None, now_ms: int) -> tuple[Choice, ...]:
    """All choices, each with the reason that keeps it closed now."""
    return tuple(_with_reason(choice, _blocked(choice, state, review, now_ms)) for choice in _CHOICES)


def options_of(review: ReviewRow) -> tuple[str, ...]:
    """The decisions that the question takes; empty when it does not say."""
    try:
        panel = json.loads(review.panel)
    except ValueError:
        return ()
    options = panel.get("options") if isinstance(panel, dict) else None
    return tuple(str(option) for option in options) if isinstance(options, list) else ()


def _with_reason(choice: Choice, blocked: str) -> Choice:
    return Choice(choice.id, choice.title, choice.means, choice.decision, blocked, choice.wants)


def _blocked(choice: Choice, state: TaskState, review: ReviewRow | None, now_ms: int) -> str:
    task = state.task
    if task.status.is_final:
        return f"the task is {task.status}"
    if task.status is TaskStatus.RUNNING and task.owner is not None and task.lease_until_ms > now_ms:
        # A dead owner on this host is found by its lock: `resume` sees that, the lease alone can't.
        return "" if choice.decision is None else f"{task.owner} has the task"
    if choice.decision is None:
        return "a question is open: answer it below" if review is not None else ""
    if review is None:
        return "no question is open: resume first, it asks where a person is needed"
    options = options_of(review)
    if options and choice.decision not in options:
        return f"no answer to this question ({review.reason}); it takes {', '.join(options)}"
    if choice.id == "rollback" and not any(effect.status is EffectStatus.SUCCESS for effect in state.effects):
        return "no finished effect to undo"
    return ""
