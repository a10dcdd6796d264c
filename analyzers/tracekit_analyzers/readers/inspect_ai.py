"""
Inspect AI logs: `.json`, or `.eval`, which is a zip with `header.json` and one file a sample. Each sample is a run.

The sample's messages are the conversation; its events add times, tokens and the model calls beside it (a grader's).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import chat_message, text_of, usage_of
from tracekit_analyzers.readers._run import Run, hex_id
from tracekit_analyzers.readers._source import guarded, never_silent, odd_is_not_ours, peek, whole
from tracekit_analyzers.readers._time import iso_ns
from tracekit_analyzers.readers._zip import json_entries

_ATTACHMENT = "attachment://"


class InspectReader:
    """Reads each sample of an evaluation as a run."""

    name = "inspect_ai"
    title = "Inspect AI evaluation log"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 for an archive with Inspect's entries or an object with `eval`, `status` and `plan`."""
        if file.head[:4] == b"PK\x03\x04":
            return (
                90
                if b"_journal/" in file.head or b"samples/" in file.head or b"header.json" in file.head
                else 0
            )
        top = peek(file.head)
        return 90 if isinstance(top, Mapping) and {"version", "status", "eval"} <= top.keys() else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records sample by sample, then the end of the evaluation when it did not end well."""
        header: Mapping[str, Any] = {}
        count = 0
        for name, value in _documents(file, damage):
            if name != "sample":
                header = value
                continue
            yield from guarded(_sample(file, count, value), file, damage, what=f"sample {count}")
            count += 1
        status = str(header.get("status") or "success")
        if status != "success" and not count:
            yield from chat_records(Run(file, count), [_eval_end(header, status)])


def _documents(file: InputFile, damage: DamageReport) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Samples and header, each as soon as it is read."""
    if file.head[:4] != b"PK\x03\x04":
        top = whole(file, damage)
        if isinstance(top, Mapping):
            yield from (
                ("sample", sample) for sample in top.get("samples") or () if isinstance(sample, Mapping)
            )
            yield "header", {key: value for key, value in top.items() if key != "samples"}
        return
    for name, value in json_entries(
        file, damage, lambda name: name == "header.json" or name.startswith("samples/")
    ):
        if isinstance(value, Mapping):
            yield "sample" if name.startswith("samples/") else "header", value


def _eval_end(header: Mapping[str, Any], status: str) -> ChatMessage:
    error = header.get("error")
    said = text_of(error.get("message")) if isinstance(error, Mapping) else None
    ended = StepStatus.ABANDONED if status in ("cancelled", "started") else StepStatus.ERROR
    return ChatMessage(
        role="event",
        whole={"status": status},
        index=0,
        name=str((header.get("eval") or {}).get("task") or "eval"),
        event=ended,
        error_type=status,
        error_message=said or f"the evaluation ended as {status} before any sample was done",
    )


def _sample(file: InputFile, number: int, sample: Mapping[str, Any]) -> Iterator[NativeRecord]:
    attached = sample.get("attachments")
    if isinstance(attached, Mapping) and attached:
        sample = {**_resolved(dict(sample), attached), "attachments": {}}
    uuid = sample.get("uuid")
    task = f"{sample.get('id')}/epoch-{sample.get('epoch')}"
    run = Run(file, number, trace_id=hex_id(32, "inspect", uuid) if uuid else None, task_id=task)
    events = [event for event in sample.get("events") or () if isinstance(event, Mapping)]
    facts, tools = _facts(events), _tool_facts(events)
    messages = [message for message in sample.get("messages") or () if isinstance(message, Mapping)]
    chat = [_message(message, index, facts, tools) for index, message in enumerate(messages)]
    chat += _ends(sample, max(len(chat) - 1, 0))
    yield from chat_records(run, chat)
    known = {message.get("id") for message in messages}
    for place, event in enumerate(events):
        if event.get("event") == "model" and _output_message(event).get("id") not in known:
            yield from chat_records(run, _beside(event, place))


