"""
What a span of any dialect says in the fields of a native step: the one table of names, and pure functions over it.

Dialects: OpenTelemetry GenAI of all three generations (to 1.36, 1.37 to 1.41, v0.1.0), OpenInference, OpenLLMetry
(Traceloop), Vercel AI SDK, Logfire, Langfuse, MLflow, Google ADK, and our own. `docs/formats.md` has the table in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracekit.clock import rfc3339
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


@dataclass(frozen=True, slots=True)
class ForeignEvent:
    """Something that a span says happened at one moment."""

    name: str
    time_ns: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignSpan:
    """One span with its attributes as plain values, lists and dicts."""

    trace_id: str
    """32 hexadecimal digits."""
    span_id: str
    """16 hexadecimal digits."""
    parent_span_id: str | None
    name: str
    kind: str | None = None
    """`internal`, `client`, ...; not needed to know what the step is."""
    start_ns: int | None = None
    end_ns: int | None = None
    status_code: str | None = None
    """`ok`, `error` or `unset`, in any case."""
    status_message: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[ForeignEvent] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope: str | None = None
    dropped: int = 0
    """Attributes that the producer says it dropped; the oldest go first, so messages are then missing."""


_KINDS: tuple[tuple[str, Mapping[str, StepKind]], ...] = (
    ("tracekit.kind", {str(kind): kind for kind in StepKind}),
    (
        "gen_ai.operation.name",
        {
            **dict.fromkeys(
                ("chat", "generate_content", "text_completion", "completion", "llm_call"), StepKind.MODEL
            ),
            **dict.fromkeys(("execute_tool", "tool_call"), StepKind.TOOL),
            **dict.fromkeys(
                ("invoke_agent", "create_agent", "invoke_workflow", "agent_call"), StepKind.AGENT
            ),
            **dict.fromkeys(("embeddings", "retrieval", "plan"), StepKind.STEP),
        },
    ),
    (
        "openinference.span.kind",
        {
            "LLM": StepKind.MODEL,
            "TOOL": StepKind.TOOL,
            "AGENT": StepKind.AGENT,
            **dict.fromkeys(
                ("CHAIN", "RETRIEVER", "RERANKER", "EMBEDDING", "GUARDRAIL", "EVALUATOR", "PROMPT"),
                StepKind.STEP,
            ),
        },
    ),
    (
        "traceloop.span.kind",
        {"tool": StepKind.TOOL, "agent": StepKind.AGENT, "workflow": StepKind.AGENT, "task": StepKind.STEP},
    ),
    (
        "langfuse.observation.type",
        {
            "generation": StepKind.MODEL,
            "tool": StepKind.TOOL,
            "agent": StepKind.AGENT,
            **dict.fromkeys(
                ("span", "chain", "retriever", "embedding", "evaluator", "guardrail", "event"), StepKind.STEP
            ),
        },
    ),
    (
        "mlflow.spanType",
        {
            "LLM": StepKind.MODEL,
            "CHAT_MODEL": StepKind.MODEL,
            "TOOL": StepKind.TOOL,
            "AGENT": StepKind.AGENT,
            **dict.fromkeys(
                ("CHAIN", "RETRIEVER", "RERANKER", "EMBEDDING", "PARSER", "MEMORY", "UNKNOWN"), StepKind.STEP
            ),
        },
    ),
    ("llm.request.type", {"chat": StepKind.MODEL, "completion": StepKind.MODEL}),
)
"""Attributes that say what a span is, and what their values mean; the first that is there decides."""

_VERCEL = {
    "ai.toolCall": StepKind.TOOL,
    "ai.generateText": StepKind.AGENT,
    "ai.streamText": StepKind.AGENT,
    "ai.generateObject": StepKind.AGENT,
    "ai.streamObject": StepKind.AGENT,
}
"""The outer span describes the same call as the inner `.doGenerate`; only the inner one is the model call."""

_MODEL_SIGNS = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "gen_ai.prompt.0.role")

_TOOL_NAME = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_call.function.name")
_CALL_ID = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id", "gen_ai.tool_call.id")
_AGENT = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
_MODEL = (
    "gen_ai.response.model",
    "ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.model.id",
    "langfuse.observation.model.name",
    "mlflow.llm.model",
    "model",
)
_INPUT = (
    "tracekit.input",
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "gcp.vertex.agent.tool_call_args",
    "traceloop.entity.input",
    "input.value",
    "langfuse.observation.input",
    "mlflow.spanInputs",
    "tool_arguments",
    "input",
)
_OUTPUT = (
    "tracekit.output",
    "gen_ai.tool.call.result",
    "ai.toolCall.result",
    "gcp.vertex.agent.tool_response",
    "traceloop.entity.output",
    "output.value",
    "langfuse.observation.output",
    "mlflow.spanOutputs",
    "tool_response",
    "output",
)
_ASKED_RAW = (
    "tracekit.raw",
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "gcp.vertex.agent.tool_call_args",
)
_PROMPT = (
    "gen_ai.input.messages",
    "ai.prompt.messages",
    "gen_ai.prompt",
    "ai.prompt",
    "gcp.vertex.agent.llm_request",
    "langfuse.observation.input",
    "mlflow.spanInputs",
    "input.value",
)
_PROMPT_LISTS = ("llm.input_messages", "gen_ai.prompt")
_REPLY = (
    "gen_ai.output.messages",
    "gen_ai.completion",
    "gcp.vertex.agent.llm_response",
    "langfuse.observation.output",
    "mlflow.spanOutputs",
    "output.value",
)
_REPLY_LISTS = ("llm.output_messages", "gen_ai.completion")
_INPUT_TOKENS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
)
_OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
)
_COST = ("tracekit.usage.cost", "llm.cost.total", "gen_ai.usage.cost", "mlflow.llm.cost")
_FINISH = ("gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.finish_reason")
_ERROR_TYPE = ("error.type", "exception.type")
_ERROR_MESSAGE = ("exception.message", "error.message", "langfuse.observation.status_message")
_OWN = (
    "task_id",
    "attempt",
    "tries",
    "reinfers",
    "checkpoint",
    "seq",
    "depends_on",
    "agent",
    "process_id",
    "pid",
)
"""Our own fields on the wire as `tracekit.NAME`."""

_LEFT_OUT_EMPTY = ("attributes", "usage", "asked", "messages", "said", "effect")

_REPEATED = (
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.tools.",
    "llm.request.functions.",
    "gen_ai.prompt.",
    "gen_ai.completion.",
)
"""Flattened lists: taken up as messages and tools, so that attributes do not hold the conversation a second time."""


class _Taken:
    """Attributes of one span, with note of which were used."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self.all = attributes
        self.used: set[str] = set()

    def first(self, names: Sequence[str]) -> Any:
        """The first value that is there and not empty."""
        for name in names:
            value = self.all.get(name)
            if value is not None and value != "":
                self.used.add(name)
                return value
        return None

    def text(self, names: Sequence[str]) -> str | None:
        value = self.first(names)
        return None if value is None else value if isinstance(value, str) else json_text(value)

    def number(self, names: Sequence[str]) -> Any:
        """The first number, also one written as text; None when there is none."""
        value = self.first(names)
        if isinstance(value, str):
            try:
                return int(value) if value.lstrip("-").isdigit() else float(value)
            except ValueError:
                return None
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def rest(self) -> Iterator[tuple[str, Any]]:
        return ((key, value) for key, value in self.all.items() if key not in self.used)


