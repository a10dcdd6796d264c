"""What recovering a task would do, worked out from a picture of it; nothing here changes anything."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from tracekit.durable.decide import Action, Facts, Table
from tracekit.durable.places import named_call
from tracekit.durable.reviewing import is_open
from tracekit.durable.settle import settle_means
from tracekit.errors import TracekitError
from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus, TaskStatus
from tracekit.snapshot import decode
from tracekit.store.rows import EffectRow, ReviewRow, StepRow, TaskState
from tracekit.tools import registered


@dataclass(frozen=True, slots=True)
class AtRisk:
    """An effect whose outcome nobody recorded."""

    place: str
    tool: str
    risk: str
    status: str
    key: str
    arguments: object
    attempts: int
    next_move: str
    """What recovery would do about it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan for one task, as it would be carried out now."""

    task_id: str
    trace_id: str
    status: str
    goal: str
    break_point: str
    reason: str
    action: str
    """`replay`, `settle`, `review`, `rollback`, `start`, `wait` or `none`."""
    recommendation: str
    rule_id: str
    attempt: int
    recoveries_left: int
    kept_calls: int
    """Finished calls that are answered from the journal."""
    kept_model_calls: int
    kept_tokens: int
    kept_seconds: float
    at_risk: tuple[AtRisk, ...]
    done_effects: tuple[str, ...]
    """Effects that happened and stay as they are."""
    reviews: tuple[str, ...]
    """Ids of the questions that wait for a person."""
    todo: tuple[str, ...]
    """Steps that were skipped and are still to be done by somebody."""
    owner: str | None = None
    code_changed: tuple[str, ...] = ()
    """What differs from the code that the task began with, where that code can be found here."""
    code_missing: str | None = None
    """Why the task's code could not be loaded here; None where it was, or is not needed."""
    break_place: str | None = None
    """Place of the call that the break point names; None where it names none."""

    @property
    def is_waiting(self) -> bool:
        """Whether only a person can let it go on."""
        return self.action == "review"


def make_plan(
    state: TaskState,
    table: Table,
    *,
    code_changed: tuple[str, ...] = (),
    code_missing: TracekitError | None = None,
    is_held: bool = False,
) -> Plan:
    """The plan for the task of *state*."""
    task = state.task
    finished = [row for row in state.steps if row.status in (StepStatus.OK, StepStatus.SKIPPED)]
    open_reviews = [row for row in state.reviews if is_open(row)]
    at_risk = tuple(
        as_at_risk(state, row, _next_move(state, row, table, code_missing)[1])
        for row in state.effects
        if _is_unsettled(row)
    )
    action, recommendation, rule_id = _action(state, table, open_reviews, code_missing)
    if is_held and task.owner is not None and not task.status.is_final:
        action, rule_id = "wait", "owner.alive"
        recommendation = f"nothing: {task.owner} is alive and works on it"
    return Plan(
        task.task_id,
        task.trace_id,
        task.status.value,
        task.goal,
        _break_point(state, open_reviews),
        _reason(state, open_reviews),
        action,
        recommendation,
        rule_id,
        task.attempt,
        max(0, task.max_recoveries - task.recoveries),
        len(finished),
        sum(row.kind is StepKind.MODEL for row in finished),
        sum(row.tokens for row in finished),
        round(sum((row.finished_ms or row.started_ms) - row.started_ms for row in finished) / 1000, 3),
        at_risk,
        tuple(named_call(row.place, row.tool) for row in state.effects if row.status is EffectStatus.SUCCESS),
        tuple(row.review_id for row in open_reviews),
        tuple(named_call(row.place, row.name) for row in state.steps if row.status is StepStatus.SKIPPED),
        task.owner,
        code_changed,
        None if code_missing is None else str(code_missing),
        _break_place(state, open_reviews),
    )


def _is_unsettled(effect: EffectRow) -> bool:
    return effect.status in (EffectStatus.PENDING, EffectStatus.EXECUTED_UNKNOWN)


def as_at_risk(state: TaskState, effect: EffectRow, next_move: str) -> AtRisk:
    """*effect* as a plan shows it."""
    body = state.blobs.get(effect.args)
    return AtRisk(
        effect.place,
        effect.tool,
        effect.risk.value,
        effect.status.value,
        effect.key,
        decode(body) if body is not None else None,
        effect.attempt,
        next_move,
    )


