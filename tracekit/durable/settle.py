"""
Finding out what became of an effect that got no answer.

A server that honours keys may simply be asked again under the same key. A probe is asked after the settle time, and
asked once more before "not found" is believed: the first request may still be under way. Else only a person knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from tracekit.durable.decide import Action, Facts, Verdict
from tracekit.durable.ledger import KEY_WINDOW_S, Call
from tracekit.durable.places import named_call
from tracekit.durable.requests import Dispatch, Op, Raised, Sleep, dispatch
from tracekit.durable.reviewing import review_row
from tracekit.durable.session import now_ms
from tracekit.store.contract import AppendDecision
from tracekit.store.rows import DecisionRow, EffectRow, ReviewRow
from tracekit.tools import Tool, accepted

LOOKS = 2
"""How often a probe has to say "not found" before it is believed."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is known now about an unknown effect."""

    verdict: str
    """`found`, `not_found`, `same_key` (may be sent again under its key) or `undecided`."""
    value: Any = None
    looks: int = 0
    error: BaseException | None = None


def settle_means(tool: Tool[Any, Any], effect: EffectRow) -> str:
    """What can settle an unknown of this tool: `key`, `probe` or `none`."""
    policy = tool.policy
    if policy.idempotent and now_ms() - effect.intent_ms < KEY_WINDOW_S * 1000:
        return "key"
    return "probe" if policy.probe is not None else "none"


def facts_of_unknown(call: Call, *, limit_reached: bool = False) -> Facts:
    """The facts that the decision table sees for an effect of unknown outcome."""
    effect = call.effect
    means = settle_means(call.tool, effect) if effect is not None else "none"
    return Facts(
        "timeout.no_answer",
        call.kind,
        call.tool.policy.risk,
        call.session.work_done(),
        is_unknown=True,
        settle=means,
        limit_reached=limit_reached,
        critical=call.tool.policy.critical,
    )


def settle(call: Call, verdict: Verdict) -> Op[Settled]:
    """Settle by the way that *verdict* chose; changes no row."""
    if verdict.action is Action.RETRY:
        return Settled("same_key")
    if verdict.action is Action.SETTLE and call.tool.policy.probe is not None:
        return (yield from _probe(call, call.tool.policy.probe))
    return Settled("undecided")


def _probe(call: Call, probe: Any) -> Op[Settled]:
    effect = call.effect
    since_s = (now_ms() - effect.intent_ms) / 1000 if effect is not None else 0.0
    settle_s = call.tool.policy.settle_s
    function = probe.function if isinstance(probe, Tool) else probe
    for look in range(1, LOOKS + 1):
        wait_s = settle_s - max(0.0, since_s) if look == 1 else settle_s
        if wait_s > 0:
            yield Sleep(wait_s)
        request = Dispatch(
            lambda: function(**accepted(function, {**call.booked(), "idempotency_key": call.key})),
            timeout_s=call.tool.policy.timeout_s,
            key=call.key,
            scope=f"{call.place}:probe{look}",
            point="probe",
        )
        answer = yield from dispatch(request)
        if isinstance(answer, Raised):
            return Settled("undecided", looks=look, error=answer.error)
        if answer.value is not None and answer.value is not False:
            return Settled("found", answer.value, looks=look)
    return Settled("not_found", looks=LOOKS)


def decision(call: Call, failure_class: str, action: str, rule_id: str, **evidence: Any) -> AppendDecision:
    """The record of an automatic choice about *call*."""
    return AppendDecision(
        DecisionRow(
            call.session.task.task_id,
            call.place,
            failure_class,
            call.tool.policy.risk,
            call.session.work_done(),
            action,
            rule_id,
            orjson.dumps({"tool": call.tool.name, "key": call.key, **evidence}).decode(),
            now_ms(),
        )
    )


def question_about_unknown(call: Call, settled: Settled) -> ReviewRow:
    """What a person is asked about an effect of unknown outcome."""
    tried = "the tool declares nothing that could tell"
    if settled.error is not None:
        tried = f"its probe failed with {settled.error!r}"
    elif call.tool.policy.idempotent:
        tried = "it was sent as often under its key as the limits allow"
    return review_row(
        call.session,
        place=call.place,
        reason="effect.unknown",
        break_point=named_call(call.place, call.tool.name),
        why=f"{call.tool.name} was sent and no answer was recorded; {tried}, so it may or may not have happened.",
        recommendation=f"look at the service behind {call.tool.name}, then decide `done` with its result or `retry`",
        args_digest=call.args_digest,
        effect_key=call.key,
        details=asked_about(call),
    )


def asked_about(call: Call) -> dict[str, Any]:
    """What a person sees of the call that a question is about."""
    return {"tool": call.tool.name, "arguments": call.booked(), "risk": call.tool.policy.effect.value}
