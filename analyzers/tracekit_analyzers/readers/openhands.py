"""
OpenHands: a list of events (a trajectory file), or `output.jsonl` of its evaluation with one run a line.

An action names the response that asked for it, an observation the action that it answers (`cause`). Files of 2024 have
no ids and no times: there an observation answers the action before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus, ToolCall
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import calls_of, text_of, usage_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import (
    guarded,
    held,
    items,
    lines,
    never_silent,
    odd_is_not_ours,
    peek,
    peek_lines,
)
from tracekit_analyzers.readers._time import ASSUMED_ZONE, has_zone, iso_ns

_TALK = frozenset({"message", "system"})
_ENDS = frozenset({"finish", "reject"})
"""Actions that close the run; nothing answers them."""
_NO_NEWS = frozenset({"null", "agent_state_changed"})
_OWN_ARGUMENTS = frozenset(
    {"thought", "blocking", "hidden", "confirmation_state", "is_static", "security_risk"}
)
"""What OpenHands itself adds to an action; no model asked for it."""


class OpenHandsReader:
    """Reads trajectories and evaluation output."""

    name = "openhands"
    title = "OpenHands events and evaluation output"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the first events have `source` with `action` or `observation`."""
        top = peek(file.head)
        for value in (top, *peek_lines(file.head)[:1]):
            events = value.get("history") if isinstance(value, Mapping) else value
            first = events[0] if isinstance(events, list) and events else None
            first = first[0] if isinstance(first, list) and first else first
            if (
                isinstance(first, Mapping)
                and "source" in first
                and ("action" in first or "observation" in first)
            ):
                return 90
        return 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records run by run; `index` is the position of the event in its run."""
        for trace_index, (line, name, events, error) in enumerate(_runs(file, damage)):
            chat = _chat(events, line)
            if error:
                chat.append(_run_error(error, len(events) - 1, line))
            yield from guarded(
                chat_records(Run(file, trace_index, task_id=name), chat), file, damage, line=line
            )


_Found = tuple[int | None, str | None, list[Mapping[str, Any]], str | None]


def _runs(file: InputFile, damage: DamageReport) -> Iterator[_Found]:
    """Line, name, events and the run's own error, for each run."""
    if any("history" in line for line in peek_lines(file.head)[:1]) or file.head.lstrip()[:1] == b"{":
        for line, record in lines(file, damage):
            if isinstance(record, Mapping):
                name = str(record.get("instance_id") or "") or None
                yield line, name, _events(record.get("history")), text_of(record.get("error"))
        return
    yield None, None, _events(list(held(items(file, damage), file, damage))), None


def _events(history: Any) -> list[Mapping[str, Any]]:
    """The events in order; the oldest files pair each action with its observation."""
    flat: list[Any] = []
    for event in history if isinstance(history, list) else ():
        flat.extend(event if isinstance(event, list) else [event])
    return [event for event in flat if isinstance(event, Mapping)]


def _chat(events: Sequence[Mapping[str, Any]], line: int | None) -> list[ChatMessage]:
    chat: list[ChatMessage] = []
    calls: dict[Any, str] = {}
    responses: dict[str, int] = {}
    for index, event in enumerate(events):
        message = _observation(event, index, calls) if "observation" in event else _action(event, index)
        if message is None:
            continue
        message = replace(message, line=line, at_ns=iso_ns(event.get("timestamp")), step_key=str(index))
        if not has_zone(event.get("timestamp")):
            message = replace(message, attributes={**message.attributes, ASSUMED_ZONE: "UTC"})
        if message.calls and event.get("id") is not None:
            calls[event["id"]] = message.calls[0].call_id
        response = _response(event).get("id") if message.by_model else None
        if response in responses:
            place = responses[response]
            chat[place] = replace(chat[place], calls=chat[place].calls + message.calls)
            continue
        if response:
            responses[response] = len(chat)
        chat.append(message)
    return chat


