"""
AutoGen's recorded chat completions: a list of `{"mode", "messages": [{"type": "UserMessage", ...}], "response"}`.

Each element is one model call with exactly what it was sent. Results of tools come in what a later call was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.model import ToolCall
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import text_of, usage_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import held, items, never_silent, odd_is_not_ours, peek

_ROLES = {
    "SystemMessage": "system",
    "UserMessage": "user",
    "AssistantMessage": "assistant",
    "FunctionExecutionResultMessage": "tool",
}


class AutoGenReader:
    """Reads a session as one run."""

    name = "autogen"
    title = "AutoGen recorded chat completions"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the first element has a mode and messages with AutoGen's types."""
        top = peek(file.head)
        first = top[0] if isinstance(top, list) and top else None
        messages = first.get("messages") if isinstance(first, Mapping) else None
        found = messages[0] if isinstance(messages, list) and messages else None
        return 90 if isinstance(found, Mapping) and found.get("type") in _ROLES else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records call by call; `index` is the position of the call."""
        chat: list[ChatMessage] = []
        asked: set[str] = set()
        for index, call in enumerate(held(items(file, damage), file, damage)):
            messages = [raw for raw in call.get("messages") or () if isinstance(raw, Mapping)]
            start = len(chat)
            chat += [_sent(raw, index, asked) for raw in messages]
            reply = _reply(call.get("response"), index, tuple(range(start, len(chat))))
            asked |= {found.call_id for found in reply.calls}
            chat.append(reply)
        yield from chat_records(Run(file), chat)


def _sent(raw: Mapping[str, Any], index: int, asked: set[str]) -> ChatMessage:
    """A message that was sent; it answers only calls of this log, each once."""
    role, content = _ROLES.get(str(raw.get("type")), "user"), raw.get("content")
    answers = []
    for result in content if role == "tool" and isinstance(content, list) else ():
        call_id = str(result.get("call_id") or "")
        if call_id in asked:
            asked.discard(call_id)
            failed = result.get("is_error") is True
            said = text_of(result.get("content"))
            answers.append(
                Answer(
                    call_id,
                    result.get("content"),
                    name=result.get("name"),
                    failed=failed,
                    error_type="tool_error" if failed else None,
                    error_message=said if failed else None,
                )
            )
    source = raw.get("source")
    return ChatMessage(
        role=role,
        said=False,
        whole={"role": role, "content": content, **({"name": source} if source else {})},
        index=index,
        text=text_of(content),
        answers=tuple(answers),
    )


def _reply(response: Any, index: int, sent: tuple[int, ...]) -> ChatMessage:
    response = response if isinstance(response, Mapping) else {"content": response}
    content = response.get("content")
    calls = (
        tuple(_call(item) for item in content if isinstance(item, Mapping))
        if isinstance(content, list)
        else ()
    )
    return ChatMessage(
        role="assistant",
        whole={"role": "assistant", "content": content},
        index=index,
        text=None if calls else text_of(content),
        calls=calls,
        finish_reason=response.get("finish_reason"),
        usage=usage_of(response.get("usage")),
        sent=sent,
    )


def _call(item: Mapping[str, Any]) -> ToolCall:
    arguments = item.get("arguments")
    raw = arguments if isinstance(arguments, str) else json_text(arguments)
    return ToolCall(str(item.get("id") or ""), str(item.get("name") or ""), raw)


READER = AutoGenReader()
