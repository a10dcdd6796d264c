"""
Google ADK sessions: `{"id", "events": [{"author", "content": {"parts"}, "timestamp"}]}`.

Calls have no id in older files: a response answers the oldest open call of its name. Each author is an agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.model import ToolCall, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._time import epoch_ns


class AdkReader:
    """Reads a session as one run."""

    name = "adk"
    title = "Google ADK session"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the top object has events with an author and an invocation."""
        top = peek(file.head)
        events = top.get("events") if isinstance(top, Mapping) else None
        first = events[0] if isinstance(events, list) and events else None
        if not isinstance(first, Mapping) or "author" not in first:
            return 0
        return 90 if {"invocation_id", "invocationId"} & first.keys() else 70 if "content" in first else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records event by event."""
        for trace_index, session in enumerate(items(file, damage)):
            events = [event for event in session.get("events") or () if isinstance(event, Mapping)]
            name = str(session.get("id") or "") or None
            authors = {event.get("author") for event in events} - {"user"}
            chat = [_message(event, index) for index, event in enumerate(events)]
            yield from chat_records(Run(file, trace_index, task_id=name), chat, complete=len(authors) < 2)


def _get(value: Mapping[str, Any], snake: str) -> Any:
    """A field by its Python name or by the same in camel case."""
    first, *rest = snake.split("_")
    return value.get(snake, value.get(first + "".join(word.title() for word in rest)))


def _message(event: Mapping[str, Any], index: int) -> ChatMessage:
    content = event.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    parts = [part for part in parts or () if isinstance(part, Mapping)]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    answers = tuple(_answer(found) for part in parts if (found := _get(part, "function_response")))
    author, error = str(event.get("author") or ""), _get(event, "error_code")
    by_model = author != "user" and not answers
    counts = _get(event, "usage_metadata")
    return ChatMessage(
        role="tool" if answers else "assistant" if by_model else "user",
        whole={"role": author, "content": content},
        index=index,
        text="\n".join(texts) if texts else None,
        calls=tuple(_call(found) for part in parts if (found := _get(part, "function_call"))),
        answers=answers,
        agent=author if author != "user" else None,
        at_ns=epoch_ns(event.get("timestamp"), per_second=1),
        usage=_usage(counts) if isinstance(counts, Mapping) else None,
        failed=error is not None,
        error_type=str(error) if error is not None else None,
        error_message=_get(event, "error_message") if error is not None else None,
    )


def _usage(counts: Mapping[str, Any]) -> Usage:
    return Usage(_get(counts, "prompt_token_count"), _get(counts, "candidates_token_count"))


def _call(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(str(call.get("id") or ""), str(call.get("name") or ""), json_text(call.get("args")))


def _answer(response: Mapping[str, Any]) -> Answer:
    return Answer(str(response.get("id") or "") or None, response.get("response"), name=response.get("name"))


READER = AdkReader()
