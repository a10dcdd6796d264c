"""The two lines of a step, built from what it was given; docs/log-format.md says what each field means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from tracekit.config import Settings
from tracekit.model import ContextRef, StepKind, StepStatus, ToolCall, Usage
from tracekit.recording.failure import error_fields
from tracekit.recording.identity import ProcessIdentity
from tracekit.recording.spans import StepRef
from tracekit.recording.values import Values, plain_name

NOT_GIVEN: Final[Any] = ...
"""Stands for an input or output that was not told; None is a value."""


class StepStart(NamedTuple):
    """What is known of a step when it starts."""

    kind: StepKind
    name: str
    task_id: str | None = None
    attempt: int = 1
    tool_name: str | None = None
    call_id: str | None = None
    input: Any = NOT_GIVEN
    raw: str | None = None
    messages: Sequence[Mapping[str, Any]] | None = None
    context_complete: bool = True
    depends_on: tuple[str, ...] = ()
    effect: Mapping[str, Any] | None = None
    tries: int = 1
    reinfers: int = 0
    checkpoint: str | None = None
    agent: str | None = None
    model: str | None = None
    attributes: Mapping[str, Any] | None = None


class StepEnd(NamedTuple):
    """What is known of a step when it ends; None leaves what the start said."""

    status: StepStatus
    output: Any = NOT_GIVEN
    raw: str | None = None
    error: BaseException | None = None
    usage: Usage | Mapping[str, Any] | None = None
    model: str | None = None
    finish_reason: str | None = None
    asked: Sequence[ToolCall | Mapping[str, Any]] | None = None
    effect: Mapping[str, Any] | None = None
    checkpoint: str | None = None
    tries: int | None = None
    reinfers: int | None = None
    attributes: Mapping[str, Any] | None = None
    input: Any = NOT_GIVEN


def with_safe_names(start: StepStart, values: Values) -> StepStart:
    """*start* with secrets marked in every name: names go into the line and into the span."""
    safe = values.safe_name
    name, task_id, tool_name = start.name, start.task_id, start.tool_name
    call_id, agent, model = start.call_id, start.agent, start.model
    names = (
        safe(name),
        task_id and safe(task_id),
        tool_name and safe(tool_name),
        call_id and safe(call_id),
        agent and safe(agent),
        model and safe(model),
    )
    if names == (name, task_id, tool_name, call_id, agent, model):
        return start
    return start._replace(
        name=names[0], task_id=names[1], tool_name=names[2], call_id=names[3], agent=names[4], model=names[5]
    )


def fixed_fields(
    ref: StepRef,
    parent: StepRef | None,
    seq: int,
    started_at: str,
    start: StepStart,
    who: ProcessIdentity,
    values: Values,
) -> dict[str, Any]:
    """What both lines of a step say alike, ready to be written; fields that are not known are left out."""
    line: dict[str, Any] = {
        "record": "step",
        "trace_id": ref.trace_id,
        "step_id": ref.step_id,
        "parent_step_id": parent.step_id if parent else None,
        "seq": seq,
        "attempt": start.attempt,
        "process_id": who.process_id,
        "pid": who.pid,
        "kind": start.kind.value,
        "name": values.label(start.name),
        "started_at": started_at,
    }
    if start.task_id is not None:
        line["task_id"] = values.label(start.task_id)
    if start.tool_name is not None:
        line["tool_name"] = values.label(start.tool_name)
    if start.call_id is not None:
        line["call_id"] = values.fragment(plain_name(start.call_id))
    if start.agent is not None:
        line["agent"] = values.label(start.agent)
    if start.depends_on:
        line["depends_on"] = start.depends_on
    return line


def start_line(
    fixed: Mapping[str, Any],
    start: StepStart,
    attributes: orjson.Fragment | None,
    context: ContextRef | None,
    options: Settings,
    values: Values,
) -> dict[str, Any]:
    """The line that is written when a step starts."""
    line = {**fixed, "status": "running"}
    _add_changing(line, start, attributes, values)
    if start.input is not NOT_GIVEN and options.capture_input:
        line["input_snapshot"] = values.fragment(start.input)
    if start.raw is not None and options.capture_input:
        line["model_raw_output"] = values.fragment(start.raw)
    if context is not None:
        line["context"] = context_object(context)
    return line


def end_line(
    fixed: Mapping[str, Any],
    end: StepEnd,
    attributes: orjson.Fragment | None,
    options: Settings,
    values: Values,
) -> dict[str, Any]:
    """The line that is written when a step ends, times excepted; *end* holds what changed since the start."""
    line = {**fixed, "status": end.status.value}
    _add_changing(line, end, attributes, values)
    if end.input is not NOT_GIVEN and options.capture_input:
        line["input_snapshot"] = values.fragment(end.input)
    if end.output is not NOT_GIVEN and options.capture_output:
        line["output_snapshot"] = values.fragment(end.output)
    if end.raw is not None and options.capture_output:
        line["model_raw_output"] = values.fragment(end.raw)
    if end.finish_reason is not None:
        line["finish_reason"] = values.label(end.finish_reason)
    if end.asked is not None:
        line["asked"] = values.fragment([asked_object(call, options) for call in end.asked])
    if end.usage is not None:
        line["usage"] = values.fragment(usage_object(end.usage))
    if end.error is not None:
        line |= error_fields(end.error, options, values)
    return line


def lost_line(
    known: Mapping[str, Any],
    output: Any,
    error: BaseException | None,
    effect: Mapping[str, Any] | None,
    attributes: Mapping[str, Any],
    finished_at: str,
    options: Settings,
    values: Values,
) -> dict[str, Any]:
    """The end line of a step that another process began and did not live to end."""
    line = {"record": "step", **{name: value for name, value in known.items() if value is not None}}
    if output is not NOT_GIVEN and options.capture_output:
        line["output_snapshot"] = values.fragment(output)
    if effect is not None:
        line["effect"] = values.fragment(effect)
    if error is not None:
        line |= error_fields(error, options, values)
    return {**line, "attributes": values.fragment(attributes), "finished_at": finished_at}


def _add_changing(
    line: dict[str, Any], known: StepStart | StepEnd, attributes: orjson.Fragment | None, values: Values
) -> None:
    """Fields that both ends of a step may tell, the end better."""
    line["tries"] = known.tries
    line["reinfers"] = known.reinfers
    if known.model is not None:
        line["model"] = values.label(known.model)
    if known.checkpoint is not None:
        line["checkpoint"] = known.checkpoint
    if known.effect is not None:
        line["effect"] = values.fragment(known.effect)
    if attributes is not None:
        line["attributes"] = attributes


def context_object(ref: ContextRef) -> dict[str, Any]:
    """*ref* as the `context` field."""
    return {
        "digest": ref.digest,
        "count": ref.count,
        "base": ref.base,
        "keep": ref.keep,
        "hashes": ref.hashes,
        "complete": ref.complete,
        "tokens": ref.tokens,
    }


def asked_object(call: ToolCall | Mapping[str, Any], options: Settings) -> dict[str, Any]:
    """One tool call that the model asked for; its arguments are content."""
    if isinstance(call, ToolCall):
        call = {"call_id": call.call_id, "name": call.name, "arguments": call.arguments_raw}
    named = {"call_id": call.get("call_id"), "name": call.get("name")}
    return {**named, "arguments": call.get("arguments")} if options.capture_output else named


def usage_object(usage: Usage | Mapping[str, Any]) -> dict[str, Any]:
    """`input_tokens`, `output_tokens`, `cost` as far as they are known."""
    if isinstance(usage, Usage):
        known = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost": usage.cost}
    else:
        known = dict(usage)
    return {name: value for name, value in known.items() if value is not None}
