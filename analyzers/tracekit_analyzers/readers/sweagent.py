"""
SWE-agent trajectories: `{"trajectory": [{"action", "observation", "response"}], "history": [...], "info"}`.

The trajectory holds each action with its observation; the history adds the prompts before them, and the calls in the
function-calling configurations. Some files have a history only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus, ToolCall
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import calls_of, chat_message, role_of, text_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import never_silent, odd_is_not_ours, peek, whole


class SweAgentReader:
    """Reads a trajectory as one run."""

    name = "sweagent"
    title = "SWE-agent trajectory"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 for a trajectory of actions and observations, 80 for a history of SWE-agent's messages."""
        top = peek(file.head)
        if not isinstance(top, Mapping):
            return 0
        first = _first(top.get("trajectory"))
        if {"action", "observation"} <= first.keys():
            return 90
        return 80 if {"message_type", "agent", "role"} <= _first(top.get("history")).keys() else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the prompts, then of each action; `index` is the position in the trajectory."""
        top = whole(file, damage) or {}
        history = [message for message in top.get("history") or () if isinstance(message, Mapping)]
        trajectory = [entry for entry in top.get("trajectory") or () if isinstance(entry, Mapping)]
        chat = _from_trajectory(trajectory, history) if trajectory else _from_history(history)
        ended = ended_badly(top.get("info"), len(trajectory or history) - 1)
        yield from chat_records(Run(file), [*chat, *([ended] if ended else [])])


def _first(values: Any) -> Mapping[str, Any]:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], Mapping) else {}


def _from_trajectory(
    trajectory: Sequence[Mapping[str, Any]], history: Sequence[Mapping[str, Any]]
) -> list[ChatMessage]:
    """Prompts of the history up to the first action, then each entry as what was said and what came back."""
    said = [
        message for message in history if message.get("role") == "assistant" and not message.get("is_demo")
    ]
    prompts = list(_prompts(history))
    chat = [
        replace(chat_message(_plain(message), 0), step_key=f"prompt-{n}") for n, message in enumerate(prompts)
    ]
    matched = len(said) == len(trajectory)
    for index, entry in enumerate(trajectory):
        calls = calls_of(said[index]) if matched else ()
        chat += _turn(entry, index, calls)
    return chat


def _prompts(history: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for message in history:
        if message.get("role") == "assistant" and not message.get("is_demo"):
            return
        yield message


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """*message* as it went to the model; prompts hold demonstrations, none of which the model said here."""
    role = role_of(message)
    return {"role": "user" if role in ("assistant", "tool") else role, "content": message.get("content")}


def _turn(entry: Mapping[str, Any], index: int, calls: tuple[ToolCall, ...]) -> Iterator[ChatMessage]:
    action, response = str(entry.get("action") or ""), text_of(entry.get("response"))
    if not calls and action.strip():
        calls = (ToolCall(f"action-{index}", action.split()[0], json_text({"command": action})),)
    yield ChatMessage(
        role="assistant",
        whole={"role": "assistant", "content": response, "action": action},
        index=index,
        text=response,
        calls=calls,
    )
    observation = entry.get("observation")
    seconds = entry.get("execution_time")
    if observation is None:
        return
    took = seconds * 1000 if isinstance(seconds, int | float) else None
    answer = Answer(calls[0].call_id if calls else None, observation, duration_ms=took)
    whole_message = {"role": "tool", "content": observation}
    answers = (answer,) if calls else ()
    yield ChatMessage(
        role="tool" if calls else "user",
        whole=whole_message,
        index=index,
        text=text_of(observation),
        answers=answers,
        step_key=f"{index}-answer",
    )


def _from_history(history: Sequence[Mapping[str, Any]]) -> list[ChatMessage]:
    """A bare history: observations that follow an action without a call of its own are its results."""
    chat: list[ChatMessage] = []
    for index, raw in enumerate(history):
        message = chat_message(raw, index)
        before = chat[-1] if chat else None
        action = str(raw.get("action") or "")
        if message.by_model and not message.calls and action.strip():
            call = ToolCall(f"action-{index}", action.split()[0], json_text({"command": action}))
            message = replace(message, calls=(call,))
        elif raw.get("message_type") == "observation" and before and before.by_model and before.calls:
            call_ids = raw.get("tool_call_ids")
            call_id = call_ids[0] if isinstance(call_ids, list) and call_ids else before.calls[0].call_id
            message = replace(message, role="tool", answers=(Answer(call_id, raw.get("content")),))
        chat.append(message)
    return chat


def ended_badly(info: Any, index: int) -> ChatMessage | None:
    """What the program says about the end of the run, unless it is that the result was submitted."""
    status = info.get("exit_status") if isinstance(info, Mapping) else None
    if not isinstance(status, str) or status.lower() in ("", "submitted"):
        return None
    return ChatMessage(
        role="event",
        whole={"exit_status": status},
        index=max(index, 0),
        name="exit",
        event=StepStatus.ERROR,
        step_key="exit",
        error_type=status,
        error_message=f"the run ended with {status}",
    )


READER = SweAgentReader()