def _resolved(value: Any, attached: Mapping[str, Any]) -> Any:
    """*value* with every `attachment://hash` replaced by the text that it stands for."""
    if isinstance(value, str):
        return (
            attached.get(value.removeprefix(_ATTACHMENT), value) if value.startswith(_ATTACHMENT) else value
        )
    if isinstance(value, list):
        return [_resolved(item, attached) for item in value]
    if isinstance(value, dict):
        return {
            key: item if key == "attachments" else _resolved(item, attached) for key, item in value.items()
        }
    return value


def _output_message(event: Mapping[str, Any]) -> Mapping[str, Any]:
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    message = choices[0].get("message") if isinstance(choices, list) and choices else None
    return message if isinstance(message, Mapping) else {}


def _facts(events: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The model event of each message, by the message's id."""
    return {
        str(_output_message(e).get("id")): e
        for e in events
        if e.get("event") == "model" and _output_message(e)
    }


def _tool_facts(events: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The tool event of each call, by the call's id."""
    return {str(event["id"]): event for event in events if event.get("event") == "tool" and event.get("id")}


def _message(
    raw: Mapping[str, Any],
    index: int,
    facts: Mapping[str, Mapping[str, Any]],
    tools: Mapping[str, Mapping[str, Any]],
) -> ChatMessage:
    message = chat_message(raw, index)
    if message.role == "tool":
        ran = tools.get(str(raw.get("tool_call_id")), {})
        return replace(message, answers=(_answer(raw, ran),), at_ns=iso_ns(ran.get("completed")))
    event = facts.get(str(raw.get("id")))
    return _timed(message, event) if event is not None else message


def _timed(message: ChatMessage, event: Mapping[str, Any]) -> ChatMessage:
    """*message* with what its model event says about the call."""
    output = event.get("output") or {}
    choice = (output.get("choices") or [{}])[0]
    error = text_of(event.get("error"))
    began = iso_ns(event.get("timestamp"))
    return replace(
        message,
        model=message.model or output.get("model") or event.get("model"),
        usage=usage_of(output.get("usage")),
        finish_reason=choice.get("stop_reason"),
        began_ns=began,
        at_ns=iso_ns(event.get("completed")) or began,
        failed=error is not None,
        error_type="error" if error else None,
        error_message=error,
    )


def _answer(raw: Mapping[str, Any], event: Mapping[str, Any]) -> Answer:
    told = raw.get("error")
    error: Mapping[str, Any] | None = told if isinstance(told, Mapping) else None
    return Answer(
        str(raw.get("tool_call_id") or "") or None,
        text_of(raw.get("content")),
        name=raw.get("function"),
        failed=error is not None,
        error_type=str(error.get("type") or "error") if error else None,
        error_message=text_of(error.get("message")) if error else None,
        began_ns=iso_ns(event.get("timestamp")),
        at_ns=iso_ns(event.get("completed")),
    )


def _ends(sample: Mapping[str, Any], index: int) -> Iterator[ChatMessage]:
    """Steps for an error or a limit that ended the sample."""
    error, limit = sample.get("error"), sample.get("limit")
    if isinstance(error, Mapping):
        said = text_of(error.get("message"))
        yield _end("sample", "error", said, index)
    if isinstance(limit, Mapping):
        yield _end(
            "limit",
            f"limit_{limit.get('type')}",
            f"the sample reached its limit of {limit.get('limit')}",
            index,
        )


def _end(name: str, error_type: str, said: str | None, index: int) -> ChatMessage:
    return ChatMessage(
        role="event",
        whole={"error": said},
        index=index,
        name=name,
        step_key=f"end-{name}",
        event=StepStatus.ERROR,
        error_type=error_type,
        error_message=said,
    )


def _beside(event: Mapping[str, Any], place: int) -> list[ChatMessage]:
    """A model call that is no part of the sample's conversation: what it was sent, and its answer."""
    sent = [m for m in event.get("input") or () if isinstance(m, Mapping)]
    chat = [replace(chat_message(message, place), said=False, calls=(), answers=()) for message in sent]
    reply = _timed(
        chat_message({"role": "assistant", "content": None, **_output_message(event)}, place), event
    )
    return [
        *chat,
        replace(reply, step_key=f"event-{place}", fate_elsewhere=True, attributes={"event_index": place}),
    ]


READER = InspectReader()
