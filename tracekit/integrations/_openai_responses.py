"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.integrations import _parameters
from tracekit.integrations._dialects import Answer, Json, Sent, usage, without
from tracekit.integrations._openai_chat import error_of
from tracekit.integrations._pieces import Pieces, joined
from tracekit.recording.foreign_messages import json_text, messages
from tracekit.snapshot import lenient

INPUTS, OUTPUTS = ("input_tokens",), ("output_tokens",)
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses:
    """`POST .../responses`."""

    name = "responses"

    def matches(self, path: str) -> bool:
        return path.endswith("/responses")

    def sent(self, body: Mapping[str, Any]) -> Sent:
        instructions = body.get("instructions")
        first = [{"role": "system", "content": instructions}] if instructions else []
        kept_there = (
            body.get("previous_response_id") or body.get("conversation") or _refers(body.get("input"))
        )
        return Sent(
            body.get("model"),
            first + messages(body.get("input")),
            without(body, "input", "instructions", "model"),
            is_complete=not kept_there,
        )

    def answer(self, body: bytes) -> Answer:
        return _answer(lenient.loads(body))

    def gather(self) -> ResponsesStream:
        return ResponsesStream()


def _refers(given: Any) -> bool:
    """Whether one of the items only names another one."""
    items = given if isinstance(given, list | tuple) else ()
    return any(isinstance(item, Mapping) and item.get("type") == "item_reference" for item in items)


def _answer(data: Mapping[str, Any]) -> Answer:
    found = _items(data.get("output") or ())
    reason = (data.get("incomplete_details") or {}).get("reason")
    found.finish_reason = reason or data.get("status")
    found.model = data.get("model")
    found.usage = usage(data.get("usage"), INPUTS, OUTPUTS)
    found.error = error_of(data["error"]) if data.get("error") else None
    found.attributes = _parameters.of_answer(data)
    return found


def _items(output: Any) -> Answer:
    """What the items of an output say, in their order."""
    found = Answer(message=list(output) or None)
    for item in output:
        if item.get("type") == "message":
            parts = item.get("content") or ()
            texts = (part.get("text", part.get("refusal")) for part in parts)
            found.texts += [text for text in texts if text]
        elif item.get("type") in ("function_call", "custom_tool_call"):
            arguments = json_text(item.get("arguments", item.get("input")) or "")
            found.texts.append(arguments)
            call_id = item.get("call_id") or item.get("id")
            found.asked.append({"call_id": call_id, "name": item.get("name"), "arguments": arguments})
    return found


_TEXTS = {
    "response.function_call_arguments.delta": ("function_call", "arguments"),
    "response.mcp_call_arguments.delta": ("mcp_call", "arguments"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "input"),
    "response.code_interpreter_call_code.delta": ("code_interpreter_call", "code"),
}
"""Deltas by the type of their item and the field that they go on."""


class ResponsesStream:
    """The last event holds the whole answer; until it comes, what the deltas add up to."""

    def __init__(self) -> None:
        self.is_complete = False
        self._last: Json = {}
        self._items: dict[int, _Item] = {}

    def add(self, data: str) -> None:
        event = lenient.loads(data)
        kind = event.get("type")
        if isinstance(event.get("response"), Mapping):
            self._last = event["response"]
            self.is_complete = kind in _ENDS
        elif kind == "error":
            self._last = {**self._last, "error": event.get("error") or event}
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._items[event.get("output_index", 0)] = _Item(event.get("item") or {})
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            self._item(event, "message").say(event["delta"])
        elif kind in _TEXTS:
            item, field = _TEXTS[kind]
            self._item(event, item).pieces.add({field: event["delta"]})

    def _item(self, event: Mapping[str, Any], kind: str) -> _Item:
        return self._items.setdefault(event.get("output_index", 0), _Item({"type": kind}))

    def answer(self) -> Answer:
        output = self._last.get("output") if self.is_complete else None
        so_far = [self._items[index].whole() for index in sorted(self._items)]
        return _answer({**self._last, "output": output or so_far})


class _Item:
    """One item of an output: as it was told, and what its deltas added."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told
        self._said: list[str] = []
        self.pieces = Pieces()

    def say(self, delta: str) -> None:
        self._said.append(delta)

    def whole(self) -> Json:
        item = dict(self._told)
        for field, text in self.pieces.whole().items():
            item[field] = (item.get(field) or "") + text
        if self._said:
            part = {"type": "output_text", "text": joined(self._said)}
            item["content"] = [*(item.get("content") or ()), part]
        return item
