"""Messages as the GenAI conventions write them on spans: `role` and `parts`, for whoever reads our spans besides us."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.recording.foreign_messages import Message, json_value, messages, text_part

_REASONS = {
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
    "function_call": "tool_call",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
}
"""Why a model stopped, in the words of providers and in those of the conventions; any other word stays."""


def sent(given: Any) -> list[Message]:
    """`gen_ai.input.messages` for the messages of any dialect."""
    return [_message(message) for message in messages(given)]


def said(output: Any, finish_reason: str | None) -> list[Message]:
    """`gen_ai.output.messages` for what a model answered in any dialect."""
    reason = _REASONS.get(finish_reason or "", finish_reason) or "stop"
    return [
        {**_message(message), "role": "assistant", "finish_reason": reason}
        for message in messages(output, role="assistant")
    ]


def _message(message: Mapping[str, Any]) -> Message:
    content = message.get("content")
    if message.get("role") == "tool":
        parts = [{"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}]
    else:
        given = content if isinstance(content, list) else [] if content is None else [content]
        parts = [*map(_part, given), *map(_call, message.get("tool_calls") or ())]
    made = {"role": message.get("role"), "parts": parts}
    return made if message.get("name") is None else {**made, "name": message["name"]}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = json_value(function["arguments"])
    return {"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": arguments}


def _part(part: Any) -> Any:
    """One part of a content; one of a kind that the conventions do not know stays as it is, which they allow."""
    text = text_part(part)
    if text is not None:
        return {"type": "text", "content": text}
    if not isinstance(part, Mapping):
        return {"type": "text", "content": str(part)}
    if isinstance(part.get("thinking"), str):
        return {"type": "reasoning", "content": part["thinking"]}
    if part.get("type") == "reasoning" and isinstance(part.get("summary"), list):
        texts = [text for each in part["summary"] if isinstance(each, Mapping) and (text := each.get("text"))]
        return {"type": "reasoning", "content": "\n".join(texts)}
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, Mapping) else image
    if not isinstance(url, str):
        return part
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return {
            "type": "blob", "modality": "image", "mime_type": head.removeprefix("data:"), "content": data,
        }  # fmt: skip
    return {"type": "uri", "modality": "image", "uri": url}
