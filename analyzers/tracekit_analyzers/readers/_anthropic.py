"""Anthropic's message as a `ChatMessage`: content blocks `text`, `tool_use`, `tool_result`, `thinking`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.model import ToolCall
from tracekit_analyzers.readers._chat import Answer, ChatMessage
from tracekit_analyzers.readers._openai import role_of, text_of, usage_of
from tracekit_analyzers.readers._run import json_text

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "tool-call"})
_RESULTS = frozenset({"tool_result", "web_search_tool_result", "mcp_tool_result", "tool-result"})


def has_blocks(message: Mapping[str, Any]) -> bool:
    """Whether the content is a list with calls or results in it."""
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, Mapping) and block.get("type") in _CALLS | _RESULTS for block in content
    )


def block_calls(content: Any) -> tuple[ToolCall, ...]:
    """The calls among the blocks; their input is held parsed there, so the raw text is its compact JSON."""
    blocks = content if isinstance(content, list) else []
    return tuple(
        ToolCall(
            str(block.get("id") or block.get("toolCallId") or ""),
            str(block.get("name") or block.get("toolName") or ""),
            json_text(block.get("input", block.get("args"))),
        )
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") in _CALLS
    )


def block_answers(content: Any) -> tuple[Answer, ...]:
    """The results among the blocks; `is_error` is the format's own flag."""
    blocks = content if isinstance(content, list) else []
    return tuple(
        block_answer(block)
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") in _RESULTS
    )


def block_answer(block: Mapping[str, Any]) -> Answer:
    """One result block: its content as text where it is text parts only, else as it is."""
    content = block.get("content", block.get("result"))
    failed = block.get("is_error") is True or block.get("isError") is True
    value = _plain(content)
    call_id = block.get("tool_use_id") or block.get("toolCallId")
    name = block.get("name") or block.get("toolName")
    return Answer(
        str(call_id) if call_id else None,
        value,
        name=str(name) if name else None,
        failed=failed,
        error_type="tool_error" if failed else None,
        error_message=text_of(content) if failed else None,
    )


def _plain(content: Any) -> Any:
    texts = isinstance(content, list) and all(
        isinstance(part, Mapping) and part.get("type") == "text" for part in content
    )
    return text_of(content) if texts and content else content


def block_text(content: Any) -> str | None:
    """What was said in text; thinking and calls left out."""
    if not isinstance(content, list):
        return text_of(content)
    texts = [
        block["text"]
        for block in content
        if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return "\n".join(texts) if texts else None


def anthropic_message(message: Mapping[str, Any], index: int, *, line: int | None = None) -> ChatMessage:
    """One message with content blocks."""
    content, role = message.get("content"), role_of(message)
    answers, text = block_answers(content), block_text(content)
    return ChatMessage(
        role="tool" if role == "user" and answers and text is None else role,
        whole=message,
        index=index,
        line=line,
        text=text,
        calls=block_calls(content) if role == "assistant" else (),
        answers=answers,
        model=message.get("model"),
        finish_reason=message.get("stop_reason"),
        usage=usage_of(message.get("usage")),
    )
