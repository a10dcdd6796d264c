"""OpenAI's chat completions, as many other services speak them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.integrations import _parameters
from tracekit.integrations._dialects import Answer, Json, Sent, usage, without
from tracekit.integrations._pieces import Pieces
from tracekit.recording.foreign_messages import json_text
from tracekit.snapshot import lenient

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
        data = lenient.loads(body)
        return _answer(data, data.get("choices") or ())

    def gather(self) -> ChatStream:
        return ChatStream()


def _answer(data: Mapping[str, Any], choices: Sequence[Mapping[str, Any]]) -> Answer:
    """The first choice is what the model said; where several were asked for, the output lists the messages of all."""
    messages = [choice.get("message") or {} for choice in choices]
    message = messages[0] if messages else {}
    asked = [_asked(call) for call in message.get("tool_calls") or ()]
    if message.get("function_call"):
        asked.append(_asked({"function": message["function_call"]}))
    said = [
        text for text in (message.get("content"), message.get("refusal")) if isinstance(text, str) and text
    ]
    error = data.get("error")
    return Answer(
        said + [call["arguments"] for call in asked],
        (messages if len(messages) > 1 else message) or None,
        asked,
        choices[0].get("finish_reason") if choices else None,
        data.get("model"),
        usage(data.get("usage"), INPUTS, OUTPUTS),
        error_of(error) if error else None,
        _parameters.of_answer(data),
    )


def _asked(call: Mapping[str, Any]) -> Json:
    function = call.get("function") or call.get("custom") or {}
    arguments = function.get("arguments", function.get("input"))
    return {"call_id": call.get("id"), "name": function.get("name"), "arguments": json_text(arguments or "")}


def error_of(error: Any) -> tuple[str, str]:
    """Type and message of an error object."""
    if not isinstance(error, Mapping):
        return "error", str(error)
    return str(error.get("code") or error.get("type") or "error"), str(error.get("message") or error)


class ChatStream:
    """Chunks of every choice, put together."""

    def __init__(self) -> None:
        self.is_complete = False
        self._head: Json = {}
        self._choices: dict[int, _Choice] = {}

    def add(self, data: str) -> None:
        if data.startswith("[DONE]"):
            self.is_complete = True
            return
        chunk = lenient.loads(data)
        self._head |= {name: chunk[name] for name in ("id", "model", "usage", "error") if chunk.get(name)}
        for choice in chunk.get("choices") or ():
            self._choices.setdefault(choice.get("index") or 0, _Choice()).add(choice)

    def answer(self) -> Answer:
        choices = [self._choices[index].whole() for index in sorted(self._choices)]
        return _answer(self._head, choices or [_Choice().whole()])


class _Choice:
    """One choice of a stream: its texts piece by piece, its calls by their number."""

    def __init__(self) -> None:
        self._message = Pieces()
        self._calls: dict[int, Pieces] = {}
        self._reason: str | None = None

    def add(self, choice: Mapping[str, Any]) -> None:
        self._reason = choice.get("finish_reason") or self._reason
        delta = choice.get("delta") or {}
        self._message.add(without(delta, "role", "tool_calls"))
        for position, part in enumerate(delta.get("tool_calls") or ()):
            index = part.get("index")
            call = self._calls.setdefault(position if index is None else index, Pieces())
            call.add(without(part, "index"))

    def whole(self) -> Json:
        message = {"role": "assistant", "content": None, **self._message.whole()}
        if self._calls:
            empty = {"id": None, "type": "function"}
            message["tool_calls"] = [{**empty, **self._calls[index].whole()} for index in sorted(self._calls)]
        return {"message": message, "finish_reason": self._reason}
