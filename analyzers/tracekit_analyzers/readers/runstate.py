"""
OpenAI Agents SDK `RunState`: `{"$schemaVersion", "original_input", "generated_items", "current_step", ...}`.

It is the place where a run stopped to go on later: calls that wait for an approval have not been made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus, ToolCall, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import role_of, text_of, usage_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek

_ARGUMENTS = ("arguments", "input", "code", "action", "queries", "operation")


class RunStateReader:
    """Reads a saved state as one run."""

    name = "runstate"
    title = "OpenAI Agents SDK RunState"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """95 when the top object has the schema version and the fields of a state."""
        top = peek(file.head)
        keys = top.keys() if isinstance(top, Mapping) else set()
        named = "$schemaVersion" in keys
        return 95 if named and {"generated_items", "current_turn", "original_input", "context"} & keys else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the input, then of each generated item; `index` is the item's position, inputs stand at 0."""
        for trace_index, state in enumerate(items(file, damage)):
            yield from chat_records(Run(file, trace_index), _chat(state))


def _chat(state: Mapping[str, Any]) -> list[ChatMessage]:
    given = state.get("original_input")
    inputs = [{"role": "user", "content": given}] if isinstance(given, str) else given or ()
    chat = [
        replace(message, said=False, calls=(), answers=(), step_key=f"input-{number}")
        for number, raw in enumerate(inputs)
        if isinstance(raw, Mapping) and (message := _item(raw, 0)) is not None
    ]
    waiting, usage = _waiting(state), _usage(state)
    for index, generated in enumerate(state.get("generated_items") or ()):
        raw = generated.get("raw_item") if isinstance(generated, Mapping) else None
        message = _item(raw, index) if isinstance(raw, Mapping) else None
        if message is None or not isinstance(raw, Mapping):
            continue
        agent = generated.get("agent")
        ids = {call.call_id for call in message.calls}
        chat.append(
            replace(
                message,
                agent=agent.get("name") if isinstance(agent, Mapping) and message.by_model else None,
                usage=usage.pop(_key(raw), None) if message.by_model else None,
                fate_elsewhere=bool(ids & waiting.keys()),
            )
        )
    last = max(len(state.get("generated_items") or ()) - 1, 0)
    return [*chat, *(_interruption(name, call_id, last) for call_id, name in waiting.items())]


def _key(raw: Mapping[str, Any]) -> str:
    return str(raw.get("id") or raw.get("call_id") or "")


def _usage(state: Mapping[str, Any]) -> dict[str, Usage]:
    """Usage of each response, by the first of its items, so that it counts once."""
    found: dict[str, Usage] = {}
    for response in state.get("model_responses") or ():
        used = usage_of(response.get("usage")) if isinstance(response, Mapping) else None
        first = next((item for item in response.get("output") or () if isinstance(item, Mapping)), None)
        if used is not None and first is not None:
            found[_key(first)] = used
    return found


def _waiting(state: Mapping[str, Any]) -> dict[str, str]:
    """Names of the calls that wait for a decision, by call id."""
    step = state.get("current_step")
    data = step.get("data") if isinstance(step, Mapping) else None
    found: dict[str, str] = {}
    for item in data.get("interruptions") or () if isinstance(data, Mapping) else ():
        raw = item.get("raw_item", item.get("rawItem")) if isinstance(item, Mapping) else None
        if isinstance(raw, Mapping):
            call_id = str(raw.get("call_id", raw.get("callId")) or raw.get("id") or "")
            found[call_id] = str(raw.get("name") or "")
    return found


def _interruption(name: str, call_id: str, index: int) -> ChatMessage:
    return ChatMessage(
        role="event",
        whole={"interruption": name},
        index=index,
        name=f"approval of {name}",
        event=StepStatus.RUNNING,
        step_key=f"interruption-{call_id}",
        attributes={"call_id": call_id},
    )


def _item(raw: Mapping[str, Any], index: int) -> ChatMessage | None:
    """One item of the Responses API; None for reasoning and others that neither say, ask nor answer."""
    kind = str(raw.get("type") or "message")
    here = ChatMessage(role="assistant", whole=raw, index=index, step_key=str(index))
    if kind == "message" or "role" in raw:
        return replace(here, role=role_of(raw), text=text_of(raw.get("content")))
    if kind.endswith("_output"):
        value = raw.get("output", raw.get("result", raw.get("tools")))
        failed = raw.get("status") in ("failed", "incomplete")
        answer = Answer(
            str(raw.get("call_id") or "") or None,
            value,
            failed=failed,
            error_type=str(raw["status"]) if failed else None,
            error_message=text_of(value) if failed else None,
        )
        return replace(here, role="tool", text=text_of(value), answers=(answer,))
    if kind.endswith("_call") or kind == "program":
        arguments = next((raw[key] for key in _ARGUMENTS if raw.get(key) is not None), None)
        text = arguments if isinstance(arguments, str) else json_text(arguments)
        name = str(raw.get("name") or kind.removesuffix("_call"))
        call_id = str(raw.get("call_id") or raw.get("id") or "")
        answered = (Answer(call_id, raw.get("results")),) if raw.get("results") is not None else ()
        return replace(here, calls=(ToolCall(call_id, name, text),), answers=answered)
    return None


READER = RunStateReader()
