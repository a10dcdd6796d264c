"""
Gemini CLI sessions: one object `{"sessionId", "messages": [{"type": "user"|"gemini", "toolCalls"}]}`.

A call and its result are one object. The time of a call is when the user approved it, so it has no duration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.model import StepStatus, ToolCall, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import text_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._spans import span_ids
from tracekit_analyzers.readers._time import iso_ns

_STATUS = {"success": StepStatus.OK, "error": StepStatus.ERROR, "cancelled": StepStatus.SKIPPED}
_ROLES = {"user": "user", "gemini": "assistant"}


class GeminiCliReader:
    """Reads a session as one run."""

    name = "gemini_cli"
    title = "Gemini CLI session"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the top object has `sessionId`, `projectHash` and `messages`."""
        top = peek(file.head)
        return (
            90 if isinstance(top, Mapping) and {"sessionId", "projectHash", "messages"} <= top.keys() else 0
        )

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records in the order of the messages."""
        for trace_index, session in enumerate(items(file, damage)):
            name = str(session.get("sessionId") or "") or None
            trace_id = span_ids(name.replace("-", ""), 32) if name else None
            run = Run(file, trace_index, trace_id=trace_id, task_id=name)
            messages = session.get("messages") or ()
            yield from chat_records(run, [_message(raw, index) for index, raw in enumerate(messages)])


def _message(raw: Mapping[str, Any], index: int) -> ChatMessage:
    role = _ROLES.get(str(raw.get("type")), "system")
    calls = [call for call in raw.get("toolCalls") or () if isinstance(call, Mapping)]
    failed = raw.get("type") == "error"
    text = text_of(raw.get("content"))
    return ChatMessage(
        role=role,
        whole=raw,
        index=index,
        text=text,
        calls=tuple(_call(call) for call in calls),
        answers=tuple(_answer(call) for call in calls if call.get("status") in _STATUS or call.get("result")),
        step_key=raw.get("id"),
        at_ns=iso_ns(raw.get("timestamp")),
        model=raw.get("model"),
        usage=_usage(raw.get("tokens")),
        name="error" if failed else None,
        event=StepStatus.ERROR if failed else None,
        error_type="error" if failed else None,
        error_message=text if failed else None,
    )


def _usage(tokens: Any) -> Usage | None:
    if not isinstance(tokens, Mapping):
        return None
    said = [tokens.get(key) or 0 for key in ("output", "thoughts")]
    return Usage(input_tokens=tokens.get("input"), output_tokens=sum(said))


def _call(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(str(call.get("id") or ""), str(call.get("name") or ""), json_text(call.get("args")))


def _answer(call: Mapping[str, Any]) -> Answer:
    status = _STATUS.get(str(call.get("status")))
    response = _response(call.get("result"))
    error = response.get("error") if isinstance(response, Mapping) else None
    failed = status is StepStatus.ERROR
    value = (
        response["output"] if isinstance(response, Mapping) and response.keys() == {"output"} else response
    )
    return Answer(
        str(call.get("id") or "") or None,
        value,
        name=call.get("name"),
        status=status,
        error_type="error" if failed else "cancelled" if status is StepStatus.SKIPPED else None,
        error_message=(text_of(error) or text_of(call.get("resultDisplay"))) if failed else None,
    )


def _response(result: Any) -> Any:
    """What came back: the function's response where there is one, else the whole result."""
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], Mapping):
        inner = result[0].get("functionResponse")
        if isinstance(inner, Mapping):
            return inner.get("response")
    return result


READER = GeminiCliReader()
