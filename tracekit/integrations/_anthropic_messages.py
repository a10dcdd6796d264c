"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.integrations import _exact_json, _parameters
from tracekit.integrations._dialects import Answer, Json, Sent, inside, usage, without
from tracekit.integrations._openai_chat import error_of
from tracekit.integrations._pieces import Pieces
from tracekit.recording.foreign_messages import json_text, json_value, messages
from tracekit.snapshot import lenient

INPUTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
OUTPUTS = ("output_tokens",)
_ASKED = "tool_use"
_CALLS = (_ASKED, "server_tool_use", "mcp_tool_use")
"""The others are carried out by the provider, which puts what came of them beside them: the agent is asked nothing."""


class Messages:
    """`POST .../messages`."""

    name = "messages"

    def matches(self, path: str) -> bool:
        return path.endswith("/messages")

    def sent(self, body: Mapping[str, Any]) -> Sent:
        system = body.get("system")
        first = messages([{"role": "system", "content": system}]) if system else []
        listed = body.get("messages")
        is_list = isinstance(
            listed, list | tuple
        )  # anything else may be read once only, and that by the client
        return Sent(
            body.get("model"),
            first + messages(list(listed or ()) if is_list else []),
            without(body, "messages", "system", "model"),
            is_complete=is_list and inside(body, "thread", "previous_message_id") is None,
        )

    def answer(self, body: bytes) -> Answer:
        exact = _exact_json.loads(body).get("content") or ()
        inputs = ((index, block.get("input")) for index, block in enumerate(exact))
        written = {index: value.text for index, value in inputs if isinstance(value, _exact_json.Exact)}
        return _answer(lenient.loads(body), written)

    def gather(self) -> MessageStream:
        return MessageStream()


def _answer(data: Mapping[str, Any], written: Mapping[int, str]) -> Answer:
    """*written* has the exact text of the arguments, by the position of their block."""
    blocks = data.get("content") or ()
    found = Answer(
        message={"role": "assistant", "content": list(blocks)} if blocks else None,
        finish_reason=data.get("stop_reason"),
        model=data.get("model"),
        usage=usage(data.get("usage"), INPUTS, OUTPUTS),
        error=error_of(data["error"]) if data.get("error") else None,
        attributes=_parameters.of_answer(data),
    )
    for index, block in enumerate(blocks):
        if block.get("type") == "text" and block.get("text"):
            found.texts.append(block["text"])
        elif block.get("type") in _CALLS:
            arguments = written.get(index) or json_text(block.get("input") or {})
            found.texts.append(arguments)
            if block["type"] == _ASKED:
                found.asked.append(
                    {"call_id": block.get("id"), "name": block.get("name"), "arguments": arguments}
                )
    return found


class MessageStream:
    """Content blocks, put together from their deltas."""

    def __init__(self) -> None:
        self.is_complete = False
        self._head: Json = {}
        self._blocks: dict[int, Json] = {}
        self._added: dict[int, Pieces] = {}

    def add(self, data: str) -> None:
        event = lenient.loads(data)
        match event.get("type"):
            case "message_start":
                self._head = dict(event.get("message") or {})
            case "content_block_start":
                self._blocks[event["index"]] = dict(event.get("content_block") or {})
            case "content_block_delta":
                self._add_delta(event["index"], event.get("delta") or {})
            case "message_delta":
                self._head |= {k: v for k, v in (event.get("delta") or {}).items() if v is not None}
                known = {k: v for k, v in (event.get("usage") or {}).items() if v is not None}
                self._head["usage"] = {**(self._head.get("usage") or {}), **known}
            case "message_stop":
                self.is_complete = True
            case "error":
                self._head["error"] = event.get("error")

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        added = self._added.setdefault(index, Pieces())
        if delta.get("citation") is not None:
            added.add({"citations": [delta["citation"]]})
        added.add(without(delta, "type", "citation"))

    def answer(self) -> Answer:
        written: dict[int, str] = {}
        blocks: list[Json] = []
        for position, index in enumerate(sorted(self._blocks.keys() | self._added.keys())):
            block = dict(self._blocks.get(index) or {"type": "text"})
            added = self._added[index].whole() if index in self._added else {}
            if "partial_json" in added:
                written[position] = added.pop("partial_json")
                block["input"] = json_value(written[position])
            for name, more in added.items():
                block[name] = (block.get(name) or type(more)()) + more
            blocks.append(block)
        return _answer({**self._head, "content": blocks}, written)
