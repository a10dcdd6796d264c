"""
The stream between Claude's agent SDK and its command line: recorded both ways, or `--output-format stream-json` lines.

`{"metadata", "messages": [{"direction", "message"}]}`, or one message a line with a `session_id`. Control messages are
the program's own talk and are passed over; the closing `result` is a step with the outcome that the program states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.model import StepKind, StepStatus, Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import usage_field
from tracekit_analyzers.readers._claude import Entry, conversation_records
from tracekit_analyzers.readers._openai import money
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._source import (
    held,
    lines,
    never_silent,
    odd_is_not_ours,
    peek,
    peek_lines,
    whole,
)
from tracekit_analyzers.readers._spans import span_ids

_TYPES = frozenset({"system", "assistant", "user", "result"})


class AgentSdkStreamReader:
    """Reads a recorded stream as one run."""

    name = "agent_sdk_stream"
    title = "Claude Agent SDK stream"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 for a recording with directions, 85 for stream-json lines."""
        top = peek(file.head)
        messages = top.get("messages") if isinstance(top, Mapping) else None
        first = messages[0] if isinstance(messages, list) and messages else None
        if isinstance(first, Mapping) and "direction" in first and "message" in first:
            return 90
        return 85 if any(_in_stream(line) for line in peek_lines(file.head)[:3]) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the stream's messages in their order."""
        found = [(i, n, m) for i, n, m in _messages(file, damage) if m.get("type") in _TYPES]
        session = next(
            (m["session_id"] for _, _, m in reversed(found) if isinstance(m.get("session_id"), str)), None
        )
        trace_id = span_ids(session.replace("-", ""), 32) if session else None
        run = Run(file, trace_id=trace_id, task_id=session)
        entries = [
            Entry(message, index, line, message.get("parent_tool_use_id") or "")
            for index, line, message in found
            if message["type"] in ("assistant", "user")
        ]
        starters = {entry.thread: entry.thread for entry in entries if entry.thread}
        yield from conversation_records(run, entries, starters)
        for index, line, message in found:
            if message["type"] == "result":
                yield _result(run, message, index, line)


def _in_stream(line: Mapping[str, Any]) -> bool:
    return "session_id" in line and line.get("type") in _TYPES and "sessionId" not in line


def _messages(file: InputFile, damage: DamageReport) -> Iterator[tuple[int, int | None, Mapping[str, Any]]]:
    """Position, line and message, whichever way the stream was kept."""
    if any(_in_stream(line) for line in peek_lines(file.head)[:3]):
        for index, (line, value) in enumerate(held(lines(file, damage), file, damage)):
            if isinstance(value, Mapping):
                yield index, line, value
        return
    top = whole(file, damage) or {}
    for index, item in enumerate(top.get("messages") or ()):
        message = item.get("message") if isinstance(item, Mapping) else None
        if isinstance(message, Mapping):
            yield index, None, message


def _result(run: Run, message: Mapping[str, Any], index: int, line: int | None) -> NativeRecord:
    failed = message.get("is_error") is True
    kept = ("subtype", "num_turns", "duration_ms", "duration_api_ms", "total_cost_usd", "stop_reason")
    return run.step(
        StepKind.AGENT,
        "result",
        status=StepStatus.ERROR if failed else StepStatus.OK,
        index=index,
        line=line,
        step_id=run.step_id("result", index),
        output_snapshot=message.get("result"),
        usage=usage_field(Usage(cost=money(message.get("total_cost_usd")))),
        error_type=str(message.get("subtype") or "error") if failed else None,
        error_message=str(message.get("result") or message.get("errors") or "") or None if failed else None,
        attributes={key: message[key] for key in kept if key in message},
    )


READER = AgentSdkStreamReader()
