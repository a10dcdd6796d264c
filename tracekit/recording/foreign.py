"""
What a span of any dialect says in the fields of a native step: pure functions over the table of `foreign_names.py`.

Dialects: OpenTelemetry GenAI of all three generations (to 1.36, 1.37 to 1.41, v0.1.0), OpenInference, OpenLLMetry
(Traceloop), Vercel AI SDK, Logfire, Langfuse, MLflow, Google ADK, and our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.model import StepKind, StepStatus
from tracekit.recording.foreign_messages import (
    Message,
    asked_of,
    json_text,
    json_value,
    messages,
    raw_text,
    unflatten,
)
from tracekit.recording.foreign_names import (
    AGENT,
    ASKED_RAW,
    CALL_ID,
    COST,
    ERROR_MESSAGE,
    ERROR_TYPE,
    FINISH,
    INPUT,
    INPUT_TOKENS,
    KINDS,
    LEFT_OUT_EMPTY,
    MODEL,
    MODEL_SIGNS,
    OUTPUT,
    OUTPUT_TOKENS,
    PROMPT,
    PROMPT_LISTS,
    REPEATED,
    REPLY,
    REPLY_LISTS,
    TOOL_NAME,
    VERCEL,
    Taken,
)
from tracekit.recording.foreign_own import is_own, own_fields, own_kind
from tracekit.recording.foreign_span import ForeignEvent, ForeignSpan, time_of

__all__ = ["ForeignEvent", "ForeignSpan", "demoted", "kind_of", "talk_of", "translate"]


def kind_of(span: ForeignSpan) -> StepKind:
    """What the span is; `step` when it says nothing that we know."""
    attributes = span.attributes
    if is_own(span):
        return own_kind(span)
    operation = attributes.get("ai.operationId")
    if isinstance(operation, str) and operation in VERCEL:
        return VERCEL[operation]
    for name, meanings in KINDS:
        said = attributes.get(name)
        if isinstance(said, str):
            found = meanings.get(said) or meanings.get(said.upper()) or meanings.get(said.lower())
            if found is not None:
                return found
    if isinstance(operation, str):
        return StepKind.MODEL if operation.endswith((".doGenerate", ".doStream")) else StepKind.STEP
    if attributes.get("mcp.method.name") == "tools/call" or any(
        attributes.get(name) for name in TOOL_NAME[:3]
    ):
        return StepKind.TOOL
    if any(attributes.get(name) for name in MODEL_SIGNS):
        return StepKind.MODEL
    return StepKind.AGENT if attributes.get("agent_name") else StepKind.STEP


def translate(span: ForeignSpan) -> dict[str, Any]:
    """
    Fields of a native `step` line, without those that are not known.

    Beside them stand three that are not of that line, on model steps only; the caller takes them out (`talk_of`) and
    makes `context` and `message` lines of them: `messages`, what was sent, and `said`, what came back, both as OpenAI's
    chat messages and missing when the span does not say; `messages_cut`, when some of those sent are known to be lost.
    """
    if is_own(span):
        return own_fields(span)
    taken = Taken(span.attributes)
    kind = kind_of(span)
    fields: dict[str, Any] = {
        **_identity(span),
        "kind": str(kind),
        "name": span.name,
    }
    if kind is StepKind.MODEL:
        fields.update(_model_fields(span, taken))
    else:
        fields.update(_call_fields(span, taken, kind))
    fields["agent"] = fields.get("agent") or taken.text(AGENT)
    fields.update(_outcome(span, taken))
    fields["attributes"] = _rest(span, taken)
    empty = {key for key in LEFT_OUT_EMPTY if not fields.get(key)}
    return {key: value for key, value in fields.items() if value is not None and key not in empty}


def _identity(span: ForeignSpan) -> dict[str, Any]:
    step_id, parent = span.span_id.lower(), (span.parent_span_id or "").lower() or None
    if span.attributes.get("logfire.span_type") == "pending_span":
        # Logfire's early notice of a span stands under that span and names the true parent apart.
        step_id, parent = parent or step_id, span.attributes.get("logfire.pending_parent_id")
        parent = parent if isinstance(parent, str) and parent.strip("0") else None
    fields: dict[str, Any] = {
        "trace_id": span.trace_id.lower(),
        "step_id": step_id,
        "parent_step_id": parent,
        "started_at": time_of(span.start_ns),
        "finished_at": time_of(span.end_ns),
    }
    if span.start_ns and span.end_ns:
        fields["duration_ms"] = (span.end_ns - span.start_ns) / 1_000_000
    return fields


def _call_fields(span: ForeignSpan, taken: Taken, kind: StepKind) -> dict[str, Any]:
    """What went in and came out; for a tool also its name, the call's id and the text it was asked with."""
    fields: dict[str, Any] = {}
    if kind is StepKind.TOOL:
        names = (*TOOL_NAME, "traceloop.entity.name")
        fields["tool_name"] = taken.text(names) or span.name.removeprefix("execute_tool ")
        fields["call_id"] = taken.text(CALL_ID)
        raw = next(
            (span.attributes[name] for name in ASKED_RAW if isinstance(span.attributes.get(name), str)), None
        )
        fields["model_raw_output"] = raw
    fields["input_snapshot"] = json_value(taken.first(INPUT))
    fields["output_snapshot"] = json_value(taken.first(OUTPUT))
    taken.used.update(("input.mime_type", "output.mime_type"))
    return fields


