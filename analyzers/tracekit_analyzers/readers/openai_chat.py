"""
Chat logs: lists of `{"role", "content"}`, one run or many in a file, with tool calls or with several agents talking.

Read are a bare list of messages, an object that holds one (`history`, `messages`, `traj`), a list of such objects, and
JSON Lines of them. Where a message names its speaker, each speaker is an agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from tracekit.model import ToolCall
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._anthropic import anthropic_message, has_blocks
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._code import code_calls
from tracekit_analyzers.readers._openai import chat_message
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._source import (
    guarded,
    held,
    items,
    never_silent,
    odd_is_not_ours,
    peek,
    peek_lines,
)

_LISTS = ("traj", "history", "messages", "conversation", "trajectory", "chat_history")
"""Where a run keeps its messages."""

_SPEAKER = re.compile(r"\s*\([^()]*\)\s*\Z")
"""Decoration behind a speaker's name, `Orchestrator (thought)`."""

_PEOPLE = frozenset({"human", "user", "user_proxy", "userproxy"})

_EXECUTOR = re.compile(
    r"exitcode: (-?\d+) \(execution (?:succeeded|failed)\)"
    r"|The script ran, then exited with Unix exit code: (-?\d+)"
    r"|The script ran but produced no output"
    r"|There is no code from the last \d+ messages? for me to execute"
    r"|No code blocks? (?:detected|found) in the "
)
"""How AutoGen's code executors open their answers; the sentences are the program's own, no model writes them."""


class OpenAIChatReader:
    """Reads chat logs of any number of runs."""

    name = "openai_chat"
    title = "Chat messages (OpenAI style lists, multi-agent histories)"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """60 when the head holds messages with role and content, 0 otherwise."""
        top = peek(file.head)
        first = top[0] if isinstance(top, list) and top else top
        if isinstance(first, Mapping) and _is_message(first):
            return 60 if isinstance(top, list) else 0
        if _messages(first):
            return 60
        return 55 if any(_messages(line) for line in peek_lines(file.head)[:3]) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of each run; only one run is held at a time."""
        values = items(file, damage)
        first = next(values, None)
        if first is None:
            return
        values = chain([first], values)
        if isinstance(first, Mapping) and _is_message(first):
            yield from _read_run(Run(file), list(held(values, file, damage)), file, damage)
            return
        for trace_index, value in enumerate(values):
            messages = _messages(value)
            if not messages:
                reason = "no_messages: expected a run with a list of messages"
                damage.bad(file=file.name, line=None, offset=None, reason=reason, data=str(value)[:200])
                continue
            run = Run(file, trace_index, task_id=_task_id(value))
            yield from guarded(
                _read_run(run, messages, file, damage), file, damage, what=f"run {trace_index}"
            )


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("role"), str)
        and ("content" in value or "tool_calls" in value or "function_call" in value)
    )


def _messages(value: Any) -> list[Any] | None:
    """The messages of a run, wherever it keeps them; None when it has none."""
    if isinstance(value, list):
        return value if value and _is_message(value[0]) else None
    if not isinstance(value, Mapping):
        return None
    for key in _LISTS:
        found = value.get(key)
        if isinstance(found, list) and found and _is_message(found[0]):
            return found
    return None


def _task_id(value: Any) -> str | None:
    """The run's own name: its task and which go at it."""
    if not isinstance(value, Mapping):
        return None
    task = next(
        (value[key] for key in ("task_id", "id", "question_ID") if isinstance(value.get(key), str | int)),
        None,
    )
    if task is None:
        return None
    trial = value.get("trial")
    return f"{task}/trial-{trial}" if isinstance(trial, int) else str(task)


def _read_run(
    run: Run, messages: Sequence[Any], file: InputFile, damage: DamageReport
) -> Iterator[NativeRecord]:
    chat: list[ChatMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, Mapping):
            chat.append(
                anthropic_message(message, index) if has_blocks(message) else chat_message(message, index)
            )
        else:
            reason = f"not_object message {index}: expected role and content"
            damage.bad(file=file.name, line=None, offset=None, reason=reason, data=str(message)[:200])
    if not _several_speak(chat):
        yield from chat_records(run, chat)
        return
    yield from chat_records(run, _with_executed_code([_spoken(message) for message in chat]), complete=False)


def _speaker(message: ChatMessage) -> str:
    """Who said it: the `name`, else the role without its decoration."""
    name = message.whole.get("name")
    return name if isinstance(name, str) and name else _SPEAKER.sub("", message.role)


def _several_speak(chat: Sequence[ChatMessage]) -> bool:
    """Whether the messages are those of several agents rather than of one model and its tools."""
    known = {"system", "user", "assistant", "tool", ""}
    if any(message.calls or message.role == "tool" for message in chat):
        return False
    return any(message.role not in known or isinstance(message.whole.get("name"), str) for message in chat)


def _spoken(message: ChatMessage) -> ChatMessage:
    """*message* of a talk among agents: all but people and instructions are something that a model said."""
    speaker = _speaker(message)
    if speaker.lower() in _PEOPLE or message.role == "system":
        return replace(
            message, role="system" if message.role == "system" else "user", said=False, agent=speaker
        )
    role = message.whole.get("role")
    name = speaker if message.whole.get("name") else role
    return replace(message, role="assistant", said=True, agent=speaker, name=name)


def _with_executed_code(chat: Sequence[ChatMessage]) -> list[ChatMessage]:
    """*chat* with the code blocks that a program ran as calls, and its reports as their answers."""
    done = list(chat)
    for place, message in enumerate(done):
        match = _EXECUTOR.match((message.text or "").lstrip())
        if match is None:
            continue
        exit_code = next((int(code) for code in match.groups() if code is not None), None)
        tool = message.agent or "code_executor"
        asker = done[place - 1] if place else None
        calls: tuple[ToolCall, ...] = ()
        if asker is not None and asker.by_model and exit_code is not None:
            calls = code_calls(asker.text or "", name=tool, call_id=f"code-{asker.index}")
            done[place - 1] = replace(asker, calls=calls)
        answer = Answer(
            calls[0].call_id if calls else None,
            message.text,
            name=tool,
            attributes={} if exit_code is None else {"exit_code": exit_code},
        )
        done[place] = replace(message, role="tool", said=False, answers=(answer,))
    return done


READER = OpenAIChatReader()
