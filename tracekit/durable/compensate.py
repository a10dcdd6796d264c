"""
Undoing what a task did, in reverse order, each undo with its own ledger key.

The whole list is stored in one transaction before the first undo runs, so a crash in the middle goes on where it was.
An undo whose outcome is unknown waits for a person like any effect; a step without undo is listed as left in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from tracekit.durable.bodies import blob
from tracekit.durable.ledger import effect_key
from tracekit.durable.requests import Op, commit
from tracekit.durable.session import Session, event, now_ms
from tracekit.durable.tool_call import Asked, tool_call
from tracekit.errors import TracekitError
from tracekit.model import EffectRisk, EffectStatus, TaskStatus
from tracekit.policy import Policy
from tracekit.snapshot import canonical, digest
from tracekit.store.contract import PutBlob, PutCompensation, UpdateEffect, UpdateTask, UseReview, Write
from tracekit.store.rows import CompensationRow, EffectRow, ReviewRow
from tracekit.tools import Tool, accepted, as_tool, registered


def roll_back(session: Session, review: ReviewRow | None) -> Op[str]:
    """
    Undo every effect that has an undo, then end the task as failed; *review* is the decision that allows it.

    Gives what was not undone, in words that follow "was rolled back".
    """
    if review is not None:
        yield from _plan(session, review)
    for row in sorted(session.compensations.values(), key=lambda each: each.ord):
        if row.status is EffectStatus.PENDING:
            yield from _undo(session, row)
    left = [row.tool for row in session.compensations.values() if row.status is EffectStatus.SKIPPED]
    unknown = [row.tool for row in session.effects.values() if row.status is EffectStatus.EXECUTED_UNKNOWN]
    text = f"; left in place: {', '.join(left)}" if left else ""
    text += f"; nobody knows whether it happened: {', '.join(unknown)}" if unknown else ""
    yield from commit(
        "task_failed",
        UpdateTask(
            {
                "status": TaskStatus.FAILED,
                "error": orjson.dumps({"type": "rolled_back", "message": f"rolled back{text}"}).decode(),
            }
        ),
        event("rolled_back", None, left_in_place=left, unknown=unknown),
        durable=True,
    )
    return text


def _plan(session: Session, review: ReviewRow) -> Op[None]:
    """Store the whole undo in one transaction with the use of the decision."""
    done = [row for row in session.effects.values() if _happened(row)]
    writes: list[Write] = []
    for number, effect in enumerate(sorted(done, key=_when(session), reverse=True), 1):
        row, blobs = _compensation(session, number, effect)
        writes += [*blobs, PutCompensation(row)]
        session.compensations[row.ord] = row
    yield from commit(
        "undo_planned",
        *writes,
        UseReview(review.review_id),
        UpdateTask({"status": TaskStatus.ROLLING_BACK}),
        event("rollback", None, by=review.decided_by, steps=len(done)),
        durable=True,
    )


def _when(session: Session) -> Callable[[EffectRow], tuple[int, int]]:
    """Orders effects as they happened; within one millisecond as they were begun."""

    def order(effect: EffectRow) -> tuple[int, int]:
        step = session.steps.get(effect.place)
        return effect.outcome_ms or effect.intent_ms, step.ord if step is not None else 0

    return order


def _happened(effect: EffectRow) -> bool:
    return effect.status is EffectStatus.SUCCESS and not effect.place.startswith("undo")


def _compensation(
    session: Session, number: int, effect: EffectRow
) -> tuple[CompensationRow, tuple[PutBlob, ...]]:
    undo = _undo_tool(session, effect)
    offered = dict(session.body(effect.args))
    offered["result"] = session.body(effect.result) if effect.result else None
    named = accepted(undo, offered) if undo is not None else {}
    args = blob(named)
    name = undo.name if undo is not None else effect.tool
    place = f"undo/{number}"
    key = effect_key(session.task.task_id, place, 1, name, digest(canonical(named)))
    status = EffectStatus.PENDING if undo is not None else EffectStatus.SKIPPED
    row = CompensationRow(session.task.task_id, number, effect.key, name, args.hash, key, status)
    return row, (args,)


def _undo_tool(session: Session, effect: EffectRow) -> Tool[Any, Any] | None:
    """The undo that the effect's tool declares, as a tool of its own; None where it declares none."""
    tool = registered(effect.tool, session.task.function)
    if tool is None or tool.policy.undo is None:
        return None
    return as_tool(tool.policy.undo, Policy(EffectRisk.WRITE, timeout_s=tool.policy.timeout_s))


def _undo(session: Session, row: CompensationRow) -> Op[None]:
    """Run one undo through the ledger and mark what it took back."""
    effect = session.effects[row.effect_key]
    undo = _undo_tool(session, effect)
    if undo is None:
        raise TracekitError(
            "undo.missing",
            f"expected tool {effect.tool!r} to declare its undo as it did when the rollback was planned; "
            "resume with the code that declares it",
        )
    yield from tool_call(session, f"undo/{row.ord}", Asked(undo, session.body(row.args)))
    done = replace(row, status=EffectStatus.SUCCESS, attempt=row.attempt + 1)
    changes = {"status": EffectStatus.COMPENSATED, "outcome_ms": now_ms()}
    yield from commit(
        "undone",
        PutCompensation(done),
        UpdateEffect(row.effect_key, frozenset({EffectStatus.SUCCESS}), changes),
        event("undone", effect.place, tool=effect.tool),
        durable=True,
    )
    session.compensations[row.ord] = done
