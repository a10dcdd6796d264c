"""
Forking and restoring: a new task with the journal of another one up to a step, to go on differently from there.

A fork leaves its parent as it is. `restore` goes back instead: the parent ends, and the fork goes on in its place.
What the parent did outside after the cut is not undone by either; see `tracekit.durable.carried`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tracekit import clock
from tracekit.durable.api import existing, person, resume, state_of, table_of, take
from tracekit.durable.carried import MAY_HAVE_HAPPENED, UNFINISHED, carried_row
from tracekit.durable.decide import Action, Facts, Verdict
from tracekit.durable.ids import SCOPE_FUNCTION, checked_id
from tracekit.durable.journal import is_finished
from tracekit.durable.owning import Ownership, existing_store, ownership
from tracekit.durable.places import named_call
from tracekit.durable.plan import AtRisk, as_at_risk
from tracekit.durable.reviewing import is_open
from tracekit.durable.session import event, now_ms
from tracekit.errors import TracekitError
from tracekit.model import StepKind, StepStatus, TaskStatus
from tracekit.store.contract import (
    AppendDecision,
    InsertEffect,
    PutBlob,
    PutStep,
    Store,
    UpdateTask,
    UseReview,
    Write,
)
from tracekit.store.rows import DecisionRow, EffectRow, Lease, StepRow, TaskRow, TaskState
from tracekit.tools import registered

EFFECTS = ("keep", "repeat")
"""What a fork does about effects that its parent made after the cut."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A journal cut before one step."""

    place: str
    name: str
    kept: tuple[StepRow, ...]
    again: tuple[StepRow, ...]
    """The step itself and all that began after it."""
    effects: tuple[EffectRow, ...]
    """Effects that happened, or may have, and belong to no kept step."""


def cut(state: TaskState, at: str) -> Cut:
    """
    The journal of *state* before the call *at*, named by its place or its step id.

    Raises:
        TracekitError: `fork.no_step`; `fork.unfinished` when a step before it has not ended.
    """
    found = next((row for row in state.steps if at in (row.place, row.step_id)), None)
    if found is None:
        raise _no_such_call(state, at)
    kept = tuple(row for row in state.steps if row.ord < found.ord)
    if open_ := [row.place for row in kept if not is_finished(row)]:
        raise TracekitError(
            "fork.unfinished",
            f"not finished before call {found.place}: {listed(open_)}; go back to before the first of them",
        )
    again = tuple(row for row in state.steps if row.ord >= found.ord)
    return Cut(found.place, found.name, kept, again, _effects_beside(state, kept))


def _no_such_call(state: TaskState, at: str) -> TracekitError:
    calls = listed([row.place for row in state.steps])
    return TracekitError(
        "fork.no_step",
        f"task {state.task.task_id!r} has no call {at!r}; expected the number of a call in the task ({calls}), as "
        "`tracekit plan` shows it, or the id of a step, as the log has it",
    )


def listed(places: Sequence[str], most: int = 20) -> str:
    """*places* for a message; from a long journal the last ones, near which tasks break."""
    shown = ", ".join(places[-most:])
    return (f"..., {shown}" if len(places) > most else shown) or "none"


def cut_unfinished(state: TaskState) -> Cut:
    """Every finished step of *state* and no other."""
    kept = tuple(row for row in state.steps if is_finished(row))
    again = tuple(row for row in state.steps if not is_finished(row))
    return Cut("end", "", kept, again, _effects_beside(state, kept))


