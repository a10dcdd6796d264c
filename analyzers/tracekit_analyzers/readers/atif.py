"""
ATIF trajectories: `{"schema_version": "ATIF-v1.x", "agent", "steps": [{"source", "message", "tool_calls", "observation"}]}`.

A step holds its calls and their results, so both stand at one index. Sub-agents that are embedded hang below the call
whose result refers to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import ToolCall, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records, tool_step_id
from tracekit_analyzers.readers._openai import text_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._time import iso_ns

_ROLES = {"agent": "assistant", "user": "user", "system": "system"}


class AtifReader:
    """Reads trajectories, one an object."""

    name = "atif"
    title = "ATIF trajectory"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """95 when the schema version says ATIF."""
        top = peek(file.head)
        named = isinstance(top, Mapping) and str(top.get("schema_version", "")).startswith("ATIF-")
        return 95 if named and isinstance(top.get("steps", []), list) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of each trajectory, then of the sub-agents in it."""
        for trace_index, trajectory in enumerate(items(file, damage)):
            run = Run(file, trace_index, task_id=str(trajectory.get("session_id") or "") or None)
            yield from _trajectory(run, trajectory, key="", parent=None)


def _trajectory(
    run: Run, trajectory: Mapping[str, Any], *, key: str, parent: str | None
) -> Iterator[NativeRecord]:
    agent = trajectory.get("agent") or {}
    steps = [step for step in trajectory.get("steps") or () if isinstance(step, Mapping)]
    chat = [_message(step, index, agent, key) for index, step in enumerate(steps)]
    yield from chat_records(run, chat, parent=parent)
    callers = _callers(run, chat)
    for number, inner in enumerate(trajectory.get("subagent_trajectories") or ()):
        if isinstance(inner, Mapping):
            name = str(inner.get("trajectory_id") or inner.get("session_id") or number)
            yield from _trajectory(run, inner, key=f"{key}/{name}", parent=callers.get(name))


def _callers(run: Run, chat: list[ChatMessage]) -> dict[str, str]:
    """Id of the step of the call that started each sub-agent, by the names that its result refers to."""
    found: dict[str, str] = {}
    for message in chat:
        ids = {call.call_id: tool_step_id(run, message, number) for number, call in enumerate(message.calls)}
        for result in _results(message.whole):
            step_id = ids.get(str(result.get("source_call_id")))
            for ref in result.get("subagent_trajectory_ref") or ():
                if step_id is not None and isinstance(ref, Mapping):
                    names = (ref.get("trajectory_id"), ref.get("session_id"))
                    found.update({str(name): step_id for name in names if name})
    return found


def _results(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, Mapping) else None
    return [result for result in results or () if isinstance(result, Mapping)]


def _message(step: Mapping[str, Any], index: int, agent: Mapping[str, Any], key: str) -> ChatMessage:
    calls = tuple(_call(call) for call in step.get("tool_calls") or () if isinstance(call, Mapping))
    role = _ROLES.get(str(step.get("source")), "system")
    managed = (step.get("extra") or {}).get("context_management")
    replaced = isinstance(managed, Mapping) and managed.get("boundary") == "replace"
    by_model = role == "assistant" and not step.get("is_copied_context") and step.get("llm_call_count") != 0
    message = ChatMessage(
        role=role,
        said=by_model,
        whole=step,
        index=index,
        text=text_of(step.get("message")),
        calls=() if step.get("is_copied_context") else calls,
        step_key=f"{key}:{index}",
        at_ns=iso_ns(step.get("timestamp")),
        forgets=replaced,
    )
    if role == "assistant":
        message = replace(
            message,
            agent=agent.get("name"),
            model=step.get("model_name") or agent.get("model_name"),
            usage=_usage(step.get("metrics")),
        )
    answers = tuple(_answer(result) for result in _results(step)) if message.calls else ()
    return replace(message, answers=answers)


def _call(call: Mapping[str, Any]) -> ToolCall:
    arguments = call.get("arguments")
    raw = arguments if isinstance(arguments, str) else json_text(arguments)
    return ToolCall(str(call.get("tool_call_id") or ""), str(call.get("function_name") or ""), raw)


def _answer(result: Mapping[str, Any]) -> Answer:
    call_id = result.get("source_call_id")
    content = result.get("content")
    plain = isinstance(content, list) and all(
        isinstance(part, Mapping) and "text" in part for part in content
    )
    return Answer(str(call_id) if call_id else None, text_of(content) if plain else content)


def _usage(metrics: Any) -> Usage | None:
    if not isinstance(metrics, Mapping):
        return None
    return Usage(metrics.get("prompt_tokens"), metrics.get("completion_tokens"), metrics.get("cost_usd"))


READER = AtifReader()
