"""
mini-swe-agent: `{"info", "messages"}` or a bare list of messages, without any structure for calls.

The one fenced block of an answer is the call, the next user message its result, as the program's own templates say:
`<returncode>N</returncode>`, "timed out and has been killed", "Please always provide EXACTLY ONE action".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracekit.model import ToolCall, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._code import code_blocks
from tracekit_analyzers.readers._openai import chat_message, usage_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import never_silent, odd_is_not_ours, peek, whole
from tracekit_analyzers.readers.sweagent import ended_badly

_RETURN_CODE = re.compile(r"\s*<returncode>(-?\d+)</returncode>")
_REFUSED = re.compile(r"\s*Please always provide EXACTLY ONE action")
_LANGUAGES = frozenset({"bash", "sh", "mswea_bash_command"})


class MiniSweReader:
    """Reads a trajectory, with or without its `info`."""

    name = "miniswe"
    title = "mini-swe-agent trajectory"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """92 for mini-swe's own format mark, 85 for a message list that holds its return codes or its block language."""
        top = peek(file.head)
        if isinstance(top, Mapping):
            info = top.get("info")
            marked = str(top.get("trajectory_format", "")).startswith("mini-swe")
            if marked or (isinstance(info, Mapping) and "mini_version" in info):
                return 92
            top = top.get("messages")
        texts = [m.get("content") for m in top if isinstance(m, Mapping)] if isinstance(top, list) else []
        marks = ("<returncode>", "mswea_bash_command", "Please always provide EXACTLY ONE action")
        return (
            85 if any(isinstance(text, str) and any(mark in text for mark in marks) for text in texts) else 0
        )

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records in the order of the messages."""
        top = whole(file, damage)
        info = top.get("info") if isinstance(top, Mapping) else None
        raw = top.get("messages") if isinstance(top, Mapping) else top
        messages = [message for message in raw or () if isinstance(message, Mapping)]
        instance = top.get("instance_id") if isinstance(top, Mapping) else None
        model = ((info or {}).get("config") or {}).get("model") or {}
        chat = _with_calls(messages, model.get("model_name"))
        ended = ended_badly(info, len(messages) - 1)
        run = Run(file, task_id=instance if isinstance(instance, str) else None)
        yield from chat_records(run, [*chat, *([ended] if ended else [])])


def _with_calls(messages: Sequence[Mapping[str, Any]], model: Any) -> list[ChatMessage]:
    chat: list[ChatMessage] = []
    for index, raw in enumerate(messages):
        message = chat_message({"role": raw.get("role"), "content": raw.get("content")}, index)
        before = chat[-1] if chat else None
        if message.by_model:
            message = replace(message, calls=_call(message), usage=_usage(raw), model=model)
        elif before is not None and before.by_model:
            if _REFUSED.match(message.text or ""):
                chat[-1] = replace(before, calls=())
            elif before.calls:
                message = replace(message, role="tool", answers=(_answer(message, before.calls[0]),))
        chat.append(message)
    return chat


def _call(message: ChatMessage) -> tuple[ToolCall, ...]:
    """The one block of a language that mini-swe runs; with none or several the program runs nothing."""
    blocks = code_blocks(message.text or "")
    runnable = [code for language, code in blocks if language in _LANGUAGES] or [code for _, code in blocks]
    if len(runnable) != 1:
        return ()
    return (ToolCall(f"block-{message.index}", "bash", json_text({"command": runnable[0]})),)


def _answer(message: ChatMessage, call: ToolCall) -> Answer:
    match = _RETURN_CODE.match(message.text or "")
    facts = {"exit_code": int(match.group(1))} if match else {}
    return Answer(call.call_id, message.text, attributes=facts)


def _usage(raw: Mapping[str, Any]) -> Usage | None:
    extra = raw.get("extra")
    response = extra.get("response") if isinstance(extra, Mapping) else None
    return usage_of(response.get("usage")) if isinstance(response, Mapping) else None


READER = MiniSweReader()
