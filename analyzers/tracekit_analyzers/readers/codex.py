"""
Codex CLI rollouts: JSON Lines `{"timestamp", "type", "payload"}`.

Every message stands there twice, as `response_item` and as `event_msg`; the items are read. What comes between two
answers of tools or people is one response of the model, with the token counts told just before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus, ToolCall, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, Spot, chat_records
from tracekit_analyzers.readers._openai import role_of, text_of, usage_of
from tracekit_analyzers.readers._run import Run, json_text, parsed
from tracekit_analyzers.readers._source import held, lines, never_silent, odd_is_not_ours, peek_lines
from tracekit_analyzers.readers._spans import span_ids
from tracekit_analyzers.readers._time import iso_ns

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})

_NOT_EXECUTED = re.compile(
    r"failed in sandbox|execution error: |patch rejected by user|exec_command failed|aborted by user"
)
"""How the program opens its answer to a call that it did not run; no command's output stands there."""

_EXIT_CODE = re.compile(r"(?:\A|\n)(?:Exit code: |Process exited with code )(-?\d+)\n")
"""Where newer versions, which answer in text, put the exit code: in the lines before the output."""


class CodexReader:
    """Reads a rollout as one run."""

    name = "codex"
    title = "Codex CLI rollout"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the lines of the head are `timestamp`, `type`, `payload`."""
        found = peek_lines(file.head)[:5]
        known = [
            line for line in found if line.get("type") in _TYPES and isinstance(line.get("payload"), Mapping)
        ]
        return 90 if known and len(known) == len(found) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records in the file's order."""
        session: str | None = None
        chat: list[ChatMessage] = []
        told: list[ChatMessage] = []
        usage: Usage | None = None
        model: str | None = None
        for index, (line, record) in enumerate(held(lines(file, damage), file, damage)):
            payload = record.get("payload") if isinstance(record, Mapping) else None
            if not isinstance(payload, Mapping):
                damage.bad(
                    file=file.name, line=line, offset=None, reason="no_payload", data=str(record)[:200]
                )
                continue
            if record.get("type") == "session_meta":
                session = session or payload.get("id")
            model = payload.get("model") if record.get("type") == "turn_context" else model
            usage = _usage(payload) or usage
            message = _message(record, payload, index, line)
            if message is None:
                told += _told(record, payload, index, line)
                continue
            if message.by_model:
                message, usage = replace(message, usage=usage, model=model), None
            _add(chat, message)
        trace_id = span_ids(session.replace("-", ""), 32) if session else None
        yield from chat_records(Run(file, trace_id=trace_id, task_id=session), chat or told)


def _usage(payload: Mapping[str, Any]) -> Usage | None:
    info = payload.get("info") if payload.get("type") == "token_count" else None
    return usage_of(info.get("last_token_usage")) if isinstance(info, Mapping) else None


def _add(chat: list[ChatMessage], message: ChatMessage) -> None:
    """Add *message*, joined to the one before when both are parts of one response."""
    before = chat[-1] if chat else None
    if before is None or not (before.by_model and message.by_model) or message.usage is not None:
        chat.append(message)
        return
    texts = [text for text in (before.text, message.text) if text]
    chat[-1] = replace(
        message,
        whole={"role": "assistant", "items": [*_items(before.whole), *_items(message.whole)]},
        text="\n".join(texts) if texts else None,
        calls=before.calls + message.calls,
        spots=before.spots + message.spots,
        usage=before.usage,
        began_ns=before.began_ns,
    )


def _items(whole: Mapping[str, Any]) -> list[Any]:
    items = whole.get("items")
    return items if isinstance(items, list) else [whole]


def _message(
    record: Mapping[str, Any], payload: Mapping[str, Any], index: int, line: int
) -> ChatMessage | None:
    """What one line adds to the conversation; None for those that repeat another or only tell the program's state."""
    at_ns, kind = iso_ns(record.get("timestamp")), payload.get("type")
    here = ChatMessage(role="", whole=payload, index=index, line=line, at_ns=at_ns)
    if record.get("type") == "event_msg" and kind in ("turn_aborted", "error", "stream_error"):
        status = StepStatus.ABANDONED if kind == "turn_aborted" else StepStatus.ERROR
        said = str(payload.get("reason") or payload.get("message") or "") or None
        error = "aborted" if kind == "turn_aborted" else str(kind)
        return replace(here, role="event", name=str(kind), event=status, error_type=error, error_message=said)
    if record.get("type") == "compacted":
        return replace(here, role="user", text=text_of(payload.get("message")), forgets=True)
    if record.get("type") != "response_item":
        return None
    if kind == "message":
        role = role_of(payload)
        return replace(here, role=role, text=text_of(payload.get("content")))
    if kind in _CALLS:
        return replace(here, role="assistant", calls=(_call(payload),), spots=(Spot(index, line, at_ns),))
    if kind in _OUTPUTS:
        return replace(here, role="tool", text=text_of(payload.get("output")), answers=(_answer(payload),))
    return None


def _told(
    record: Mapping[str, Any], payload: Mapping[str, Any], index: int, line: int
) -> Iterator[ChatMessage]:
    """The message that an event tells; it counts only in a file that has no items."""
    role = {"user_message": "user", "agent_message": "assistant"}.get(str(payload.get("type")))
    if record.get("type") == "event_msg" and role is not None:
        text = text_of(payload.get("message"))
        whole = {"role": role, "content": text}
        at_ns = iso_ns(record.get("timestamp"))
        yield ChatMessage(role=role, whole=whole, index=index, line=line, text=text, at_ns=at_ns)


def _call(payload: Mapping[str, Any]) -> ToolCall:
    arguments = next(
        (payload[key] for key in ("arguments", "input", "action") if payload.get(key) is not None), ""
    )
    raw = arguments if isinstance(arguments, str) else json_text(arguments)
    name = payload.get("name") or ("local_shell" if payload["type"] == "local_shell_call" else "")
    return ToolCall(str(payload.get("call_id") or payload.get("id") or ""), str(name), raw)


def _answer(payload: Mapping[str, Any]) -> Answer:
    """The answer of a call: its output, and the exit code where there is one."""
    output = payload.get("output")
    boxed = parsed(output) if isinstance(output, str) and output[:1] == "{" else output
    metadata = boxed.get("metadata") if isinstance(boxed, Mapping) else None
    value, facts = output, {}
    if isinstance(metadata, Mapping) and isinstance(boxed, Mapping) and "output" in boxed:
        value, facts = boxed["output"], dict(metadata)
    elif isinstance(output, str) and (match := _EXIT_CODE.search(output[:400])):
        facts = {"exit_code": int(match.group(1))}
    refused = isinstance(output, str) and _NOT_EXECUTED.match(output) is not None
    failed = refused or facts.get("exit_code") not in (None, 0)
    kind = "not_executed" if refused else "nonzero_exit"
    return Answer(
        str(payload.get("call_id") or "") or None,
        value,
        failed=failed,
        error_type=kind if failed else None,
        error_message=text_of(value) if failed else None,
        attributes=facts,
    )


READER = CodexReader()
