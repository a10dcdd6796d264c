"""Claude's session records, as files and streams hold them: pieces of one response joined, sub-agents told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracekit.model import StepStatus, ToolCall, Usage
from tracekit_analyzers.model import NativeRecord
from tracekit_analyzers.readers._anthropic import anthropic_message
from tracekit_analyzers.readers._chat import Answer, ChatMessage, Spot, chat_records, tool_step_id
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._time import iso_ns


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a session that holds a message or tells an event."""

    record: Mapping[str, Any]
    index: int
    line: int | None
    thread: str
    """Names the conversation: empty for the main one, else the sub-agent's."""


def conversation_records(
    run: Run, entries: Sequence[Entry], starters: Mapping[str, str]
) -> Iterator[NativeRecord]:
    """
    Records of a session's main conversation and of each sub-agent's.

    Args:
        starters: Id of the call that started a sub-agent, by thread; threads without one hang below nothing.
    """
    threads: dict[str, list[Entry]] = {"": []}
    for entry in entries:
        threads.setdefault(entry.thread, []).append(entry)
    chats = {thread: _joined(found, thread) for thread, found in threads.items()}
    steps = {
        call.call_id: (tool_step_id(run, message, number), call)
        for chat in chats.values()
        for message in chat
        for number, call in enumerate(message.calls)
    }
    for thread, chat in chats.items():
        parent, call = steps.get(starters.get(thread, ""), (None, None))
        named = [replace(message, agent=_agent(thread, call)) for message in chat] if thread else chat
        yield from chat_records(run, named, parent=parent)


def _agent(thread: str, call: ToolCall | None) -> str:
    """What the sub-agent is called: its type by the call that started it, else its thread."""
    arguments = _object(call.arguments_raw) if call is not None else {}
    return str(arguments.get("subagent_type") or thread)


def _object(text: str) -> Mapping[str, Any]:
    import orjson

    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def starter_of(entries: Sequence[Entry], prompt: Any, used: set[str]) -> str | None:
    """Id of the first call not in *used* whose prompt is *prompt*: what started a sub-agent where no id says it."""
    for entry in entries:
        content = (entry.record.get("message") or {}).get("content")
        for block in content if isinstance(content, list) else ():
            asked = block.get("input") if isinstance(block, Mapping) else None
            if isinstance(asked, Mapping) and asked.get("prompt") == prompt and block.get("id") not in used:
                return str(block["id"])
    return None


def _joined(entries: Sequence[Entry], thread: str) -> list[ChatMessage]:
    """The messages of one conversation; pieces of one response (same message id) are one, its usage counted once."""
    chat: list[ChatMessage] = []
    places: dict[str, int] = {}
    for entry in entries:
        message = _message(entry)
        if message is None:
            continue
        key = message.step_key
        if key is not None and message.by_model and key in places:
            chat[places[key]] = _merged(chat[places[key]], message)
            continue
        if key is not None and message.by_model:
            places[key] = len(chat)
        chat.append(message)
    return chat


def _message(entry: Entry) -> ChatMessage | None:
    record = entry.record
    at_ns = iso_ns(record.get("timestamp"))
    if record.get("type") == "system":
        return _event(entry, at_ns)
    raw = record.get("message")
    if not isinstance(raw, Mapping):
        return None
    message = anthropic_message(raw, entry.index, line=entry.line)
    failed = record.get("isApiErrorMessage") is True
    return replace(
        message,
        step_key=_text(raw.get("id")) if message.by_model else _text(record.get("uuid")),
        at_ns=at_ns,
        spots=tuple(Spot(entry.index, entry.line, at_ns) for _ in message.calls),
        answers=tuple(_with_facts(answer, record.get("toolUseResult")) for answer in message.answers),
        failed=failed,
        error_type="api_error" if failed else None,
        error_message=message.text if failed else None,
        forgets=record.get("isCompactSummary") is True,
    )


def _event(entry: Entry, at_ns: int | None) -> ChatMessage | None:
    """A system record that tells an error of the model's service; others are talk of the program with its user."""
    record = entry.record
    if record.get("subtype") != "api_error":
        return None
    error = record.get("error")
    return ChatMessage(
        role="system",
        whole=record,
        index=entry.index,
        line=entry.line,
        name="api_error",
        event=StepStatus.ERROR,
        step_key=_text(record.get("uuid")),
        at_ns=at_ns,
        error_type="api_error",
        error_message=_text(error.get("message"))
        if isinstance(error, Mapping)
        else _text(record.get("content")),
        attributes={key: record[key] for key in ("retryAttempt", "maxRetries", "retryInMs") if key in record},
    )


def _with_facts(answer: Answer, facts: Any) -> Answer:
    """*answer* with the program's own numbers about the call; its long texts stand in the answer already."""
    if not isinstance(facts, Mapping):
        return answer
    short = {key: value for key, value in facts.items() if isinstance(value, bool | int | float)}
    return replace(answer, attributes=short)


def _merged(first: ChatMessage, later: ChatMessage) -> ChatMessage:
    """Two pieces of one response as one message at the later one's place."""
    texts = [text for text in (first.text, later.text) if text]
    content = [*_blocks(first.whole), *_blocks(later.whole)]
    return replace(
        later,
        whole={**later.whole, "content": content},
        text="\n".join(texts) if texts else None,
        calls=first.calls + later.calls,
        spots=first.spots + later.spots,
        answers=first.answers + later.answers,
        usage=_larger(first.usage, later.usage),
        failed=first.failed or later.failed,
    )


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _larger(first: Usage | None, later: Usage | None) -> Usage | None:
    """Usage is repeated on each piece and grows while the answer streams: the larger one is the whole."""
    if first is None or later is None:
        return later or first
    return max(first, later, key=lambda used: (used.output_tokens or 0, used.input_tokens or 0))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
