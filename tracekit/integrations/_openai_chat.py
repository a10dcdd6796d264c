"""OpenAI's chat completions, as many other services speak them too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tracekit.integrations._dialects import Answer, Json, Sent, usage, without

INPUTS, OUTPUTS = ("prompt_tokens",), ("completion_tokens",)


class Chat:
    """`POST .../chat/completions`."""

    name = "chat.completions"

    def matches(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def sent(self, body: Mapping[str, Any]) -> Sent:
        listed = body.get("messages")
        is_list = isinstance(listed, list | tuple)
        messages = list(listed or ()) if is_list else []
        return Sent(body.get("model"), messages, without(body, "messages", "model"), is_complete=is_list)

    def answer(self, body: bytes) -> Answer:
        data = orjson.loads(body)
        return _answer(data, data["choices"][0] if data.get("choices") else {})

    def gather(self) -> ChatStream:
        return ChatStream()


def _answer(data: Mapping[str, Any], choice: Mapping[str, Any]) -> Answer:
    message = choice.get("message") or {}
    asked = [_asked(call) for call in message.get("tool_calls") or ()]
    said = [
        text for text in (message.get("content"), message.get("refusal")) if isinstance(text, str) and text
    ]
    error = data.get("error")
    return Answer(
        said + [call["arguments"] for call in asked],
        message or None,
        asked,
        choice.get("finish_reason"),
        data.get("model"),
        usage(data.get("usage"), INPUTS, OUTPUTS),
        error_of(error) if error else None,
    )


def _asked(call: Mapping[str, Any]) -> Json:
    function = call.get("function") or call.get("custom") or {}
    arguments = function.get("arguments", function.get("input"))
    return {"call_id": call.get("id"), "name": function.get("name"), "arguments": arguments or ""}


def error_of(error: Any) -> tuple[str, str]:
    """Type and message of an error object."""
    if not isinstance(error, Mapping):
        return "error", str(error)
    return str(error.get("code") or error.get("type") or "error"), str(error.get("message") or error)


class ChatStream:
    """Chunks of the first choice, put together."""

    def __init__(self) -> None:
        self.is_complete = False
        self._head: Json = {}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, Json] = {}
        self._reason: str | None = None

    def add(self, data: str) -> None:
        if data.startswith("[DONE]"):
            self.is_complete = True
            return
        chunk = orjson.loads(data)
        self._head |= {name: chunk[name] for name in ("model", "usage", "error") if chunk.get(name)}
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:
                self._reason = choice.get("finish_reason") or self._reason
                self._add_delta(choice.get("delta") or {})

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for name in ("content", "refusal"):
            if isinstance(delta.get(name), str):
                self._texts.setdefault(name, []).append(delta[name])
        for position, part in enumerate(delta.get("tool_calls") or ()):
            empty = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
            index = part.get("index")
            call = self._calls.setdefault(position if index is None else index, empty)
            call["id"] = part.get("id") or call["id"]
            function = part.get("function") or {}
            call["function"]["name"] += function.get("name") or ""
            call["function"]["arguments"] += function.get("arguments") or ""

    def answer(self) -> Answer:
        message: Json = {"role": "assistant", "content": None}
        message |= {name: "".join(parts) for name, parts in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        return _answer(self._head, {"message": message, "finish_reason": self._reason})