def kind_of(span: ForeignSpan) -> StepKind:
    """What the span is; `step` when it says nothing that we know."""
    attributes = span.attributes
    for name, meanings in _KINDS:
        said = attributes.get(name)
        if isinstance(said, str):
            found = meanings.get(said) or meanings.get(said.upper()) or meanings.get(said.lower())
            if found is not None:
                return found
    operation = attributes.get("ai.operationId")
    if isinstance(operation, str):
        inner = operation.endswith((".doGenerate", ".doStream"))
        return StepKind.MODEL if inner else _VERCEL.get(operation, StepKind.STEP)
    if attributes.get("mcp.method.name") == "tools/call" or any(
        attributes.get(name) for name in _TOOL_NAME[:3]
    ):
        return StepKind.TOOL
    if any(attributes.get(name) for name in _MODEL_SIGNS):
        return StepKind.MODEL
    return StepKind.AGENT if attributes.get("agent_name") else StepKind.STEP


def translate(span: ForeignSpan) -> dict[str, Any]:
    """
    Fields of a native `step` line, without those that are not known.

    Beside them stand three that are not of that line, on model steps only; the caller takes them out (`talk_of`) and
    makes `context` and `message` lines of them: `messages`, what was sent, and `said`, what came back, both as OpenAI's
    chat messages and missing when the span does not say; `messages_cut`, when some of those sent are known to be lost.
    """
    taken = _Taken(span.attributes)
    kind = kind_of(span)
    fields: dict[str, Any] = {
        **_identity(span),
        "kind": str(kind),
        "name": taken.text(("tracekit.name",)) or span.name,
        **_own_fields(taken),
    }
    if kind is StepKind.MODEL:
        fields.update(_model_fields(span, taken))
    else:
        fields.update(_call_fields(span, taken, kind))
    fields["agent"] = fields.get("agent") or taken.text(_AGENT)
    fields.update(_outcome(span, taken))
    fields["attributes"] = _rest(span, taken)
    empty = {key for key in _LEFT_OUT_EMPTY if not fields.get(key)}
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
        "started_at": _time(span.start_ns),
        "finished_at": _time(span.end_ns),
    }
    if span.start_ns and span.end_ns:
        fields["duration_ms"] = (span.end_ns - span.start_ns) / 1_000_000
    return fields


