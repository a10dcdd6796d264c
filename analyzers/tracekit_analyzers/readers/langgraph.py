"""
LangGraph checkpoints in SQLite: tables `checkpoints` and `writes`, one chain of states for each thread.

A message counts from the checkpoint that first holds it; what the model was sent is the state before, as far as it is
known: a node may add instructions or leave messages out. Nodes that wrote something else are steps of their own.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus, ToolCall
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._msgpack import unpack
from tracekit_analyzers.readers._openai import text_of, usage_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import never_silent, odd_is_not_ours
from tracekit_analyzers.readers._sqlite import opened, tables
from tracekit_analyzers.readers._time import iso_ns

_CHECKPOINTS = """
    select thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata
    from checkpoints order by thread_id, checkpoint_ns, checkpoint_id
"""
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system", "function": "tool"}
_CLASSES = {"HumanMessage": "human", "AIMessage": "ai", "ToolMessage": "tool", "SystemMessage": "system"}


class LangGraphReader:
    """Reads each thread of a checkpoint database as a run."""

    name = "langgraph"
    title = "LangGraph checkpoints (SQLite)"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """95 when the file has the two tables."""
        return 95 if {"checkpoints", "writes"} <= tables(file) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records thread by thread; `index` is the position of the checkpoint in its thread."""
        try:
            with opened(file.path) as con:
                yield from _threads(file, con, damage)
        except sqlite3.Error as error:
            damage.bad(file=file.name, line=None, offset=None, reason=f"sqlite: {error}", data=file.head[:80])


def _threads(file: InputFile, con: sqlite3.Connection, damage: DamageReport) -> Iterator[NativeRecord]:
    current: tuple[str, str] | None = None
    thread = _Thread()
    count = 0
    for thread_id, namespace, checkpoint_id, kind, checkpoint, metadata in con.execute(_CHECKPOINTS):
        damage.counted(1)
        if current is not None and (thread_id, namespace) != current:
            yield from chat_records(_run(file, count, *current), thread.chat, complete=False)
            thread, count = _Thread(), count + 1
        current = (thread_id, namespace)
        try:
            state = _value(kind, checkpoint)
            thread.add(state, _value("json", metadata))
        except (ValueError, AttributeError, TypeError) as error:
            reason = f"not_read checkpoint {checkpoint_id} of type {kind}: {error}"
            damage.bad(
                file=file.name, line=None, offset=None, reason=reason, data=bytes(checkpoint or b"")[:80]
            )
    if current is not None:
        yield from chat_records(_run(file, count, *current), thread.chat, complete=False)


def _run(file: InputFile, number: int, thread_id: str, namespace: str) -> Run:
    return Run(file, number, task_id=f"{thread_id}/{namespace}" if namespace else thread_id)


def _value(kind: Any, data: Any) -> Any:
    if data is None:
        return {}
    raw = data if isinstance(data, bytes) else str(data).encode()
    return unpack(raw) if kind == "msgpack" else json.loads(raw)


class _Thread:
    """The conversation of one thread, as its checkpoints tell it."""

    def __init__(self) -> None:
        self.chat: list[ChatMessage] = []
        self._places: dict[str, int] = {}
        self._before: tuple[int, ...] = ()
        self._index = -1

    def add(self, state: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Add what the next checkpoint has and those before it had not."""
        self._index += 1
        at_ns = iso_ns(state.get("ts"))
        channels = state.get("channel_values") or {}
        messages = channels.get("messages") or []
        places = []
        for raw in messages if isinstance(messages, list) else ():
            fields = _fields(raw)
            key = str(fields.get("id") or json_text(fields))
            if key not in self._places:
                self._places[key] = len(self.chat)
                self.chat.append(replace(_message(fields, self._index, key), at_ns=at_ns, sent=self._before))
            places.append(self._places[key])
        self._before = tuple(places)
        for node, written in (metadata.get("writes") or {}).items() if isinstance(metadata, Mapping) else ():
            others = (
                {k: v for k, v in written.items() if k != "messages"} if isinstance(written, Mapping) else {}
            )
            if others and metadata.get("source") == "loop":
                self.chat.append(_node(node, others, self._index, at_ns))


def _fields(raw: Any) -> Mapping[str, Any]:
    """Fields of a LangChain message, out of its constructor where it stands as one."""
    if not isinstance(raw, Mapping):
        return {"type": "human", "content": raw}
    kwargs = raw.get("kwargs")
    if not isinstance(kwargs, Mapping):
        return raw
    name = (raw.get("id") or [""])[-1]
    return {"type": _CLASSES.get(str(name), "human"), **kwargs}


def _message(fields: Mapping[str, Any], index: int, key: str) -> ChatMessage:
    role = _ROLES.get(str(fields.get("type") or fields.get("role")), str(fields.get("role") or "user"))
    told = fields.get("response_metadata") or {}
    calls = tuple(
        ToolCall(str(call.get("id") or ""), str(call.get("name") or ""), json_text(call.get("args")))
        for call in fields.get("tool_calls") or ()
        if isinstance(call, Mapping)
    )
    failed = fields.get("status") == "error"
    text = text_of(fields.get("content"))
    answer = Answer(
        fields.get("tool_call_id"),
        fields.get("content"),
        name=fields.get("name"),
        failed=failed,
        error_type="tool_error" if failed else None,
        error_message=text if failed else None,
    )
    kept = ("content", "name", "tool_calls", "tool_call_id", "id")
    return ChatMessage(
        role=role,
        whole={"role": role, **{name: fields[name] for name in kept if fields.get(name)}},
        index=index,
        text=text,
        calls=calls if role == "assistant" else (),
        answers=(answer,) if role == "tool" else (),
        step_key=key,
        model=told.get("model") or told.get("model_name"),
        finish_reason=told.get("stop_reason") or told.get("finish_reason"),
        usage=usage_of(fields.get("usage_metadata")) or usage_of(told.get("usage")),
    )


def _node(node: str, written: Mapping[str, Any], index: int, at_ns: int | None) -> ChatMessage:
    return ChatMessage(
        role="event",
        whole={"node": node},
        index=index,
        name=node,
        text=json_text(written),
        event=StepStatus.OK,
        step_key=f"node-{index}-{node}",
        at_ns=at_ns,
    )


READER = LangGraphReader()
