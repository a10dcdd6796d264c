"""TapeAgents' SQLite store: tables `LLMCalls` (prompts and raw outputs) and `Tapes`, joined on the prompt id."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import Usage
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import ChatMessage, chat_records
from tracekit_analyzers.readers._openai import chat_message
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._source import never_silent, odd_is_not_ours
from tracekit_analyzers.readers._sqlite import opened, tables
from tracekit_analyzers.readers._time import ASSUMED_ZONE, has_zone, iso_ns
from tracekit_analyzers.readers.tapeagents import tape_records

_CALLS = """
    select prompt_id, timestamp, prompt, output, prompt_length_tokens, output_length_tokens
    from LLMCalls order by timestamp, prompt_id
"""
_TAPES = "select tape_id, metadata, context, steps from Tapes order by timestamp, tape_id"


class TapeAgentsSqliteReader:
    """Reads the tapes of a store, and as one more run the model calls that belong to no tape."""

    name = "tapeagents_sqlite"
    title = "TapeAgents SQLite store"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """95 when the file has the two tables."""
        return 95 if {"LLMCalls", "Tapes"} <= tables(file) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records tape by tape, then the calls without a tape; `index` is the row's position."""
        try:
            with opened(file.path) as con:
                yield from _store(file, con, damage)
        except sqlite3.Error as error:
            damage.bad(file=file.name, line=None, offset=None, reason=f"sqlite: {error}", data=file.head[:80])


def _store(file: InputFile, con: sqlite3.Connection, damage: DamageReport) -> Iterator[NativeRecord]:
    calls: dict[str, tuple[list[ChatMessage], ChatMessage]] = {}
    for index, (prompt_id, at, prompt, output, sent, said) in enumerate(con.execute(_CALLS)):
        damage.counted(1)
        messages = _json(prompt).get("messages") or ()
        inputs = [replace(chat_message(m, index), said=False, calls=(), answers=()) for m in messages]
        reply = replace(
            chat_message({"role": "assistant", "content": None, **_json(output)}, index),
            step_key=prompt_id,
            at_ns=iso_ns(at),
            usage=Usage(sent, said),
            fate_elsewhere=True,
            attributes={} if has_zone(at) else {ASSUMED_ZONE: "UTC"},
        )
        calls[prompt_id] = (inputs, reply)
    used: set[str] = set()
    count = 0
    for count, (tape_id, metadata, context, steps) in enumerate(con.execute(_TAPES), start=1):
        damage.counted(1)
        tape = {
            "metadata": {"id": tape_id, **_json(metadata)},
            "context": context,
            "steps": json.loads(steps or "[]"),
        }
        used |= {str((step.get("metadata") or {}).get("prompt_id")) for step in tape["steps"]}
        yield from tape_records(file, count - 1, tape, {key: reply for key, (_, reply) in calls.items()})
    run = Run(file, count)
    for prompt_id, (inputs, reply) in calls.items():
        if prompt_id not in used:
            yield from chat_records(run, [*inputs, reply])


def _json(text: Any) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


READER = TapeAgentsSqliteReader()
