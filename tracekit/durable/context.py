"""
Contexts that no longer fit, and what a resumed model is told.

A rebuilt context has three layers: the core (system messages, the goal, the last rounds), a summary of the finished
steps, and the last tool result in full. The summary is stored and used again: one made anew after a crash would
differ and reopen finished work. An answered call keeps its answer; an unanswered one is marked, never dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from tracekit.durable.bodies import blob
from tracekit.durable.requests import Op, commit
from tracekit.durable.session import Session, event, now_ms
from tracekit.model import StepKind, StepStatus
from tracekit.store.contract import PutStep
from tracekit.store.rows import StepRow

Message = dict[str, Any]

ROUNDS = 5
"""How many of the last rounds are kept word for word."""
CHARS_PER_TOKEN = 4
"""Rough size of a token where no tokenizer is at hand; errs on the side of fewer characters."""
UNANSWERED = "[no answer was recorded for this call]"


def resume_notice(session: Session) -> Message:
    """The system message that tells a resumed model what is finished, so that it does not ask for it again."""
    done = _finished_lines(session)
    lines = "\n".join(done) if done else "- nothing yet"
    text = (
        f"This task was interrupted and is now resumed (attempt {session.task.attempt}). "
        f"These steps are finished and their results stand in the conversation; do not repeat them:\n{lines}"
    )
    return {"role": "system", "content": text}


def _finished_lines(session: Session) -> list[str]:
    rows = sorted(session.steps.values(), key=lambda row: row.ord)
    names = {StepStatus.OK: "done", StepStatus.SKIPPED: "skipped", StepStatus.ERROR: "failed"}
    return [
        f"- step {row.place}: {row.name}, {names[row.status]}"
        for row in rows
        if row.kind in (StepKind.TOOL, StepKind.STEP) and row.status in names and ":" not in row.place
    ]


def overflow_context(
    session: Session, place: str, messages: Sequence[Message], *, only_if_over: bool = False
) -> Op[tuple[list[Message], bool]]:
    """
    *messages* in layers, and whether they are still complete.

    With *only_if_over*, unchanged while they fit the task's `max_context_tokens`.
    """
    most = session.options.max_context_tokens
    if only_if_over and (most is None or estimate_tokens(messages) <= most):
        return list(messages), True
    core, middle, tail = split_layers(messages)
    if not middle:
        return list(messages), True
    summary = yield from _summary(session, place, middle)
    return [*core, {"role": "system", "content": summary}, *tail], False


def estimate_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens *messages* are."""
    return sum(len(orjson.dumps(each, default=str)) for each in messages) // CHARS_PER_TOKEN


def split_layers(messages: Sequence[Message]) -> tuple[list[Message], list[Message], list[Message]]:
    """
    System messages and the goal, the middle that a summary replaces, and the last rounds with every call answered.

    A round begins with an assistant's message, so no answer is ever parted from its call.
    """
    head = 0
    while head < len(messages) and messages[head].get("role") in ("system", "developer"):
        head += 1
    if head < len(messages) and messages[head].get("role") == "user":
        head += 1  # the goal
    starts = [i for i in range(head, len(messages)) if messages[i].get("role") == "assistant"]
    cut = starts[-ROUNDS] if len(starts) > ROUNDS else head
    return list(messages[:head]), list(messages[head:cut]), mark_unanswered(messages[cut:])


def mark_unanswered(messages: Sequence[Message]) -> list[Message]:
    """*messages* with a marked answer behind every call that has none; the last message may still await its own."""
    answered = {each.get("tool_call_id") for each in messages if each.get("role") == "tool"}
    marked: list[Message] = []
    for position, message in enumerate(messages):
        marked.append(message)
        if position == len(messages) - 1:
            break
        for call in message.get("tool_calls") or ():
            if call.get("id") not in answered:
                marked.append({"role": "tool", "tool_call_id": call.get("id"), "content": UNANSWERED})
    return marked


def _summary(session: Session, place: str, middle: list[Message]) -> Op[str]:
    """The stored summary of this place, or a new one that is stored before it is used."""
    own_place = f"{place}:context"
    known = session.steps.get(own_place)
    if known is not None and known.result is not None:
        text: str = session.body(known.result)
        return text
    make = session.options.summarise or (lambda each: rule_summary(session, each))
    text = make(middle)
    body = blob(text)
    row = StepRow(
        session.task.task_id, own_place, "", session.next_ord(), StepKind.STEP, "context.summary", StepStatus.OK,
        result=body.hash, context_complete=False, started_ms=now_ms(), finished_ms=now_ms(),
    )  # fmt: skip
    marked = event("context_rebuilt", place, replaced=len(middle))
    yield from commit("context", body, PutStep(row), marked, durable=False)
    return text


def rule_summary(session: Session, middle: Sequence[Message]) -> str:
    """What happened, from the journal alone: no model is needed, and the same journal gives the same words."""
    lines = "\n".join(_finished_lines(session)) or "- nothing was finished"
    return f"[{len(middle)} earlier messages are replaced by this summary]\nFinished so far:\n{lines}"
