"""What of a step goes into its span: ids and figures always, content only when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import Span, Status, StatusCode

from tracekit.model import ContextRef, StepKind, StepStatus, Usage
from tracekit.recording import semconv, wire_messages
from tracekit.recording.failure import message_of, type_of
from tracekit.recording.log import StepLog
from tracekit.recording.step_lines import NOT_GIVEN, StepEnd, StepStart, asked_object, usage_object
from tracekit.snapshot import log_bytes

_FAILED = {StepStatus.ERROR, StepStatus.UNKNOWN}
_SPAN_TYPES = (str, bool, int, float)
_TOLD_BY_SPAN = {StepStatus.OK, StepStatus.ERROR}
_KIND_BY_OPERATION = {StepKind.MODEL, StepKind.TOOL, StepKind.AGENT}
"""Kinds that the operation tells already; each attribute of a span costs about 2 us."""

_NAMES_AN_AGENT = (StepKind.AGENT, StepKind.TASK)


def creation_attributes(start: StepStart, seq: int | None) -> dict[str, Any]:
    """What a sampler needs to see: operation, model, agent, tool; given when the span is made."""
    kind = start.kind
    told: dict[str, Any] = {semconv.NAME: start.name}
    operation = semconv.OPERATIONS.get(kind)
    if operation is not None:
        told[semconv.OPERATION] = operation
    if kind not in _KIND_BY_OPERATION:
        told[semconv.KIND] = kind.value
    if start.model is not None:
        told[semconv.REQUEST_MODEL] = start.model
    if kind is StepKind.TOOL:
        told[semconv.TOOL_NAME] = start.tool_name or start.name
        told[semconv.TOOL_TYPE] = "function"
    if start.call_id is not None:
        told[semconv.TOOL_CALL_ID] = start.call_id
    if start.agent is not None or kind in _NAMES_AN_AGENT:
        told[semconv.AGENT_NAME] = start.agent or start.name
    if start.task_id is not None:
        told[semconv.TASK_ID] = start.task_id
    if start.attempt != 1:
        told[semconv.ATTEMPT] = start.attempt
    if seq is not None:
        told[semconv.SEQ] = seq
    if start.attributes:
        told |= _fitting(start.attributes)
    return told


def on_start(span: Span, start: StepStart, context: ContextRef | None, log: StepLog) -> None:
    """Tell the span what is known at the start beyond what a sampler needs."""
    told: dict[str, Any] = {}
    if start.depends_on:
        told[semconv.DEPENDS_ON] = list(start.depends_on)
    if context is not None:
        told[semconv.CONTEXT_DIGEST] = context.digest
        told[semconv.CONTEXT_COUNT] = context.count
        if not context.complete:
            told[semconv.CONTEXT_COMPLETE] = False
    if log.options.content_on_spans:
        told |= _content_at_start(start, log)
    if told:
        span.set_attributes(told)


def on_end(span: Span, kind: StepKind | None, end: StepEnd, more: Mapping[str, Any], log: StepLog) -> None:
    """Tell the span of a step of *kind* how it ended, with *more* attributes; error statuses become the span's."""
    told: dict[str, Any] = dict(_fitting(more)) if more else {}
    if end.status not in _TOLD_BY_SPAN:
        told[semconv.STATUS] = end.status.value
    if end.tries and end.tries != 1:
        told[semconv.TRIES] = end.tries
    if end.reinfers:
        told[semconv.REINFERS] = end.reinfers
    if end.checkpoint:
        told[semconv.CHECKPOINT] = end.checkpoint
    if end.model:
        told[semconv.RESPONSE_MODEL] = end.model
    if end.finish_reason:
        told[semconv.FINISH_REASONS] = [end.finish_reason]
    if end.effect:
        told |= {semconv.EFFECT + name: value for name, value in _fitting(end.effect).items()}
    if end.usage is not None:
        told |= _usage(end.usage)
    if log.options.content_on_spans:
        told |= _content_at_end(kind, end, log)
    if end.status in _FAILED:
        told[semconv.ERROR_TYPE] = _text(type_of(end.error), log) if end.error else end.status.value
        span.set_status(Status(StatusCode.ERROR, _text(message_of(end.error), log) if end.error else None))
    if told:
        span.set_attributes(told)


def _text(text: str, log: StepLog) -> str:
    """*text* as the log shows it, secrets marked."""
    return text if log.redact is None else log.redact.text(text)


def _usage(usage: Usage | Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "input_tokens": semconv.INPUT_TOKENS,
        "output_tokens": semconv.OUTPUT_TOKENS,
        "cost": semconv.COST,
    }
    return {names[name]: value for name, value in usage_object(usage).items() if name in names}


def _fitting(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Those that a span can hold as they are."""
    return {
        name: value
        for name, value in attributes.items()
        if isinstance(value, _SPAN_TYPES)
        or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    }


def _json(value: Any, log: StepLog) -> str:
    return log_bytes(value, redact=log.redact).decode()


def _content_at_start(start: StepStart, log: StepLog) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if start.input is not NOT_GIVEN:
        told[semconv.TOOL_ARGUMENTS if start.kind is StepKind.TOOL else semconv.INPUT] = _json(
            start.input, log
        )
    if start.messages is not None:
        told[semconv.MESSAGES] = _json(list(start.messages), log)
        told[semconv.INPUT_MESSAGES] = _json(wire_messages.sent(list(start.messages)), log)
    if start.raw is not None:
        told[semconv.ASKED_RAW] = _text(start.raw, log)
    return told


def _content_at_end(kind: StepKind | None, end: StepEnd, log: StepLog) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if end.input is not NOT_GIVEN:
        told[semconv.INPUT] = _json(end.input, log)
    if end.output is not NOT_GIVEN:
        is_result = kind is StepKind.TOOL and end.status is StepStatus.OK
        told[semconv.TOOL_RESULT if is_result else semconv.OUTPUT] = _json(end.output, log)
    if kind is StepKind.MODEL and (end.output is not NOT_GIVEN or end.raw):
        said = end.raw if end.output is NOT_GIVEN else end.output
        reason = end.finish_reason or ("error" if end.status in _FAILED else None)
        told[semconv.OUTPUT_MESSAGES] = _json(wire_messages.said(said, reason), log)
    if end.raw is not None:
        told[semconv.RAW_OUTPUT] = _text(end.raw, log)
    if end.asked is not None:
        told[semconv.ASKED] = _json([asked_object(call, log.options) for call in end.asked], log)
    return told
