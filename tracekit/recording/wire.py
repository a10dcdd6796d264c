"""What of a step goes into its span: ids and figures always, content only when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson
from opentelemetry.trace import Span, Status, StatusCode

from tracekit.model import ContextRef, StepKind, StepStatus
from tracekit.recording import semconv
from tracekit.recording.log import StepLog
from tracekit.snapshot import log_bytes

if TYPE_CHECKING:
    from tracekit.recording.open_step import StepEnd, StepStart

_FAILED = {StepStatus.ERROR, StepStatus.UNKNOWN}


def creation_attributes(start: StepStart) -> dict[str, Any]:
    """What a sampler needs to see: operation, model, agent, tool; given when the span is made."""
    given = {
        semconv.OPERATION: semconv.OPERATIONS.get(start.kind),
        semconv.REQUEST_MODEL: start.model,
        semconv.TOOL_NAME: start.tool_name or (start.name if start.kind is StepKind.TOOL else None),
        semconv.TOOL_CALL_ID: start.call_id,
        semconv.AGENT_NAME: start.agent or (start.name if start.kind is StepKind.TASK else None),
        semconv.KIND: start.kind.value,
        semconv.NAME: start.name,
        semconv.TASK_ID: start.task_id,
    }
    return {name: value for name, value in given.items() if value is not None}


def on_start(span: Span, start: StepStart, seq: int, context: ContextRef | None, log: StepLog) -> None:
    """Tell the span what is known at the start."""
    told: dict[str, Any] = {semconv.SEQ: seq, semconv.ATTEMPT: start.attempt}
    if start.depends_on:
        told[semconv.DEPENDS_ON] = list(start.depends_on)
    if context is not None:
        told |= {
            semconv.CONTEXT_DIGEST: context.digest,
            semconv.CONTEXT_COUNT: context.count,
            semconv.CONTEXT_COMPLETE: context.complete,
        }
    if log.options.content_on_spans:
        told |= _content_at_start(start, log)
    span.set_attributes(told)


def on_end(span: Span, end: StepEnd, now: Mapping[str, Any], failed: Mapping[str, Any], log: StepLog) -> None:
    """Tell the span how the step ended; error statuses become the span's."""
    told: dict[str, Any] = {semconv.STATUS: end.status.value, semconv.TRIES: now["tries"]}
    if now["reinfers"]:
        told[semconv.REINFERS] = now["reinfers"]
    if now["checkpoint"]:
        told[semconv.CHECKPOINT] = now["checkpoint"]
    if now["model"]:
        told[semconv.RESPONSE_MODEL] = now["model"]
    if end.finish_reason:
        told[semconv.FINISH_REASONS] = [end.finish_reason]
    for name, value in (now["effect"] or {}).items():
        if isinstance(value, str | bool | int | float):
            told[semconv.EFFECT + name] = value
    told |= _usage(end) | _plain_attributes(now["attributes"])
    if log.options.content_on_spans:
        told |= _content_at_end(end, log)
    if end.status in _FAILED:
        told[semconv.ERROR_TYPE] = failed.get("error_type") or end.status.value
        message = orjson.loads(orjson.dumps(failed["error_message"])) if "error_message" in failed else None
        span.set_status(Status(StatusCode.ERROR, message if isinstance(message, str) else None))
    span.set_attributes(told)


def _usage(end: StepEnd) -> dict[str, Any]:
    from tracekit.recording.open_step import usage_fields

    known = usage_fields(end.usage) or {}
    names = {
        "input_tokens": semconv.INPUT_TOKENS,
        "output_tokens": semconv.OUTPUT_TOKENS,
        "cost": semconv.COST,
    }
    return {names[name]: value for name, value in known.items() if name in names}


def _plain_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that a span can hold as they are."""
    return {name: value for name, value in attributes.items() if isinstance(value, str | bool | int | float)}


def _json(value: Any, log: StepLog) -> str:
    return log_bytes(value, redact=log.redact).decode()


def _content_at_start(start: StepStart, log: StepLog) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if start.input is not ...:
        told[semconv.TOOL_ARGUMENTS if start.kind is StepKind.TOOL else semconv.INPUT] = _json(
            start.input, log
        )
    if start.messages is not None:
        told[semconv.INPUT_MESSAGES] = _json(list(start.messages), log)
    if start.raw is not None:
        told[semconv.RAW_OUTPUT] = start.raw if log.redact is None else log.redact.text(start.raw)
    return told


def _content_at_end(end: StepEnd, log: StepLog) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if end.output is not ...:
        told[semconv.OUTPUT] = _json(end.output, log)
    if end.raw is not None:
        told[semconv.RAW_OUTPUT] = end.raw if log.redact is None else log.redact.text(end.raw)
    if end.asked is not None:
        told[semconv.ASKED] = _json(list(end.asked), log)
    return told