def _model_fields(span: ForeignSpan, taken: Taken) -> dict[str, Any]:
    sent, said = _sent(span, taken), _said(span, taken)
    raw = raw_text(said)
    reasons = json_value(taken.first(FINISH))
    reason = reasons[0] if isinstance(reasons, list) and reasons else reasons
    used = {
        "input_tokens": taken.number(INPUT_TOKENS),
        "output_tokens": taken.number(OUTPUT_TOKENS),
        "cost": taken.number(COST),
    }
    return {
        "model": taken.text(MODEL),
        "messages": sent,
        "said": [
            {key: value for key, value in message.items() if key != "finish_reason"} for message in said
        ],
        "messages_cut": True if span.dropped or _has_gap(span.attributes) else None,
        "model_raw_output": raw,
        "asked": asked_of(said),
        "finish_reason": reason or next((m["finish_reason"] for m in said if m.get("finish_reason")), None),
        "usage": {key: value for key, value in used.items() if value is not None},
    }


def talk_of(fields: dict[str, Any]) -> tuple[list[Message], list[Message], bool]:
    """What was sent and what came back, taken out of the *fields* of `translate`, and whether all of it is there."""
    sent, said = fields.pop("messages", []), fields.pop("said", [])
    return sent, said, not fields.pop("messages_cut", False)


def _has_gap(attributes: Mapping[str, Any]) -> bool:
    """Whether flattened messages are missing: at 128 attributes the oldest are dropped, and with them low numbers."""
    for prefix in PROMPT_LISTS:
        start = prefix + "."
        numbers = {key[len(start) :].partition(".")[0] for key in attributes if key.startswith(start)}
        found = {int(number) for number in numbers if number.isdecimal()}
        if found and max(found) + 1 != len(found):
            return True
    return False


def _sent(span: ForeignSpan, taken: Taken) -> list[Message]:
    """Messages that went to the model, with instructions that are kept apart from them in front."""
    instructions = taken.first(("gen_ai.system_instructions",))
    first = _instructions(instructions) if instructions is not None else []
    for prefix in PROMPT_LISTS:
        listed = unflatten(span.attributes, prefix)
        if listed:
            taken.used.update(("input.value", "input.mime_type"))
            return first + messages(listed)
    from_events = _event_messages(span, taken)
    if from_events:
        return first + from_events
    value = json_value(taken.first(PROMPT))
    taken.used.add("input.mime_type")
    if isinstance(value, Mapping) and isinstance(value.get("config"), Mapping):  # Google ADK's request
        first = first or _instructions(value["config"].get("system_instruction"))
    if isinstance(value, Mapping) and (
        "prompt" in value or value.get("system") is not None
    ):  # Vercel's `ai.prompt`
        first = first or _instructions(value.get("system"))
        value = value if "messages" in value else value.get("prompt")
    return first + messages(value)


def _instructions(value: Any) -> list[Message]:
    value = json_value(value)
    if value is None:
        return []
    return messages([{"role": "system", "parts": value if isinstance(value, list) else [json_text(value)]}])


_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def _event_messages(span: ForeignSpan, taken: Taken) -> list[Message]:
    """Messages of the first generation: one event each, or Logfire's `events` list with `event.name` in every item."""
    listed = json_value(taken.all.get("events"))
    items = listed if isinstance(listed, list | tuple) else ()
    bodies = [(str(item.get("event.name")), item) for item in items if isinstance(item, Mapping)]
    bodies += [(event.name, event.attributes) for event in span.events]
    found: list[Message] = []
    for name, body in bodies:
        if name in _MESSAGE_EVENTS:
            taken.used.add("events")
            found += messages([{"role": _MESSAGE_EVENTS[name], **body}])
    return found


