"""Cline sessions: `{"version", "sessionId", "agent", "messages": [{"role", "content", "ts"}], "system_prompt"}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._anthropic import anthropic_message
from tracekit_analyzers.readers._chat import ChatMessage, chat_records
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._time import epoch_ns


class ClineReader:
    """Reads a session as one run."""

    name = "cline"
    title = "Cline session"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """85 when the top object has a session, an agent and messages with `ts`."""
        top = peek(file.head)
        if not isinstance(top, Mapping) or not isinstance(top.get("messages"), list) or not top["messages"]:
            return 0
        first = top["messages"][0]
        stamped = isinstance(first, Mapping) and "role" in first and ("ts" in first or "modelInfo" in first)
        return 85 if stamped and ("sessionId" in top or "system_prompt" in top) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records in the order of the messages; the system prompt comes first and stands at the first message."""
        for trace_index, session in enumerate(items(file, damage)):
            name = str(session.get("sessionId") or "") or None
            run = Run(file, trace_index, task_id=name)
            chat: list[ChatMessage] = []
            prompt = session.get("system_prompt")
            if isinstance(prompt, str) and prompt:
                whole = {"role": "system", "content": prompt}
                chat.append(ChatMessage(role="system", whole=whole, index=0, text=prompt))
            chat += [_message(raw, index) for index, raw in enumerate(session.get("messages") or ())]
            yield from chat_records(run, chat)


def _message(raw: Mapping[str, Any], index: int) -> ChatMessage:
    message = anthropic_message(raw, index)
    info, metrics = raw.get("modelInfo") or {}, raw.get("metrics") or {}
    return replace(
        message,
        whole={"role": raw.get("role"), "content": raw.get("content")},
        at_ns=epoch_ns(raw.get("ts"), per_second=1000),
        model=message.model or info.get("modelId") or info.get("id"),
        usage=message.usage or _usage(metrics),
    )


def _usage(metrics: Mapping[str, Any]) -> Usage | None:
    inner = metrics.get("tokens")
    tokens: Mapping[str, Any] = inner if isinstance(inner, Mapping) else metrics

    def number(*names: str) -> Any:
        found = [source.get(name) for source in (tokens, metrics) for name in names]
        return next((value for value in found if isinstance(value, int | float)), None)

    used = Usage(
        input_tokens=number("prompt", "input", "inputTokens", "tokensIn"),
        output_tokens=number("completion", "output", "outputTokens", "tokensOut"),
        cost=number("cost", "totalCost"),
    )
    return used if used != Usage() else None


READER = ClineReader()
