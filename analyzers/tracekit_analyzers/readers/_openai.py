"""OpenAI's chat message as a `ChatMessage`: roles, content parts, tool calls, results, and the older `function_call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.model import ToolCall, Usage
from tracekit_analyzers.readers._chat import Answer, ChatMessage
from tracekit_analyzers.readers._run import json_text

_ROLES = {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}


def role_of(message: Mapping[str, Any]) -> str:
    """`system`, `user`, `assistant` or `tool`; another role as it is."""
    role = str(message.get("role") or "")
    return _ROLES.get(role, role)


def text_of(content: Any) -> str | None:
    """The text of a message's content, of its text parts where it is a list; None when it has none."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part if isinstance(part, str) else _part_text(part) for part in content]
        texts = [part for part in parts if part is not None]
        return "\n".join(texts) if texts else None
    return json_text(content)


def _part_text(part: Any) -> str | None:
    if not isinstance(part, Mapping):
        return None
    text = part.get("text", part.get("content"))
    return text if isinstance(text, str) else None


def calls_of(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The calls that an assistant message asks for, with the raw text of their arguments."""
    calls = message.get("tool_calls")
    found = [one_call(call) for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    old = message.get("function_call")
    if isinstance(old, Mapping):
        found.append(one_call({"function": old}))
    return tuple(found)


def one_call(call: Mapping[str, Any]) -> ToolCall:
    """A call in OpenAI's shape, `{"id", "function": {"name", "arguments"}}`, or with name and arguments on top."""
    function = call.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, Mapping) else call
    arguments = inner.get("arguments", inner.get("args"))
    return ToolCall(
        call_id=str(call.get("id") or call.get("call_id") or ""),
        name=str(inner.get("name") or function or ""),
        arguments_raw=arguments
        if isinstance(arguments, str)
        else json_text(arguments)
        if arguments is not None
        else "",
    )


def usage_of(counts: Any) -> Usage | None:
    """Tokens of a response under OpenAI's or Anthropic's names; OpenRouter tells the cost beside them."""
    if not isinstance(counts, Mapping):
        return None
    sent = _count(counts, "prompt_tokens", "input_tokens")
    # Anthropic counts cached input apart; everywhere else it is part of the input.
    cached = [
        _count(counts, name) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
    ]
    used = Usage(
        input_tokens=sent + sum(cached) if sent is not None else None,
        output_tokens=_count(counts, "completion_tokens", "output_tokens"),
        cost=money(counts.get("cost")),
    )
    return used if used != Usage() else None


def money(said: Any) -> float | None:
    """*said* as a cost, where it is a number."""
    return float(said) if isinstance(said, int | float) and not isinstance(said, bool) else None


def _count(counts: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = counts.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def chat_message(message: Mapping[str, Any], index: int, *, line: int | None = None) -> ChatMessage:
    """One message of OpenAI's chat format."""
    role, content = role_of(message), message.get("content")
    answers: tuple[Answer, ...] = ()
    if role == "tool":
        answers = (Answer(_text(message.get("tool_call_id")), content, name=_text(message.get("name"))),)
    return ChatMessage(
        role=role,
        whole=message,
        index=index,
        line=line,
        text=text_of(content),
        calls=calls_of(message) if role == "assistant" else (),
        answers=answers,
        model=_text(message.get("model")),
        finish_reason=_text(message.get("finish_reason")),
        usage=usage_of(message.get("usage")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