def _time(ns: int | None) -> str | None:
    return rfc3339(ns) if ns is not None and 0 < ns < 253_402_300_799_000_000_000 else None


def _own_fields(taken: _Taken) -> dict[str, Any]:
    fields = {name: json_value(taken.first((f"tracekit.{name}",))) for name in _OWN}
    effect = {
        name: taken.first((f"tracekit.effect.{name}",)) for name in ("risk", "key", "status", "idempotent")
    }
    taken.used.add("tracekit.kind")
    return {**fields, "effect": {key: value for key, value in effect.items() if value is not None}}


def _call_fields(span: ForeignSpan, taken: _Taken, kind: StepKind) -> dict[str, Any]:
    """What went in and came out; for a tool also its name, the call's id and the text it was asked with."""
    fields: dict[str, Any] = {}
    if kind is StepKind.TOOL:
        names = (*_TOOL_NAME, "traceloop.entity.name")
        fields["tool_name"] = taken.text(names) or span.name.removeprefix("execute_tool ")
        fields["call_id"] = taken.text(_CALL_ID)
        raw = next(
            (span.attributes[name] for name in _ASKED_RAW if isinstance(span.attributes.get(name), str)), None
        )
        fields["model_raw_output"] = raw
        taken.used.add("tracekit.model_raw_output")
    fields["input_snapshot"] = json_value(taken.first(_INPUT))
    fields["output_snapshot"] = json_value(taken.first(_OUTPUT))
    taken.used.update(("input.mime_type", "output.mime_type"))
    return fields


def _model_fields(span: ForeignSpan, taken: _Taken) -> dict[str, Any]:
    sent, said = _sent(span, taken), _said(span, taken)
    raw = taken.text(("tracekit.model_raw_output",)) or raw_text(said)
    reasons = json_value(taken.first(_FINISH))
    reason = reasons[0] if isinstance(reasons, list) and reasons else reasons
    used = {
        "input_tokens": taken.number(_INPUT_TOKENS),
        "output_tokens": taken.number(_OUTPUT_TOKENS),
        "cost": taken.number(_COST),
    }
    return {
        "model": taken.text(_MODEL),
        "messages": sent,
        "said": [
            {key: value for key, value in message.items() if key != "finish_reason"} for message in said
        ],
        "messages_cut": True if span.dropped or _has_gap(span.attributes) else None,
        "model_raw_output": raw,
        "asked": json_value(taken.first(("tracekit.asked",))) or asked_of(said),
        "finish_reason": reason or next((m["finish_reason"] for m in said if m.get("finish_reason")), None),
        "usage": {key: value for key, value in used.items() if value is not None},
    }


def talk_of(fields: dict[str, Any]) -> tuple[list[Message], list[Message], bool]:
    """What was sent and what came back, taken out of the *fields* of `translate`, and whether all of it is there."""
    sent, said = fields.pop("messages", []), fields.pop("said", [])
    return sent, said, not fields.pop("messages_cut", False)


def _has_gap(attributes: Mapping[str, Any]) -> bool:
    """Whether flattened messages are missing: at 128 attributes the oldest are dropped, and with them low numbers."""
    for prefix in _PROMPT_LISTS:
        start = prefix + "."
        numbers = {key[len(start) :].partition(".")[0] for key in attributes if key.startswith(start)}
        found = {int(number) for number in numbers if number.isdigit()}
        if found and max(found) + 1 != len(found):
            return True
    return False