def _effects_beside(state: TaskState, kept: tuple[StepRow, ...]) -> tuple[EffectRow, ...]:
    """Effects that happened, or may have, at no kept step."""
    places = {row.place for row in kept}
    return tuple(row for row in state.effects if row.status in MAY_HAVE_HAPPENED and row.place not in places)


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What going back to before one step would do."""

    task_id: str
    place: str
    name: str
    action: str
    """`restore`, or what the decision table wants instead for this class of failure, such as `review`."""
    rule_id: str
    kept_calls: int
    kept_model_calls: int
    kept_tokens: int
    kept_seconds: float
    again: tuple[str, ...]
    """Calls that are made anew, or answered by the recorded result of an effect that is kept."""
    effects: tuple[AtRisk, ...]
    """What was done outside from there on, or may have been: it is not undone."""
    status: str
    """Of the task as it stands now."""


def plan_restore(
    task_id: str, *, at: str, failure_class: str = "", store: str | Store | None = None
) -> RestorePlan:
    """
    What going back to before the step *at* would do; changes nothing.

    Args:
        failure_class: Class of the failure that *at* caused, as a diagnosis names it: the decision table is asked.
    """
    found = existing_store(store) if isinstance(store, str | None) else store
    state = state_of(found, task_id, with_bodies=True)
    made = cut(state, at)
    table = table_of(state.task)
    done = len(made.kept) / max(1, len(state.steps))
    verdict = (
        table.decide(Facts(failure_class, "task", _risk(state, made), done))
        if failure_class
        else Verdict(Action.RESTORE, "person")
    )
    ended = [row for row in made.kept if row.status is not StepStatus.ERROR]
    return RestorePlan(
        task_id,
        made.place,
        made.name,
        verdict.action.value,
        verdict.rule_id,
        len(ended),
        sum(row.kind is StepKind.MODEL for row in ended),
        sum(row.tokens for row in ended),
        round(sum((row.finished_ms or row.started_ms) - row.started_ms for row in ended) / 1000, 3),
        tuple(named_call(row.place, row.name) for row in made.again),
        tuple(as_at_risk(state, row, "keep its result, or repeat it") for row in made.effects),
        state.task.status.value,
    )


def _risk(state: TaskState, made: Cut) -> str:
    """Risk of what happened after the cut; an undeclared tool counts as the worst."""
    tools = [registered(row.tool, state.task.function) for row in made.effects]
    risks = [tool.policy.risk if tool is not None else "high" for tool in tools]
    return "high" if "high" in risks else "low" if risks else "none"


def fork(
    task_id: str,
    *,
    at: str,
    new_id: str | None = None,
    effects: str = "keep",
    by: str | None = None,
    store: str | Store | None = None,
    run: bool = False,
    app: str | None = None,
) -> Any:
    """
    A new task that has everything *task_id* finished before the step *at*; returns its id.

    Effects of the copied steps stay those of the old task: the new one neither repeats nor undoes them. With *run*
    it is run at once and its result returned.

    Args:
        at: Place or step id of the first step that is not copied.
        effects: What the parent did outside from there on: `keep` answers the same call with the recorded result and
            asks a person before the same tool is called otherwise; `repeat` lets them be made again, decided by *by*.
    """
    owner = _owner(store)
    state = _forkable(state_of(owner.store, task_id), effects)
    name = fork_id(task_id) if new_id is None else checked_id(new_id)
    fork_into(owner, state, cut(state, at), name, effects=effects, by=by or person())
    return resume(name, store=store, app=app) if run else name


def restore(
    task_id: str,
    *,
    at: str,
    new_id: str | None = None,
    effects: str = "keep",
    by: str | None = None,
    store: str | Store | None = None,
) -> str:
    """
    Go back to before the step *at*: *task_id* is ended, and the fork whose id is returned goes on in its place.

    Raises:
        TracekitError: As `fork`; `task.held` while another process works on the task.
    """
    owner = _owner(store)
    who = by or person()
    state = _forkable(state_of(owner.store, task_id), effects)
    place = cut(state, at).place
    name = fork_id(task_id) if new_id is None else checked_id(new_id)
    _retire(owner, state, name, place, who)
    state = state_of(owner.store, task_id)  # what was pending is unknown now
    fork_into(owner, state, cut(state, place), name, effects=effects, by=who)
    return name


def _owner(store: str | Store | None) -> Ownership:
    return existing(store) if isinstance(store, str | None) else ownership(store)


def fork_id(task_id: str) -> str:
    """An id for a fork of *task_id*."""
    return f"{task_id}-fork-{clock.current().random_hex(6)}"


def _forkable(state: TaskState, effects: str) -> TaskState:
    if effects not in EFFECTS:
        raise TracekitError("fork.effects", f"effects is one of {', '.join(EFFECTS)}, got {effects!r}")
    if state.task.function == SCOPE_FUNCTION:
        raise TracekitError(
            "task.scope", f"{state.task.task_id!r} is a task_scope: it has no journal that could be cut"
        )
    return state


def fork_into(
    owner: Ownership,
    state: TaskState,
    made: Cut,
    name: str,
    *,
    by: str,
    effects: str = "keep",
    arguments: PutBlob | None = None,
    **columns: Any,
) -> None:
    """
    Admit the fork *name*, then copy the journal; a fork without its journal can't be run by anybody.

    Args:
        arguments: Body of other arguments than the parent's.
        columns: Other values of the new task's row.
    """
    given = () if arguments is None else (arguments,)
    columns |= {} if arguments is None else {"arguments": arguments.hash}
    if not owner.store.create(replace(_new_row(state.task, name), **columns), given):
        raise TracekitError("task.exists", f"task {name!r} is there already; give the fork another id")
    lease = owner.acquire(name, recover=False)
    if lease is None:
        raise TracekitError(
            "task.taken", f"the fork {name!r} was taken by a worker before its journal was copied; fork again"
        )
    parent = state.task.task_id
    writes: list[Write] = [PutStep(replace(row, task_id=name)) for row in made.kept]
    if effects == "keep":
        writes += [InsertEffect(carried_row(row, name)) for row in made.effects]
    writes += [
        UpdateTask({"status": TaskStatus.QUEUED, "attempt": 0, "error": None}),
        event("forked", made.place, parent=parent, effects=effects, by=by),
        _decision(name, made.place, parent=parent, effects=effects, by=by, found=_shown(made.effects)),
    ]
    owner.store.commit(lease, writes, durable=True)
    owner.give_back(lease)


def _shown(effects: Sequence[EffectRow]) -> list[dict[str, str]]:
    return [
        {"tool": row.tool, "place": row.place, "status": row.status.value, "key": row.key} for row in effects
    ]


def _decision(task_id: str, place: str, **evidence: Any) -> AppendDecision:
    text = orjson.dumps(evidence).decode()
    return AppendDecision(
        DecisionRow(task_id, place, "", "", 0.0, "restore", "person", text, now_ms()),
    )


def _new_row(parent: TaskRow, name: str) -> TaskRow:
    now = now_ms()
    return replace(
        parent,
        task_id=name,
        trace_id=clock.current().random_hex(32),
        root_step_id=clock.current().random_hex(16),
        status=TaskStatus.QUEUED,
        owner=None,
        fence=0,
        lease_until_ms=0,
        next_seq=1,
        attempt=0,
        recoveries=0,
        tokens_used=0,
        cost_used=0.0,
        result=None,
        error=UNFINISHED,
        parent_task=parent.task_id,
        created_ms=now,
        updated_ms=now,
    )


def _retire(owner: Ownership, state: TaskState, new_id: str, at: str, by: str) -> None:
    """End the parent, so that nobody goes on with both; its open questions are answered with `abort`."""
    task = state.task
    if task.status.is_final:
        return
    for review in state.reviews:
        if is_open(review):
            owner.store.decide(
                review.review_id,
                decision="abort",
                by=by,
                args_digest=review.args_digest,
                payload=None,
                now_ms=now_ms(),
            )
    end_as(owner, take(owner, task).lease, new_id, at, by)


def end_as(owner: Ownership, lease: Lease, new_id: str, at: str, by: str) -> None:
    """End the task of *lease*, which goes on as *new_id*; gives the lease back."""
    reviews = state_of(owner.store, lease.task_id).reviews
    error = orjson.dumps(
        {"type": "restored", "message": f"it goes on as {new_id!r} before call {at}"}
    ).decode()
    writes: list[Write] = [UseReview(row.review_id) for row in reviews if row.status == "decided"]
    writes += [
        UpdateTask({"status": TaskStatus.CANCELLED, "error": error}),
        event("restored", at, by=by, to=new_id),
        _decision(lease.task_id, at, by=by, to=new_id),
    ]
    owner.store.commit(lease, writes, durable=True)
    owner.give_back(lease)
