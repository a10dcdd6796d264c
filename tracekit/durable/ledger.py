"""
The effect ledger: which row a call has, and which writes move it on.

A row is booked before the request leaves and keyed by what is asked, not by how often: the key of a second try is
the key of the first, so a server that honours keys sees one request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tracekit.durable.bodies import blob
from tracekit.durable.session import Session, now_ms
from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus
from tracekit.snapshot import canonical, decode, digest
from tracekit.store.contract import InsertEffect, PutBlob, UpdateEffect, Write
from tracekit.store.rows import EffectRow, StepRow
from tracekit.tools import Tool

KEY_WINDOW_S = 24 * 3600
"""How long a server is trusted to remember a key; after it, an unknown outcome goes to a person."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call at one place, ready to be dispatched."""

    session: Session
    place: str
    tool: Tool[Any, Any]
    named: dict[str, Any]
    """What the first try receives, by parameter name: the caller's own objects, which the tool may change."""
    args: PutBlob
    args_digest: str
    call_no: int
    raw: str | None = None
    """The model's exact argument text."""
    call_id: str | None = None
    lenient: bool = False
    ord: int = 0

    @property
    def is_effect(self) -> bool:
        """Whether it is booked in the ledger."""
        return self.tool.policy.effect is not EffectRisk.READ

    @property
    def kind(self) -> str:
        """Its column in the decision table."""
        return "effect" if self.is_effect else "read"

    @property
    def key(self) -> str:
        """Ledger key; carries no attempt number."""
        return effect_key(
            self.session.task.task_id, self.place, self.call_no, self.tool.name, self.args_digest
        )

    def booked(self) -> dict[str, Any]:
        """The arguments as they were booked, made anew: no try or probe sees what one before it changed in place."""
        found: dict[str, Any] = decode(self.args.data)
        return found

    @property
    def effect(self) -> EffectRow | None:
        """The ledger row as it stands."""
        return self.session.effects.get(self.key) if self.is_effect else None


def effect_key(task_id: str, place: str, call_no: int, tool: str, args_digest: str) -> str:
    """32 hexadecimal digits that name one wanted effect."""
    return digest("\x1f".join((task_id, place, str(call_no), tool, args_digest)).encode())


def make_call(
    session: Session,
    place: str,
    tool: Tool[Any, Any],
    named: dict[str, Any],
    *,
    call_no: int = 1,
    raw: str | None = None,
    call_id: str | None = None,
    lenient: bool = False,
) -> Call:
    """A call whose arguments can be stored; raises `NotStorable` with the path before anything is booked."""
    args = blob(named)
    row = session.steps.get(place)
    order = row.ord if row is not None else session.next_ord()
    return Call(
        session, place, tool, named, args, digest(canonical(named)), call_no, raw, call_id, lenient, order
    )


def step_row(call: Call, step_id: str, status: StepStatus, **more: Any) -> StepRow:
    """The journal row of *call*, keeping what the row before it counted."""
    before = call.session.steps.get(call.place)
    base = before or StepRow(
        call.session.task.task_id,
        call.place,
        step_id,
        call.ord,
        StepKind.TOOL,
        call.tool.name,
        status,
        critical=call.tool.policy.critical,
        tries=0,
    )
    return replace(
        base,
        **{
            "step_id": step_id,
            "started_ms": call.session.taken_up_ms(before),
            "status": status,
            "args_digest": call.args_digest,
            "input": call.args.hash,
            **more,
        },
    )


def book(call: Call, *, approval_id: str | None) -> tuple[Write, ...]:
    """Writes that book the effect, or count one more dispatch of it, before the request leaves."""
    row = call.effect
    if row is not None:
        changes: dict[str, Any] = {"status": EffectStatus.PENDING, "attempt": row.attempt + 1}
        changes |= {"error": None, "outcome_ms": None, "intent_ms": now_ms()}
        if approval_id:
            changes["approval_id"] = approval_id
        expect = frozenset({EffectStatus.FAILED, EffectStatus.EXECUTED_UNKNOWN})
        return (UpdateEffect(row.key, expect, changes),)
    policy = call.tool.policy
    fresh = EffectRow(
        call.key,
        call.session.task.task_id,
        call.place,
        call.call_no,
        call.tool.name,
        policy.effect,
        policy.idempotent,
        call.args_digest,
        call.args.hash,
        EffectStatus.PENDING,
        fence=call.session.lease.fence,
        approval_id=approval_id,
        intent_ms=now_ms(),
    )
    return (InsertEffect(fresh),)


def give_up_others(call: Call, approval_id: str) -> tuple[Write, ...]:
    """Close the ledger rows of this place that edited arguments replace, naming the decision."""
    open_states = frozenset({EffectStatus.FAILED, EffectStatus.EXECUTED_UNKNOWN})
    return tuple(
        UpdateEffect(row.key, open_states, {"status": EffectStatus.SKIPPED, "approval_id": approval_id})
        for row in call.session.effects_at(call.place)
        if row.key != call.key and row.status in open_states
    )


def move(call: Call, status: EffectStatus, **changes: Any) -> tuple[Write, ...]:
    """The write that gives the ledger row its outcome; nothing for a read."""
    row = call.effect
    if row is None or row.status is status:
        return ()
    expect = frozenset({EffectStatus.PENDING, EffectStatus.EXECUTED_UNKNOWN, EffectStatus.FAILED})
    return (UpdateEffect(row.key, expect, {"status": status, "outcome_ms": now_ms(), **changes}),)
