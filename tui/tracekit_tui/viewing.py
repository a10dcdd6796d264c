"""The words of the recovery panel, made of a task's rows."""

from __future__ import annotations

import json
from typing import Any

from tracekit import clock
from tracekit.model import EffectStatus, StepStatus, TaskStatus
from tracekit.store.contract import EffectRow, PutBlob, ReviewRow, StepRow, Store, TaskState
from tracekit_tui.choices import choices_of
from tracekit_tui.recoveries import QueueLine, RecoveryView

_OPEN = "open"


def make_view(store: Store, url: str, state: TaskState) -> RecoveryView:
    """The panel of one task."""
    now = clock.now_ms()
    review = next((row for row in state.reviews if row.status == _OPEN), None)
    panel = _panel(review)
    effect = _effect(state, review)
    return RecoveryView(
        task=state.task,
        goal=str(panel.get("goal") or state.task.goal or state.task.function),
        break_point=str(panel.get("break_point") or _break_point(state)),
        reason=str(panel.get("reason") or _reason(state)),
        recommended=str(panel.get("recommendation") or _recommended(state, review)),
        facts=tuple(_facts(state, now)),
        choices=choices_of(state, review, now),
        review=review,
        effect=effect,
        arguments=_arguments(store, effect),
    )


def _panel(review: ReviewRow | None) -> dict[str, Any]:
    if review is None:
        return {}
    try:
        found = json.loads(review.panel)
    except ValueError:
        return {"reason": review.reason}
    return found if isinstance(found, dict) else {"reason": review.reason}


def _effect(state: TaskState, review: ReviewRow | None) -> EffectRow | None:
    if review is not None and review.effect_key is not None:
        return next((row for row in state.effects if row.key == review.effect_key), None)
    unsettled = (EffectStatus.PENDING, EffectStatus.EXECUTED_UNKNOWN)
    return next((row for row in state.effects if row.status in unsettled), None)


def _arguments(store: Store, effect: EffectRow | None) -> str | None:
    if effect is None:
        return None
    return store.blobs([effect.args]).get(effect.args, b"").decode("utf-8", "replace")


def broken_step(state: TaskState) -> StepRow | None:
    """The step at which the task stands: the first one that did not end well."""
    return next((row for row in state.steps if row.status not in (StepStatus.OK, StepStatus.SKIPPED)), None)


def _break_point(state: TaskState) -> str:
    done = [row for row in state.steps if row.status is StepStatus.OK]
    step = broken_step(state)
    after = f"after {done[-1].name} (step {done[-1].ord})" if done else "before the first step"
    return after if step is None else f"{after}, at {step.name} (step {step.ord}, {step.status})"


def _reason(state: TaskState) -> str:
    effect = _effect(state, None)
    if effect is not None and not state.task.status.is_final:
        return f"{effect.tool} was booked and no outcome is recorded: it may have happened"
    if state.task.error:
        return state.task.error
    return {
        TaskStatus.RUNNING: "its process stopped, or still works on it",
        TaskStatus.QUEUED: "no process has taken it yet",
        TaskStatus.DONE: "it is done",
    }.get(state.task.status, str(state.task.status))


def _recommended(state: TaskState, review: ReviewRow | None) -> str:
    if state.task.status.is_final:
        return "nothing: the task has ended"
    return (
        "answer the question"
        if review is not None
        else "resume: finished steps are kept, unknown effects are settled first"
    )


def _facts(state: TaskState, now_ms: int) -> list[tuple[str, str]]:
    task = state.task
    done = [row for row in state.steps if row.status is StepStatus.OK]
    seconds = sum((row.finished_ms or row.started_ms) - row.started_ms for row in done) / 1000
    kept = (
        f"{len(done)} of {len(state.steps)} calls, {sum(row.tokens for row in done):,} tokens, {seconds:.1f}s"
    )
    risky = [f"{row.tool} {row.status}" for row in state.effects if row.status is not EffectStatus.SUCCESS]
    owner = "nobody"
    if task.owner is not None:
        left = (task.lease_until_ms - now_ms) / 1000
        owner = f"{task.owner} (lease {f'{left:.0f}s more' if left > 0 else 'is over'})"
    return [
        ("status", str(task.status)),
        ("kept", kept),
        ("at risk", ", ".join(risky) or "nothing"),
        ("limits", f"attempt {task.attempt} · recoveries {task.recoveries} of {task.max_recoveries}"),
        ("owner", owner),
    ]


def queue_line(store: Store, review: ReviewRow, state: TaskState, now_ms: int) -> QueueLine:
    """One line of the review queue."""
    effect = _effect(state, review)
    arguments = _arguments(store, effect) or ""
    at_risk = "–" if effect is None else f"{effect.tool} {arguments}"
    reason = str(_panel(review).get("reason") or review.reason)
    return QueueLine(review, state.task, reason, at_risk, now_ms - review.created_ms)


def decide(store: Store, review: ReviewRow, decision: str, payload: bytes | None, who: str) -> None:
    """Record the person's decision; the first one wins."""
    from tracekit.snapshot import digest

    blob = None if payload is None else PutBlob(digest(payload), payload)
    store.decide(
        review.review_id,
        decision=decision,
        by=who,
        args_digest=review.args_digest,
        payload=blob,
        now_ms=clock.now_ms(),
    )
