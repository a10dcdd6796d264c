"""
Turns a conversation into steps and messages: one statement of it for every format that is a list of messages.

Each thing that a model said is a model step; each call that it asked for is a tool step under it, with the answer that
came for it. A call without an answer stays `unknown`: it may have happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tracekit.model import StepKind, StepStatus, ToolCall, Usage
from tracekit_analyzers.model import NativeRecord
from tracekit_analyzers.readers._run import Run, json_text, parsed


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for a call."""

    call_id: str | None
    value: Any
    name: str | None = None
    failed: bool = False
    """The format itself says so: an error flag, a status, an exit code. Never because a text looks like it."""
    error_type: str | None = None
    error_message: str | None = None
    status: StepStatus | None = None
    """Where the format says more than answered well or badly, such as cancelled before it ran."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    at_ns: int | None = None
    """When it came, where the message that holds it does not say that."""
    began_ns: int | None = None
    duration_ms: float | None = None
    """How long the call took, where the format says it without saying when."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where and when one call was asked for, in formats that write a message in several pieces."""

    index: int
    line: int | None
    at_ns: int | None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation, whatever its format called it."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    whole: Any
    """The message as the log has it."""
    index: int
    line: int | None = None
    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    spots: tuple[Spot, ...] = ()
    """One for each call; empty where all stand at the message itself."""
    answers: tuple[Answer, ...] = ()
    agent: str | None = None
    name: str | None = None
    """What the step is called; the agent or `model` when the format has no name for it."""
    said: bool | None = None
    """Whether a model said it; by default when the role is `assistant`."""
    step_key: str | None = None
    """The format's own id of the message, for the step's id; its position where it has none."""
    at_ns: int | None = None
    began_ns: int | None = None
    model: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    failed: bool = False
    error_type: str | None = None
    error_message: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    event: StepStatus | None = None
    """Set where it is no message but something that happened, such as an interruption: a step of this status."""
    forgets: bool = False
    """Whether the model was sent nothing of what came before, as after a compaction."""
    fate_elsewhere: bool = False
    """Whether what became of its calls is told in another log: they are an attribute, neither asked nor steps here."""
    sent: tuple[int, ...] | None = None
    """Positions, in the conversation given to `chat_records`, of what the model was sent; all before it when None."""
    parent: str | None = None
    """Id of the step that it belongs to, where that is not the conversation's."""

    @property
    def by_model(self) -> bool:
        """Whether this is a model step."""
        return self.role == "assistant" if self.said is None else self.said


@dataclass(frozen=True, slots=True)
class _Answered:
    """A call with the message that answered it."""

    message: ChatMessage
    answer: Answer


_Place = tuple[int, int]
"""Position of a message in the run, and of a call (or an answer) in it."""


def chat_records(
    run: Run, messages: Sequence[ChatMessage], *, complete: bool = True, parent: str | None = None
) -> Iterator[NativeRecord]:
    """
    Records of one conversation, in its order.

    Args:
        run: Gives ids, positions and contexts.
        messages: The whole conversation of this run.
        complete: Whether each model call was sent all messages before it. Where several agents talk, each with its own
            view, that is not known.
        parent: Id of the step that the conversation belongs to, such as the call that started a sub-agent.
    """
    messages = [_with_ids(message) for message in messages]
    paired, orphans = _pair(messages)
    hashes: dict[int, str] = {}
    start = 0
    before_ns: int | None = None
    for place, message in enumerate(messages):
        owner = message.parent or parent
        start = place if message.forgets else start
        if message.event is not None:
            yield _event_step(run, message, message.event, parent=owner)
            continue
        name, records = run.message(
            message.whole, role=message.role, index=message.index, line=message.line, agent=message.agent
        )
        if message.by_model:
            sent = range(start, place) if message.sent is None else message.sent
            context = run.context([hashes[at] for at in sent if at in hashes], complete=complete)
            step = _model_step(run, message, context=context, began_ns=before_ns, parent=owner)
            yield step
            owner = step["step_id"]
        yield from records
        for number, call in enumerate(() if message.fate_elsewhere else message.calls):
            yield _tool_step(run, message, call, paired.get((place, number)), number=number, parent=owner)
        for number in orphans.get(place, ()):
            yield _orphan_step(
                run, message, message.answers[number], number=number, parent=message.parent or parent
            )
        hashes[place] = name
        before_ns = message.at_ns if message.at_ns is not None else before_ns


def _with_ids(message: ChatMessage) -> ChatMessage:
    """*message* with an id for each call that its format gave none: what was asked and what ran are joined by it."""
    if all(call.call_id for call in message.calls):
        return message
    calls = tuple(
        call if call.call_id else replace(call, call_id=f"{message.step_key or message.index}.{number}")
        for number, call in enumerate(message.calls)
    )
    return replace(message, calls=calls)


def _pair(messages: Sequence[ChatMessage]) -> tuple[dict[_Place, _Answered], dict[int, list[int]]]:
    """Which answer belongs to which call, and which answers belong to none."""
    open_calls: list[tuple[_Place, ToolCall]] = []
    paired: dict[_Place, _Answered] = {}
    orphans: dict[int, list[int]] = {}
    for place, message in enumerate(messages):
        open_calls.extend(((place, number), call) for number, call in enumerate(message.calls))
        for number, answer in enumerate(message.answers):
            found = _find(open_calls, answer)
            if found is None:
                orphans.setdefault(place, []).append(number)
                continue
            paired[open_calls.pop(found)[0]] = _Answered(message, answer)
    return paired, orphans