def _said(span: ForeignSpan, taken: Taken) -> list[Message]:
    """What the model answered, as assistant messages."""
    for prefix in REPLY_LISTS:
        listed = unflatten(span.attributes, prefix)
        if listed:
            taken.used.update(("output.value", "output.mime_type"))
            return messages(listed, role="assistant")
    vercel = _vercel_reply(taken)
    if vercel:
        return vercel
    choices = [event.attributes for event in span.events if event.name == "gen_ai.choice"]
    if choices:
        return messages([json_value(choice.get("message")) or choice for choice in choices], role="assistant")
    value = json_value(taken.first(REPLY))
    taken.used.add("output.mime_type")
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list):
        value = value["choices"]
    elif isinstance(value, Mapping) and isinstance(value.get("generations"), list):  # LangChain
        value = value["generations"]
    elif isinstance(value, Mapping) and isinstance(value.get("candidates"), list):  # Gemini
        value = [one.get("content") for one in value["candidates"] if isinstance(one, Mapping)]
    elif isinstance(value, Mapping) and isinstance(value.get("output"), list):  # OpenAI's Responses API
        value = value["output"]
    elif isinstance(value, Mapping) and isinstance(value.get("content"), Mapping):
        value = value["content"]
    return [{**message, "role": "assistant"} for message in messages(value, role="assistant")]


def _vercel_reply(taken: Taken) -> list[Message]:
    text = taken.text(("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"))
    calls = json_value(taken.first(("ai.response.toolCalls", "ai.result.toolCalls")))
    if text is None and not calls:
        return []
    return messages([{"role": "assistant", "content": text, "toolCalls": calls}], role="assistant")


def _outcome(span: ForeignSpan, taken: Taken) -> dict[str, Any]:
    """Status and error: by the span's own status, an error type, an exception event; never by what a text looks like."""
    code = (span.status_code or "").lower().removeprefix("status_code_")
    raised = next((event.attributes for event in span.events if event.name == "exception"), {})
    kind = taken.text(ERROR_TYPE) or raised.get("exception.type")
    left = str(kind or "").rpartition(".")[2] in ("CancelledError", "GeneratorExit")
    failed = code == "error" or taken.all.get("langfuse.observation.level") == "ERROR"
    failed = failed or (code != "ok" and kind is not None)
    if left and code != "error":
        fields: dict[str, Any] = {"status": str(StepStatus.ABANDONED)}
    elif failed:
        fields = {"status": str(StepStatus.ERROR)}
    else:
        unfinished = span.start_ns is not None and not span.end_ns
        fields = {"status": str(StepStatus.RUNNING if unfinished else StepStatus.OK)}
    if fields["status"] in (StepStatus.ERROR, StepStatus.UNKNOWN, StepStatus.ABANDONED):
        message = raised.get("exception.message") or taken.text(ERROR_MESSAGE) or span.status_message or None
        fields["error_type"] = kind
        fields["error_message"] = message
        fields["error_stack"] = raised.get("exception.stacktrace")
    return fields


def _rest(span: ForeignSpan, taken: Taken) -> dict[str, Any]:
    """Every attribute that no field took up, the declared tools under one name, and what the scope and service are."""
    rest = {key: value for key, value in taken.rest() if not key.startswith(REPEATED)}
    tools = [
        json_value(item["tool"].get("json_schema"))
        if isinstance(item.get("tool"), Mapping)
        else _function(item)
        for prefix in ("llm.tools", "llm.request.functions")
        for item in unflatten(span.attributes, prefix)
        if isinstance(item, Mapping)
    ]
    if tools and "gen_ai.tool.definitions" not in rest:
        rest["gen_ai.tool.definitions"] = tools
    if span.scope:
        rest["otel.scope.name"] = span.scope
    service = span.resource.get("service.name")
    if service is not None:
        rest["service.name"] = service
    return rest


def _function(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {key: json_value(value) for key, value in item.items()}}


def demoted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """
    *fields* of a model step that only wraps another one, as a plain step.

    Two instrumentations that see one call make two spans of it, the outer one around the inner: tokens must count once.
    """
    dropped = ("usage", "asked", "messages", "said", "messages_cut", "model_raw_output", "finish_reason")
    kept = {key: value for key, value in fields.items() if key not in dropped}
    return {**kept, "kind": str(StepKind.STEP)}