def _sent(span: ForeignSpan, taken: _Taken) -> list[Message]:
    """Messages that went to the model, with instructions that are kept apart from them in front."""
    instructions = taken.first(("gen_ai.system_instructions",))
    first = _instructions(instructions) if instructions is not None else []
    for prefix in _PROMPT_LISTS:
        listed = unflatten(span.attributes, prefix)
        if listed:
            taken.used.update(("input.value", "input.mime_type"))
            return first + messages(listed)
    from_events = _event_messages(span, taken)
    if from_events:
        return first + from_events
    value = json_value(taken.first(_PROMPT))
    taken.used.add("input.mime_type")
    if isinstance(value, Mapping) and isinstance(value.get("config"), Mapping):  # Google ADK's request
        first = first or _instructions(value["config"].get("system_instruction"))
    if isinstance(value, Mapping) and value.get("system") is not None:  # Vercel's `ai.prompt`
        first = first or _instructions(value["system"])
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


def _event_messages(span: ForeignSpan, taken: _Taken) -> list[Message]:
    """Messages of the first generation: one event each, or Logfire's `events` list with `event.name` in every item."""
    listed = json_value(taken.all.get("events"))
    bodies = [(str(item.get("event.name")), item) for item in listed or () if isinstance(item, Mapping)]
    bodies += [(event.name, event.attributes) for event in span.events]
    found: list[Message] = []
    for name, body in bodies:
        if name in _MESSAGE_EVENTS:
            taken.used.add("events")
            found += messages([{"role": _MESSAGE_EVENTS[name], **body}])
    return found


def _said(span: ForeignSpan, taken: _Taken) -> list[Message]:
    """What the model answered, as assistant messages."""
    for prefix in _REPLY_LISTS:
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
    value = json_value(taken.first(_REPLY))
    taken.used.add("output.mime_type")
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list):
        value = value["choices"]
    elif isinstance(value, Mapping) and isinstance(value.get("generations"), list):  # LangChain
        value = value["generations"]
    elif isinstance(value, Mapping) and isinstance(value.get("output"), list):  # OpenAI's Responses API
        value = value["output"]
    elif isinstance(value, Mapping) and isinstance(value.get("content"), Mapping):
        value = value["content"]
    return [{**message, "role": "assistant"} for message in messages(value, role="assistant")]


def _vercel_reply(taken: _Taken) -> list[Message]:
    text = taken.text(("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"))
    calls = json_value(taken.first(("ai.response.toolCalls", "ai.result.toolCalls")))
    if text is None and not calls:
        return []
    return messages([{"role": "assistant", "content": text, "toolCalls": calls}], role="assistant")


def _outcome(span: ForeignSpan, taken: _Taken) -> dict[str, Any]:
    """Status and error: by the span's own status, an error type, an exception event; never by what a text looks like."""
    code = (span.status_code or "").lower().removeprefix("status_code_")
    raised = next((event.attributes for event in span.events if event.name == "exception"), {})
    own = taken.text(("tracekit.status",))
    kind = taken.text(_ERROR_TYPE) or raised.get("exception.type")
    left = str(kind or "").rpartition(".")[2] in ("CancelledError", "GeneratorExit")
    failed = code == "error" or taken.all.get("langfuse.observation.level") == "ERROR"
    failed = failed or (code != "ok" and kind is not None)
    if own in {str(status) for status in StepStatus}:
        fields: dict[str, Any] = {"status": own}
    elif left and code != "error":
        fields = {"status": str(StepStatus.ABANDONED)}
    elif failed:
        fields = {"status": str(StepStatus.ERROR)}
    else:
        unfinished = span.start_ns is not None and not span.end_ns
        fields = {"status": str(StepStatus.RUNNING if unfinished else StepStatus.OK)}
    if fields["status"] in (StepStatus.ERROR, StepStatus.UNKNOWN, StepStatus.ABANDONED):
        message = raised.get("exception.message") or taken.text(_ERROR_MESSAGE) or span.status_message or None
        fields["error_type"] = kind
        fields["error_message"] = message
        fields["error_stack"] = raised.get("exception.stacktrace")
    return fields


def _rest(span: ForeignSpan, taken: _Taken) -> dict[str, Any]:
    """Every attribute that no field took up, the declared tools under one name, and what the scope and service are."""
    rest = {key: value for key, value in taken.rest() if not key.startswith(_REPEATED)}
    tools = [
        json_value(item.get("tool", {}).get("json_schema")) if "tool" in item else _function(item)
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