def _find(open_calls: Sequence[tuple[_Place, ToolCall]], answer: Answer) -> int | None:
    """Position of the open call that *answer* is for: by id, the newest; without an id the oldest of that name."""
    if answer.call_id:
        ids = (n for n in range(len(open_calls) - 1, -1, -1) if open_calls[n][1].call_id == answer.call_id)
        return next(ids, None)
    names = (n for n, (_, call) in enumerate(open_calls) if answer.name in (None, call.name))
    return next(names, None)


def _model_step(
    run: Run, message: ChatMessage, *, context: dict[str, Any], began_ns: int | None, parent: str | None
) -> NativeRecord:
    asked = [{"call_id": c.call_id, "name": c.name, "arguments": c.arguments_raw} for c in message.calls]
    attributes = dict(message.attributes)
    if message.fate_elsewhere and asked:
        attributes["asked_elsewhere"] = asked
    return run.step(
        StepKind.MODEL,
        message.name or message.agent or "model",
        status=StepStatus.ERROR if message.failed else StepStatus.OK,
        index=message.index,
        line=message.line,
        step_id=run.step_id("model", message.step_key or message.index),
        started_ns=message.began_ns if message.began_ns is not None else began_ns,
        finished_ns=message.at_ns,
        parent_step_id=parent,
        agent=message.agent,
        model=message.model,
        finish_reason=message.finish_reason,
        model_raw_output=message.text or (json_text(asked) if asked else message.text),
        asked=(not message.fate_elsewhere and asked) or None,
        context=context,
        usage=usage_field(message.usage),
        error_type=message.error_type,
        error_message=message.error_message,
        attributes=attributes,
    )


def _event_step(run: Run, message: ChatMessage, status: StepStatus, *, parent: str | None) -> NativeRecord:
    return run.step(
        StepKind.STEP,
        message.name or "event",
        status=status,
        index=message.index,
        line=message.line,
        step_id=run.step_id("event", message.step_key or message.index),
        started_ns=message.began_ns if message.began_ns is not None else message.at_ns,
        finished_ns=message.at_ns,
        parent_step_id=parent,
        agent=message.agent,
        output_snapshot=message.text,
        error_type=message.error_type,
        error_message=message.error_message,
        attributes=dict(message.attributes),
    )


def tool_step_id(run: Run, asker: ChatMessage, number: int) -> str:
    """Id of the step of the call with this *number* in *asker*."""
    return run.step_id("tool", asker.step_key or asker.index, number)


def _tool_step(
    run: Run,
    asker: ChatMessage,
    call: ToolCall,
    answered: _Answered | None,
    *,
    number: int,
    parent: str | None,
) -> NativeRecord:
    spot = asker.spots[number] if asker.spots else Spot(asker.index, asker.line, asker.at_ns)
    holder: ChatMessage | Spot = answered.message if answered else spot
    began, ended = spot.at_ns, None
    if answered:
        answer = answered.answer
        began = answer.began_ns if answer.began_ns is not None else began
        ended = answer.at_ns if answer.at_ns is not None else answered.message.at_ns
    return run.step(
        StepKind.TOOL,
        call.name,
        status=_status(answered.answer) if answered else StepStatus.UNKNOWN,
        index=holder.index,
        line=holder.line,
        step_id=tool_step_id(run, asker, number),
        started_ns=began,
        finished_ns=ended,
        parent_step_id=parent,
        agent=asker.agent,
        tool_name=call.name,
        call_id=call.call_id or None,
        model_raw_output=call.arguments_raw,
        input_snapshot=parsed(call.arguments_raw),
        **(_outcome(answered.answer) if answered else {}),
    )


def _orphan_step(
    run: Run, message: ChatMessage, answer: Answer, *, number: int, parent: str | None
) -> NativeRecord:
    """An answer to a call that the log does not hold: kept, since something did run."""
    return run.step(
        StepKind.TOOL,
        answer.name or "tool",
        status=_status(answer),
        index=message.index,
        line=message.line,
        step_id=run.step_id("answer", message.step_key or message.index, number),
        started_ns=answer.began_ns,
        finished_ns=answer.at_ns if answer.at_ns is not None else message.at_ns,
        parent_step_id=parent,
        agent=message.agent,
        tool_name=answer.name,
        call_id=answer.call_id,
        **_outcome(answer),
    )


def _status(answer: Answer) -> StepStatus:
    if answer.status is not None:
        return answer.status
    return StepStatus.ERROR if answer.failed else StepStatus.OK


def _outcome(answer: Answer) -> dict[str, Any]:
    return {
        "output_snapshot": answer.value,
        "error_type": answer.error_type,
        "error_message": answer.error_message,
        "duration_ms": answer.duration_ms,
        "attributes": dict(answer.attributes),
    }


def usage_field(used: Usage | None) -> dict[str, Any] | None:
    """The log's `usage` object; None when nothing is known."""
    if used is None:
        return None
    known = {"input_tokens": used.input_tokens, "output_tokens": used.output_tokens, "cost": used.cost}
    return {key: value for key, value in known.items() if value is not None} or None
