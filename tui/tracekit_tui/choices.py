"""What a person may choose on the recovery screen, and why a choice is not open now."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tracekit.durable.api import RESUMING_DECIDES, panel_of
from tracekit.durable.plan import Plan
from tracekit.durable.reviewing import MEANINGS
from tracekit.model import StepKind, TaskStatus
from tracekit.store.rows import ReviewRow, TaskRow, TaskState


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to go on."""

    id: str
    """As in the table of actions: `recovery.<id>`."""
    title: str
    means: str
    """What it does, in one sentence."""
    decision: str | None = None
    """What is written on the open review; None when the choice is no answer to a question."""
    wants: str = ""
    """`arguments`, `result` or `step` when the person has to give one."""
    blocked: str = ""
    """Why it can't be chosen now; empty when it can."""
    fork_at: str | None = None
    """Place in the journal at which a new task goes its own way."""


RESUME = Choice("resume", "Resume", "goes on; no finished call is made again")
REPROMPT = Choice("reprompt", "Ask the model again", "goes back to the last model call, as a new task")
RESTORE = Choice(
    "restore", "Restore to a step", "goes back to a step you choose, as a new task", wants="step"
)
ANSWERS = tuple(
    Choice(decision, title, MEANINGS[decision], decision, wants)
    for decision, title, wants in (
        ("retry", "Retry the call", ""),
        ("edit", "Edit the arguments", "arguments"),
        ("done", "It was done", "result"),
        ("skip", "Skip and mark", ""),
        ("rollback", "Roll back", ""),
        ("abort", "Abort", ""),
    )
)


def choices_of(
    state: TaskState,
    plan: Plan,
    review: ReviewRow | None,
    *,
    held: bool,
    can_run: bool,
    inner: TaskRow | None,
    outer: TaskRow | None,
) -> tuple[Choice, ...]:
    """
    All choices, those that are open now first, each other with the reason that keeps it closed.

    Args:
        held: A living process owns the task.
        can_run: Recoveries run here; else decisions are written for a worker.
        inner: The task that this one started and stopped for.
        outer: The task that stopped for this one.
    """
    model_place = _last_model_place(state)
    back = f"{state.task.owner} is alive and works on it" if held else ""
    found = (
        *_next(state, inner, outer),
        replace(RESUME, blocked=_resume_blocked(state, review, held, can_run)),
        *(replace(choice, blocked=_answer_blocked(choice, state, plan, review)) for choice in ANSWERS),
        replace(
            REPROMPT,
            fork_at=model_place,
            blocked=back or ("" if model_place else "no model call is in its journal"),
        ),
        replace(RESTORE, blocked=back or ("" if state.steps else "nothing is in its journal")),
    )
    return tuple(sorted(found, key=lambda choice: bool(choice.blocked)))


def _last_model_place(state: TaskState) -> str | None:
    return next((row.place for row in reversed(state.steps) if row.kind is StepKind.MODEL), None)


def _next(state: TaskState, inner: TaskRow | None, outer: TaskRow | None) -> tuple[Choice, ...]:
    """The way between a task and one that it started: the inner one comes first, then the outer one goes on."""
    if inner is not None and not inner.status.is_final:
        return (Choice("next", "The inner task first", f"shows {inner.task_id}, for which this one stopped"),)
    if outer is None:
        return ()
    is_done = state.task.status is TaskStatus.DONE
    blocked = "" if is_done else f"{outer.task_id} waits for this one, which is not done yet"
    means = f"{outer.task_id}, which stopped for this one, goes on"
    return (Choice("next", "On with the outer", means, blocked=blocked),)


def _resume_blocked(state: TaskState, review: ReviewRow | None, held: bool, can_run: bool) -> str:
    if state.task.status.is_final:
        return f"the task is {state.task.status}"
    if held:
        return f"{state.task.owner} is alive and works on it"
    if review is None and not can_run:
        return "nothing runs here without --app; above stands who picks it up"
    if review is not None and (review.reason not in RESUMING_DECIDES or not can_run):
        return "a question is open: answer it instead"
    return ""


def _answer_blocked(choice: Choice, state: TaskState, plan: Plan, review: ReviewRow | None) -> str:
    if state.task.status.is_final:
        return f"the task is {state.task.status}"
    if review is None:
        return "no question is open; Resume may ask one"
    options = panel_of(review).get("options", ())
    if choice.decision not in options:
        return f"no answer to {review.reason}; it takes {', '.join(options)}"
    if choice.decision == "rollback" and not plan.done_effects:
        return "no finished effect to undo"
    return ""
