"""The scripted model in the words of Anthropic's messages API: what comes in as chat messages, what goes out as blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]


def chat_messages(body: Json) -> list[Json]:
    """The messages of a request to `/v1/messages` as the chat endpoint would get them."""
    system = _text(body.get("system"))
    found: list[Json] = [{"role": "system", "content": system}] if system else []
    for message in body.get("messages") or []:
        found += _of_message(message)
    return found


def _of_message(message: Json) -> Iterator[Json]:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    calls = [_call(block) for block in blocks if block.get("type") == "tool_use"]
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {
                "role": "tool",
                "tool_call_id": block.get("tool_use_id"),
                "content": _text(block.get("content")),
            }
    text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    if text or calls:
        yield {"role": message.get("role"), "content": text, **({"tool_calls": calls} if calls else {})}


def _call(block: Json) -> Json:
    function = {"name": block.get("name"), "arguments": json.dumps(block.get("input") or {})}
    return {"id": block.get("id"), "type": "function", "function": function}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return str(content or "")


def as_message(completion: Json) -> Json:
    """A `chat.completion` object as a `message` object."""
    said = completion["choices"][0]["message"]
    calls: Sequence[Json] = said.get("tool_calls") or ()
    blocks: list[Json] = [{"type": "text", "text": said["content"]}] if said["content"] else []
    blocks += [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in calls
    ]
    usage = completion["usage"]
    return {
        "id": completion["id"].replace("chatcmpl-", "msg_"),
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }
