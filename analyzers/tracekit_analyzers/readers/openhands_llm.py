"""
LLM call logs of the OpenHands SDK: one file a call, `{"messages", "tools", "response", "latency_sec", "cost"}`.

Models without native calls are sent text (`messages`) and answer in text (`raw_response`): that is the raw output, and
the calls that OpenHands read out of it stand in `response`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import ChatMessage, chat_records
from tracekit_analyzers.readers._openai import chat_message, money, text_of, usage_of
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek

_KEPT = {"tools": "gen_ai.tool.definitions", "timestamp": "timestamp", "latency_sec": "latency_sec"}
"""Kept as attributes. The time is that of the last call alone, and a step with a time would stand before all without."""


class OpenHandsLlmReader:
    """Reads each call with the conversation that it was sent."""

    name = "openhands_llm"
    title = "OpenHands SDK LLM call log"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """85 when the head has messages and tools as that SDK writes them."""
        top = peek(file.head)
        if not isinstance(top, Mapping) or not isinstance(top.get("messages"), list):
            return 0
        marks = {
            "tools",
            "kwargs",
            "response",
            "raw_response",
            "latency_sec",
            "context_window",
            "raw_messages",
        }
        return 85 if len(marks & top.keys()) >= 2 else 65 if list(top)[:2] == ["messages", "tools"] else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the conversation, and last of the call itself."""
        for trace_index, call in enumerate(items(file, damage)):
            raw = call.get("raw_messages") or call.get("messages") or ()
            chat = [
                chat_message(message, index)
                for index, message in enumerate(raw)
                if isinstance(message, Mapping)
            ]
            reply = _reply(call, len(raw))
            yield from chat_records(Run(file, trace_index), [*chat, *([reply] if reply else [])])


def _reply(call: Mapping[str, Any], index: int) -> ChatMessage | None:
    response = call.get("response")
    message, finish_reason = _choice(response)
    if message is None or not isinstance(response, Mapping):
        return None
    raw, _ = _choice(call.get("raw_response"))
    text = text_of(raw.get("content")) if raw is not None else None
    used, cost = usage_of(response.get("usage")) or Usage(), money(call.get("cost"))
    said = chat_message(message, index)
    return replace(
        said,
        text=text or said.text,
        fate_elsewhere=True,
        model=response.get("model"),
        finish_reason=finish_reason,
        usage=replace(used, cost=used.cost if cost is None else cost),
        attributes={name: call[key] for key, name in _KEPT.items() if call.get(key)},
    )


def _choice(response: Any) -> tuple[Mapping[str, Any] | None, Any]:
    """Message and finish reason of a response's first choice."""
    choices = response.get("choices") if isinstance(response, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    return (message, first.get("finish_reason")) if isinstance(message, Mapping) and first else (None, None)


READER = OpenHandsLlmReader()
