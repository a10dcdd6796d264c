"""
Our own steps out of the spans that they were sent as: the other direction of `wire.py`.

With `content_on_spans` everything comes back that the native log holds; without it, everything but the content.
"""

from __future__ import annotations

from typing import Any

import orjson

from tracekit.model import StepKind, StepStatus
from tracekit.recording import semconv
from tracekit.recording.foreign_names import Taken
from tracekit.recording.foreign_span import ForeignSpan, time_of

_KIND_BY_OPERATION = {operation: kind for kind, operation in semconv.OPERATIONS.items()}
_EFFECT = ("risk", "key", "status", "idempotent")
_TOLD_ELSEWHERE = (
    semconv.OPERATION,
    semconv.TOOL_TYPE,
    semconv.CONTEXT_DIGEST,
    semconv.CONTEXT_COUNT,
    semconv.INPUT_MESSAGES,
    semconv.OUTPUT_MESSAGES,
    "otel.scope.name",
    "otel.scope.version",
    "otel.status_code",
)


def is_own(span: ForeignSpan) -> bool:
    """Whether the span is one of ours: by its scope, or by our name for it where a format keeps no scope."""
    return span.scope == semconv.SCOPE or semconv.NAME in span.attributes


def own_kind(span: ForeignSpan) -> StepKind:
    """The kind that we wrote, or that the operation tells."""
    said = span.attributes.get(semconv.KIND)
    if isinstance(said, str) and said in {kind.value for kind in StepKind}:
        return StepKind(said)
    return _KIND_BY_OPERATION.get(str(span.attributes.get(semconv.OPERATION)), StepKind.STEP)


def own_fields(span: ForeignSpan) -> dict[str, Any]:
    """The fields of `foreign.translate` for one of our own spans; messages are the very ones, so their hashes are too."""
    taken, kind = Taken(span.attributes), own_kind(span)
    name = taken.text((semconv.NAME,)) or span.name
    agent = taken.text((semconv.AGENT_NAME,))
    fields: dict[str, Any] = {
        "trace_id": span.trace_id.lower(),
        "step_id": span.span_id.lower(),
        "parent_step_id": (span.parent_span_id or "").lower() or None,
        "started_at": time_of(span.start_ns),
        "finished_at": time_of(span.end_ns),
        "duration_ms": (span.end_ns - span.start_ns) / 1_000_000 if span.start_ns and span.end_ns else None,
        "kind": kind.value,
        "name": name,
        "agent": None if kind is StepKind.TASK and agent == name else agent,
        "task_id": taken.text((semconv.TASK_ID,)),
        "attempt": taken.number((semconv.ATTEMPT,)) or 1,
        "tries": taken.number((semconv.TRIES,)) or 1,
        "reinfers": taken.number((semconv.REINFERS,)) or 0,
        "seq": taken.number((semconv.SEQ,)),
        "checkpoint": taken.text((semconv.CHECKPOINT,)),
        "depends_on": _listed(taken.first((semconv.DEPENDS_ON,))),
        "effect": _effect(taken),
        **_content(taken, kind),
        **_ended(span, taken),
    }
    taken.used.update((semconv.KIND, *_TOLD_ELSEWHERE))
    fields["attributes"] = {**dict(taken.rest()), **_service(span)}
    return {
        key: value for key, value in fields.items() if value is not None and (value or key != "attributes")
    }


def _listed(value: Any) -> list[Any] | None:
    return list(value) if isinstance(value, list | tuple) and value else None


def _service(span: ForeignSpan) -> dict[str, Any]:
    service = span.resource.get("service.name")
    return {} if service is None else {"service.name": service}


def _effect(taken: Taken) -> dict[str, Any] | None:
    effect = {name: taken.first((semconv.EFFECT + name,)) for name in _EFFECT}
    return {name: value for name, value in effect.items() if value is not None} or None


def _content(taken: Taken, kind: StepKind) -> dict[str, Any]:
    """What went in, what came out, what the model said and asked, what it cost."""
    reasons = taken.first((semconv.FINISH_REASONS,))
    used = {
        "input_tokens": taken.number((semconv.INPUT_TOKENS,)),
        "output_tokens": taken.number((semconv.OUTPUT_TOKENS,)),
        "cost": taken.number((semconv.COST,)),
    }
    given = (semconv.TOOL_ARGUMENTS, semconv.INPUT)
    return {
        "tool_name": taken.text((semconv.TOOL_NAME,)),
        "call_id": taken.text((semconv.TOOL_CALL_ID,)),
        "input_snapshot": _value(taken.first(given)),
        "output_snapshot": _value(taken.first((semconv.TOOL_RESULT, semconv.OUTPUT))),
        "model_raw_output": taken.text((semconv.RAW_OUTPUT, semconv.ASKED_RAW)),
        "asked": _value(taken.first((semconv.ASKED,))),
        "model": taken.text((semconv.RESPONSE_MODEL, semconv.REQUEST_MODEL)),
        "finish_reason": reasons[0] if isinstance(reasons, list | tuple) and reasons else None,
        "usage": {key: value for key, value in used.items() if value is not None} or None,
        "messages": _value(taken.first((semconv.MESSAGES, semconv.INPUT_MESSAGES)))
        if kind is StepKind.MODEL
        else None,
        "messages_cut": True if taken.first((semconv.CONTEXT_COMPLETE,)) is False else None,
    }


def _value(value: Any) -> Any:
    """The value that we wrote as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:  # cut short by a limit of an exporter
        return value


def _ended(span: ForeignSpan, taken: Taken) -> dict[str, Any]:
    """Status and error; a status that spans do not have is one of our attributes."""
    code = (span.status_code or "").lower().removeprefix("status_code_")
    status, kind = taken.text((semconv.STATUS,)), taken.text((semconv.ERROR_TYPE,))
    if status is None:
        running = span.start_ns is not None and not span.end_ns
        ended = StepStatus.ERROR if code == "error" else StepStatus.OK
        status = (StepStatus.RUNNING if running else ended).value
    return {
        "status": status,
        "error_type": None if kind == status else kind,
        "error_message": span.status_message or None,
    }