def _next_move(
    state: TaskState, effect: EffectRow, table: Table, code_missing: TracekitError | None
) -> tuple[Action, str, str]:
    if state.task.status.is_final:
        left = f"left as it is, the task has ended: look for its key at the service behind {effect.tool}"
        return Action.REVIEW, left, "final"
    decided = [row for row in state.reviews if row.place == effect.place and row.status == "decided"]
    if decided:
        return (
            Action.REPLAY,
            f"carry out the decision {decided[0].decision!r} of {decided[0].decided_by}",
            "person",
        )
    tool = registered(effect.tool, state.task.function)
    means = settle_means(tool, effect) if tool is not None else ("key" if effect.idempotent else "none")
    risk = tool.policy.risk if tool is not None else "high"
    facts = Facts("timeout.no_answer", "effect", risk, is_unknown=True, settle=means)
    verdict = table.decide(facts)
    words = {
        Action.RETRY: "send it again under the same key",
        Action.SETTLE: "ask its probe what became of it, then keep the result or send it",
    }
    unknown = "" if tool is not None else f" ({_not_declared(effect.tool, code_missing)})"
    return verdict.action, words.get(verdict.action, "ask a person") + unknown, verdict.rule_id


def _not_declared(tool: str, code_missing: TracekitError | None) -> str:
    was_found = code_missing is not None and code_missing.code == "task.app_failed"
    why = "the task's code could not be loaded" if was_found else "give --app to know its probe"
    return f"tool {tool!r} is not declared here; {why}"


def _action(
    state: TaskState, table: Table, open_reviews: list[ReviewRow], code_missing: TracekitError | None
) -> tuple[str, str, str]:
    task = state.task
    if task.status.is_final:
        return "none", f"nothing: the task is {task.status.value}", "final"
    if open_reviews:
        panel = orjson.loads(open_reviews[0].panel)
        return "review", panel["recommendation"], open_reviews[0].reason
    if task.status is TaskStatus.QUEUED:
        return "start", "let a worker take it, or resume it here", "queued"
    if task.status is TaskStatus.ROLLING_BACK:
        return "rollback", "go on undoing", "rolling_back"
    moves = [_next_move(state, row, table, code_missing) for row in state.effects if _is_unsettled(row)]
    for move, words, rule_id in moves:
        if move is Action.REVIEW:
            return "review", words, rule_id
    for _, words, rule_id in moves:
        return "settle", f"{words}; then go on from the break point", rule_id
    if task.recoveries >= task.max_recoveries and task.owner is not None:
        return "review", f"{task.recoveries} recoveries are used up: ask a person", "limit.person"
    failure_class = "process.exception" if task.error else "process.killed"
    verdict = table.decide(Facts(failure_class, "task", "high" if state.effects else "none"))
    if verdict.action is Action.REVIEW:
        return "review", "ask a person", verdict.rule_id
    return (
        "replay",
        "go on from the break point; finished calls are answered from the journal",
        verdict.rule_id,
    )


def _last_open(state: TaskState) -> StepRow | None:
    unfinished = [row for row in state.steps if row.status in (StepStatus.RUNNING, StepStatus.ERROR)]
    return unfinished[-1] if unfinished else None


def _break_point(state: TaskState, open_reviews: list[ReviewRow]) -> str:
    if open_reviews:
        text: str = orjson.loads(open_reviews[0].panel)["break_point"]
        return text
    row = _last_open(state)
    if row is not None:
        return named_call(row.place, row.name)
    if state.task.status.is_final:
        return "none"
    return (
        f"after {named_call(state.steps[-1].place, state.steps[-1].name)}"
        if state.steps
        else "before the first call"
    )


def _break_place(state: TaskState, open_reviews: list[ReviewRow]) -> str | None:
    if open_reviews:
        return open_reviews[0].place
    row = _last_open(state) or (state.steps[-1] if state.steps and not state.task.status.is_final else None)
    return None if row is None else row.place


def _reason(state: TaskState, open_reviews: list[ReviewRow]) -> str:
    task = state.task
    if open_reviews:
        text: str = orjson.loads(open_reviews[0].panel)["reason"]
        return text
    unsettled = [row for row in state.effects if _is_unsettled(row) and row.risk is not EffectRisk.READ]
    if unsettled:
        row = unsettled[0]
        return f"{row.tool} was sent and no answer was recorded: it may have happened"
    if task.error:
        stored = orjson.loads(task.error)
        return f"{stored.get('type', 'error')}: {stored.get('message', '')}"
    row_open = _last_open(state)
    if row_open is not None and not task.status.is_final:
        return f"its process ended while {row_open.name} was under way"
    return {TaskStatus.QUEUED: "it waits to be started"}.get(task.status, f"the task is {task.status.value}")
