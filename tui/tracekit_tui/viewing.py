"""The words of the recovery panel: the plan of the durable layer and the rows behind it, made ready to be shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import orjson

from tracekit import clock
from tracekit.durable.api import panel_of, plan
from tracekit.durable.plan import Plan
from tracekit.errors import NotStorable
from tracekit.model import TaskStatus
from tracekit.snapshot import decode, readable, to_log
from tracekit.store.claims import ClaimRow
from tracekit.store.contract import Store
from tracekit.store.liveness import survey
from tracekit.store.rows import EffectRow, ReviewRow, StepRow, TaskRow, TaskState
from tracekit.tools import Tool
from tracekit_tui.choices import Choice, choices_of
from tracekit_tui.fitting import tool_of
from tracekit_tui.marks import counted, span, state_words
from tracekit_tui.nested import inner_of, outer_of


@dataclass(frozen=True, slots=True)
class RecoveryView:
    """One task and its break point, ready to be shown."""

    task: TaskRow
    plan: Plan
    goal: str
    facts: tuple[tuple[str, str], ...]
    """Name and words: what is kept, what is at risk, limits, owner."""
    choices: tuple[Choice, ...]
    review: ReviewRow | None
    effect: EffectRow | None
    """The call that the open question is about, or whose outcome is not known."""
    called: str | None
    """Name of the tool of that call; also of one that the question is about and that is in no ledger."""
    arguments: str | None
    """Its arguments as plain JSON text, as they can be edited: a decimal is its digits in quotes."""
    tool: Tool[Any, Any] | None
    """The tool itself, where the task's code is loaded here: what arguments it takes."""
    steps: tuple[StepRow, ...]
    """The journal, in order: where it may be restored to."""
    status: str
    """As it stands: that of the task, `left_behind` where its process has ended in the middle, `decided` where an answer waits."""
    break_step: str | None
    """Id of the step that the break point names."""
    claim: ClaimRow | None = None
    """Who looks at the open question."""
    inner: TaskRow | None = None
    """The task that this one started and stopped for."""
    outer: TaskRow | None = None
    """The task that started this one and stopped for it."""
    break_seq: int | None = None
    """Number of that step in the trace; the journal counts without the task's own step."""


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One open question."""

    review: ReviewRow
    task: TaskRow
    reason: str
    about: str
    """The call in question with its arguments."""
    waiting_ms: int
    claim: ClaimRow | None = None
    """Who looks at it."""


def make_view(store: Store, state: TaskState, *, can_run: bool, shown_url: str) -> RecoveryView:
    """
    The panel of one task.

    Args:
        can_run: Recoveries run here; else decisions are written for a worker.
        shown_url: Where the store is, without a password.
    """
    task = state.task
    found = plan(task.task_id, store=store)
    review = next((row for row in state.reviews if row.review_id in found.reviews), None)
    effect = _effect(state, review, found)
    called, arguments = _asked_about(store, review, effect)
    held = task.owner is not None and task.owner in survey(store).alive
    inner, outer = inner_of(store, review), outer_of(store, task.task_id)
    goes_on_alone = not (can_run or held or found.reviews or task.status.is_final)
    picked_up = who_picks_up(store, shown_url, task) if goes_on_alone else ""
    return RecoveryView(
        task=task,
        plan=found,
        goal=found.goal or task.function,
        facts=tuple(_facts(state, found, held=held, picked_up=picked_up)),
        choices=choices_of(state, found, review, held=held, can_run=can_run, inner=inner, outer=outer),
        review=review,
        effect=effect,
        called=called,
        arguments=arguments,
        tool=tool_of(called, task.function),
        steps=state.steps,
        status=_status(state, found, held),
        break_step=_break_step(state, found),
        claim=None if review is None else standing_claims(store).get(review.review_id),
        inner=inner,
        outer=outer,
    )


def _status(state: TaskState, found: Plan, held: bool) -> str:
    status = state.task.status
    if status is TaskStatus.RUNNING and not held:
        return "left_behind"
    is_answered = status is TaskStatus.REQUIRES_REVIEW and not found.reviews and _decided(state)
    return "decided" if is_answered else str(status)


def _decided(state: TaskState) -> list[ReviewRow]:
    """Answers that nobody has carried out yet."""
    return [row for row in state.reviews if row.status == "decided"]


def _break_step(state: TaskState, found: Plan) -> str | None:
    return next((row.step_id for row in state.steps if row.place == found.break_place), None)


def _effect(state: TaskState, review: ReviewRow | None, found: Plan | None) -> EffectRow | None:
    wanted = review.effect_key if review is not None else None
    if wanted is None and found is not None and found.at_risk:
        wanted = found.at_risk[0].key
    return next((row for row in state.effects if row.key == wanted), None)


def _asked_about(
    store: Store, review: ReviewRow | None, effect: EffectRow | None
) -> tuple[str | None, str | None]:
    """Tool and arguments of the call: from the ledger, else as the question names them."""
    if effect is not None:
        return effect.tool, _arguments(store, effect)
    details = {} if review is None else panel_of(review).get("details") or {}
    if "tool" not in details:
        return None, None
    return str(details["tool"]), orjson.dumps(readable(details.get("arguments", {}))).decode()


def _arguments(store: Store, effect: EffectRow | None) -> str | None:
    if effect is None:
        return None
    body = store.blobs([effect.args])[effect.args]
    try:
        return orjson.dumps(readable(to_log(decode(body)))).decode()
    except NotStorable:
        # A type that only the app knows: its stored form is still worth reading.
        return body.decode("utf-8", "replace")


def _facts(state: TaskState, found: Plan, *, held: bool, picked_up: str) -> list[tuple[str, str]]:
    kept = f"{counted(found.kept_calls, 'call')} ({found.kept_model_calls} of the model), {found.kept_tokens:,} tokens, {found.kept_seconds:.1f}s"
    risky = [f"{row.tool} ({state_words(row.status)}): {row.next_move}" for row in found.at_risk]
    owner = (
        "nobody" if found.owner is None else f"{found.owner} ({'alive' if held else 'its process has ended'})"
    )
    answers = [f"{row.decision!r} by {row.decided_by}, to be carried out" for row in _decided(state)]
    facts = [
        ("status", state_words(_status(state, found, held))),
        ("decided", "; ".join(answers)),
        ("worker", picked_up),
        ("kept", kept),
        ("at risk", "; ".join(risky) or "nothing"),
        ("done, stays", ", ".join(found.done_effects)),
        ("to do", ", ".join(found.todo)),
        ("changed", "; ".join(f"{each}, since the task began" for each in found.code_changed)),
        (
            "limits",
            f"attempt {found.attempt} · {found.recoveries_left} recoveries left · rule {found.rule_id}",
        ),
        ("owner", owner),
    ]
    return [(name, text) for name, text in facts if text]


def recommended(view: RecoveryView) -> str:
    """What comes next; between a task and one inside it, which of the two."""
    inner, outer = view.inner, view.outer
    if inner is not None:
        words = state_words(str(inner.status))
        if inner.status is TaskStatus.DONE:
            return f"resume: {inner.task_id}, for which it stopped, is done"
        if inner.status.is_final:
            return (
                f"{inner.task_id}, for which it stopped, {words}: its code has to go on without that result"
            )
        return f"first {inner.task_id}, which it started and which {words}; then resume"
    if outer is None:
        return _planned(view.plan)
    if view.task.status is TaskStatus.DONE:
        return f"on with {outer.task_id}, which stopped for this task"
    return f"{_planned(view.plan)}; then on with {outer.task_id}, which stopped for this task"


def _planned(plan: Plan) -> str:
    unasked = plan.action == "review" and not plan.reviews
    return (
        f"{plan.recommendation}: resume puts the question, and its answers open here"
        if unasked
        else plan.recommendation
    )


def queue_line(
    store: Store, review: ReviewRow, state: TaskState, now_ms: int, claim: ClaimRow | None = None
) -> QueueLine:
    """One line of the review queue."""
    effect = _effect(state, review, None)
    about = "–" if effect is None else f"{effect.tool} {_arguments(store, effect) or ''}"
    reason = str(panel_of(review).get("reason") or review.reason)
    return QueueLine(review, state.task, reason, about, now_ms - review.created_ms, claim)


def open_questions(store: Store) -> list[QueueLine]:
    """Open questions, oldest first."""
    now = clock.now_ms()
    states = {row.task_id: store.load(row.task_id) for row in store.reviews()}
    claims = standing_claims(store)
    return [
        queue_line(store, row, state, now, claims.get(row.review_id))
        for row in store.reviews()
        if (state := states.get(row.task_id)) is not None
    ]


def standing_claims(store: Store) -> dict[str, ClaimRow]:
    """Claims that are not over, by the id of their question."""
    now_ms = clock.now_ms()
    return {row.review_id: row for row in store.claims() if row.stands(now_ms)}


def claim_words(claim: ClaimRow) -> str:
    """`grace, for 3m · ends in 12m`."""
    now_ms = clock.now_ms()
    had, left = max(0, now_ms - claim.claimed_ms), max(0, claim.until_ms - now_ms)
    return f"{claim.claimed_by}, for {span(had)} · ends in {span(left)}"


def who_picks_up(store: Store, shown_url: str, task: TaskRow) -> str:
    """Which process goes on with *task*, where none is started here: in words that end with the command of one more."""
    alive = set(survey(store).alive)
    rows = [row for row in store.workers() if row.worker_id in alive and row.pid != os.getpid()]
    names = ", ".join(f"{row.worker_id} (pid {row.pid} on {row.host})" for row in rows)
    command = f"tracekit worker --store {shown_url} --app {task.function.rpartition(':')[0]}"
    if names:
        return f"one that has its code picks it up; alive in this store: {names}; one more: {command}"
    return f"none is alive now; start one: {command}"
