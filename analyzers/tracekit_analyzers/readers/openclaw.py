"""
OpenClaw telemetry: JSON Lines of `message.in`, `agent.start`, `tool.start`, `tool.end`, `agent.end`.

Calls have no id there: starts and ends are paired in order, by tool. Where `agent.end` holds the whole conversation, its
calls and results are read and only tool events beyond them are added. Each session is a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracekit.model import ToolCall, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import role_of, text_of
from tracekit_analyzers.readers._run import Run, hex_id, json_text
from tracekit_analyzers.readers._source import held, lines, never_silent, odd_is_not_ours, peek_lines
from tracekit_analyzers.readers._time import epoch_ns

_TYPES = frozenset({"message.in", "message.out", "agent.start", "agent.end", "tool.start", "tool.end"})


@dataclass(frozen=True, slots=True)
class _Event:
    record: Mapping[str, Any]
    index: int
    line: int

    @property
    def at_ns(self) -> int | None:
        found = self.record.get("ts", self.record.get("timestamp"))
        return epoch_ns(found, per_second=1000)


class OpenClawReader:
    """Reads each session of a telemetry file."""

    name = "openclaw"
    title = "OpenClaw telemetry"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the types of the first lines are OpenClaw's."""
        found = peek_lines(file.head)[:5]
        return 90 if found and all(line.get("type") in _TYPES for line in found) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records session by session; an incoming message without a session goes to the session that follows it."""
        sessions: dict[str, list[_Event]] = {}
        waiting: list[tuple[Mapping[str, Any], int]] = []
        for line, record in held(lines(file, damage), file, damage):
            if not isinstance(record, Mapping):
                damage.bad(
                    file=file.name, line=line, offset=None, reason="not_object", data=str(record)[:200]
                )
                continue
            key = record.get("sessionKey")
            if not isinstance(key, str):
                waiting.append((record, line))
                continue
            events = sessions.setdefault(key, [])
            for waited, its_line in [*waiting, (record, line)]:
                events.append(_Event(waited, len(events), its_line))
            waiting.clear()
        if waiting:
            events = sessions.setdefault("", [])
            events.extend(_Event(record, len(events) + n, line) for n, (record, line) in enumerate(waiting))
        for trace_index, (key, events) in enumerate(sessions.items()):
            run = Run(
                file, trace_index, trace_id=hex_id(32, "openclaw", key) if key else None, task_id=key or None
            )
            yield from chat_records(run, _chat(events))


def _chat(events: Sequence[_Event]) -> list[ChatMessage]:
    told = next(
        (e for e in reversed(events) if e.record.get("type") == "agent.end" and e.record.get("messages")),
        None,
    )
    chat: list[ChatMessage] = []
    if told is None:
        chat += [
            _incoming(event) for event in events if event.record.get("type") in ("message.in", "agent.start")
        ]
    else:
        messages = [raw for raw in told.record["messages"] if isinstance(raw, Mapping)]
        chat += [_message(raw, told, number) for number, raw in enumerate(messages)]
    known = Counter(call.name for message in chat for call in message.calls)
    return chat + list(_tool_events(events, known))


def _incoming(event: _Event) -> ChatMessage:
    text = text_of(event.record.get("content", event.record.get("prompt")))
    whole = {"role": "user", "content": text}
    return ChatMessage(
        role="user", whole=whole, index=event.index, line=event.line, text=text, at_ns=event.at_ns
    )


def _message(raw: Mapping[str, Any], told: _Event, number: int) -> ChatMessage:
    """One message of the conversation that `agent.end` holds."""
    content, role = raw.get("content"), role_of(raw)
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    message = ChatMessage(
        role=role,
        whole={"role": role, "content": content},
        index=told.index,
        line=told.line,
        text=text_of([block for block in blocks if block.get("type") == "text"])
        if blocks
        else text_of(content),
        step_key=f"{told.index}:{number}",
        at_ns=epoch_ns(raw.get("timestamp"), per_second=1000),
        model=raw.get("model"),
        finish_reason=raw.get("stopReason"),
        usage=_usage(raw.get("usage")),
    )
    if role == "toolResult":
        failed = raw.get("isError") is True
        details = raw.get("details") if isinstance(raw.get("details"), Mapping) else {}
        answer = Answer(
            raw.get("toolCallId"),
            message.text if message.text is not None else content,
            name=raw.get("toolName"),
            failed=failed,
            error_type="tool_error" if failed else None,
            error_message=message.text if failed else None,
            attributes={
                k: v
                for k, v in (details or {}).items()
                if isinstance(v, bool | int | float | str) and k != "aggregated"
            },
        )
        return replace(message, role="tool", answers=(answer,))
    calls = tuple(
        ToolCall(str(block.get("id") or ""), str(block.get("name") or ""), json_text(block.get("arguments")))
        for block in blocks
        if block.get("type") == "toolCall"
    )
    return replace(message, calls=calls)


def _usage(counts: Any) -> Usage | None:
    if not isinstance(counts, Mapping):
        return None
    cost = counts.get("cost")
    sent = [counts.get(key) or 0 for key in ("input", "cacheRead", "cacheWrite")]
    return Usage(sum(sent), counts.get("output"), cost.get("total") if isinstance(cost, Mapping) else None)


def _tool_events(events: Sequence[_Event], known: Counter[str]) -> Iterator[ChatMessage]:
    """Calls of tools that the conversation does not hold, each start with its end."""
    left = Counter(known)
    open_calls: list[tuple[str, str | None]] = []
    for event in events:
        record, name = event.record, str(event.record.get("toolName") or "")
        if record.get("type") == "tool.start":
            if left[name] > 0:
                left[name] -= 1
                open_calls.append((name, None))
                continue
            own_id = f"{name}:{event.index}"
            open_calls.append((name, own_id))
            call = ToolCall(own_id, name, json_text(record.get("params")))
            yield _started(event, call)
        elif record.get("type") == "tool.end":
            place = next((n for n, (started, _) in enumerate(open_calls) if started == name), None)
            call_id = open_calls.pop(place)[1] if place is not None else ""
            if call_id is not None:
                yield _ended(event, call_id, name)


def _started(event: _Event, call: ToolCall) -> ChatMessage:
    """A call that no message of the conversation holds: its step hangs below nothing that a model said."""
    return ChatMessage(
        role="assistant",
        said=False,
        whole={"role": "assistant", "tool_calls": [{"name": call.name, "arguments": call.arguments_raw}]},
        index=event.index,
        line=event.line,
        calls=(call,),
        at_ns=event.at_ns,
    )


def _ended(event: _Event, call_id: str, name: str) -> ChatMessage:
    record = event.record
    failed = record.get("success") is False
    error = text_of(record.get("error"))
    answer = Answer(
        call_id or None,
        record.get("result", record.get("output")),
        name=name,
        failed=failed,
        error_type="tool_error" if failed else None,
        error_message=error,
        duration_ms=record.get("durationMs"),
    )
    whole = {"role": "tool", "name": name, "index": event.index}
    return ChatMessage(
        role="tool", whole=whole, index=event.index, line=event.line, answers=(answer,), at_ns=event.at_ns
    )


READER = OpenClawReader()
