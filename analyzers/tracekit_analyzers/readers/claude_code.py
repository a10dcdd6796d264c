"""
Claude Code session files: JSON Lines with `sessionId`, `uuid`, `parentUuid` and an Anthropic message in each.

Sub-agents stand in the same file as side chains, or in files of their own with an `agentId`; each is an agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._claude import Entry, conversation_records, starter_of
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._source import held, lines, never_silent, odd_is_not_ours, peek_lines
from tracekit_analyzers.readers._spans import span_ids

_WITH_MESSAGES = frozenset({"user", "assistant", "system"})


@dataclass(frozen=True, slots=True)
class _Line:
    record: Mapping[str, Any]
    index: int
    """0-based position among the records of the file, those without a message included."""
    number: int


class ClaudeCodeReader:
    """Reads a session; one file may hold several."""

    name = "claude_code"
    title = "Claude Code session"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when a line of the head has session, uuid and type."""
        for line in peek_lines(file.head):
            if "sessionId" in line and "uuid" in line and "type" in line:
                return 90
        kinds = {line.get("type") for line in peek_lines(file.head)}
        return 70 if kinds and kinds <= {"summary", "file-history-snapshot", "queue-operation"} else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records session by session; the whole of a session is held, since answers come in later lines."""
        sessions: dict[str, list[_Line]] = {}
        for index, (number, record) in enumerate(held(lines(file, damage), file, damage)):
            if not isinstance(record, Mapping):
                damage.bad(
                    file=file.name, line=number, offset=None, reason="not_object", data=str(record)[:200]
                )
            elif record.get("type") in _WITH_MESSAGES and isinstance(record.get("sessionId"), str):
                sessions.setdefault(record["sessionId"], []).append(_Line(record, index, number))
        for trace_index, (session, records) in enumerate(sessions.items()):
            run = Run(file, trace_index, trace_id=span_ids(session.replace("-", ""), 32), task_id=session)
            yield from _session(run, records)


def _session(run: Run, found: list[_Line]) -> Iterator[NativeRecord]:
    threads = _threads(found)
    entries = [
        Entry(line.record, line.index, line.number, threads.get(line.record.get("uuid", ""), ""))
        for line in found
    ]
    starters: dict[str, str] = {}
    used: set[str] = set()
    for entry in entries:
        if entry.thread and entry.thread not in starters:
            prompt = (entry.record.get("message") or {}).get("content")
            starter = starter_of(entries, prompt, used)
            if starter is not None:
                starters[entry.thread] = starter
                used.add(starter)
    yield from conversation_records(run, entries, starters)


def _threads(lines_found: list[_Line]) -> dict[str, str]:
    """The side chain that each record belongs to, by uuid: its agent's id, or the record that the chain begins with."""
    found: dict[str, str] = {}
    for line in lines_found:
        record = line.record
        if record.get("isSidechain") is not True:
            continue
        uuid = str(record.get("uuid"))
        above = found.get(str(record.get("parentUuid") or ""))
        found[uuid] = str(record.get("agentId") or above or f"sidechain-{uuid[:8]}")
    return found


READER = ClaudeCodeReader()