def _response(event: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = event.get("tool_call_metadata")
    response = metadata.get("model_response") if isinstance(metadata, Mapping) else None
    return response if isinstance(response, Mapping) else {}


def _action(event: Mapping[str, Any], index: int) -> ChatMessage | None:
    action, arguments = str(event.get("action") or ""), event.get("args")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    if action in _TALK:
        text = text_of(arguments.get("content", event.get("message")))
        by_agent = event.get("source") == "agent" and action != "system"
        role = "assistant" if by_agent else "system" if action == "system" else "user"
        return ChatMessage(role=role, whole={"role": role, "content": text}, index=index, text=text)
    if not action or action == "change_agent_state":
        return None
    response = _response(event)
    choice = (response.get("choices") or [{}])[0]
    said = choice.get("message") if isinstance(choice, Mapping) else None
    said = said if isinstance(said, Mapping) else {}
    call = _call(event, action, arguments, said, index)
    by_model = event.get("source") == "agent"
    text = text_of(said.get("content")) or text_of(arguments.get("thought")) or None
    ended = Answer(call.call_id, arguments.get("outputs") or None) if action in _ENDS else None
    return ChatMessage(
        role="assistant",
        said=by_model,
        whole={
            "role": "assistant",
            "content": text,
            "tool_calls": [{"name": call.name, "arguments": call.arguments_raw}],
        },
        index=index,
        text=text,
        calls=(call,),
        answers=(ended,) if ended else (),
        model=response.get("model"),
        finish_reason=choice.get("finish_reason") if isinstance(choice, Mapping) else None,
        usage=usage_of(response.get("usage")),
    )


def _call(
    event: Mapping[str, Any], action: str, arguments: Mapping[str, Any], said: Mapping[str, Any], index: int
) -> ToolCall:
    """The call in the model's own words where the response is there, else the action with its arguments."""
    metadata = event.get("tool_call_metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    call_id = metadata.get("tool_call_id")
    for call in calls_of(said):
        if call.call_id == call_id:
            return call
    given = {key: value for key, value in arguments.items() if key not in _OWN_ARGUMENTS}
    name = str(metadata.get("function_name") or action)
    return ToolCall(str(call_id or f"event-{event.get('id', index)}"), name, json_text(given))


def _observation(event: Mapping[str, Any], index: int, calls: Mapping[Any, str]) -> ChatMessage | None:
    kind, content = str(event.get("observation") or ""), event.get("content")
    if kind in _NO_NEWS or not kind:
        return None
    extras = event.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    exit_code = _exit_code(event, extras)
    failed = kind == "error" or exit_code not in (None, 0)
    error_type = "error" if kind == "error" else "nonzero_exit" if failed else None
    facts: dict[str, Any] = {} if exit_code is None else {"exit_code": exit_code}
    if _raw_exit_code(event, extras) == -1:
        facts["still_running"] = True
    answer = Answer(
        calls.get(event.get("cause")),
        content,
        failed=failed,
        error_type=error_type,
        error_message=text_of(content) if failed else None,
        attributes=facts,
    )
    whole = {"role": "tool", "content": content}
    return ChatMessage(role="tool", whole=whole, index=index, text=text_of(content), answers=(answer,))


def _raw_exit_code(event: Mapping[str, Any], extras: Mapping[str, Any]) -> Any:
    metadata = extras.get("metadata")
    places = (metadata if isinstance(metadata, Mapping) else {}, extras, event)
    return next((place["exit_code"] for place in places if place.get("exit_code") is not None), None)


def _exit_code(event: Mapping[str, Any], extras: Mapping[str, Any]) -> int | None:
    """The command's exit code; -1 says that it still runs, which is none."""
    code = _raw_exit_code(event, extras)
    return code if isinstance(code, int) and code >= 0 else None


def _run_error(error: str, index: int, line: int | None) -> ChatMessage:
    kind, colon, _ = error.partition(":")
    return ChatMessage(
        role="event",
        whole={"error": error},
        index=index,
        line=line,
        name="run",
        event=StepStatus.ERROR,
        step_key="run-error",
        error_type=kind if colon and " " not in kind else "error",
        error_message=error,
    )


READER = OpenHandsReader()
