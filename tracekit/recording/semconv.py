"""
Names on the wire, all in one place: the newest OpenTelemetry GenAI names, and ours where there is no standard name.

The GenAI conventions are still in development; when a name changes there, it changes here and nowhere else.
"""

from __future__ import annotations

from opentelemetry.trace import SpanKind

from tracekit.model import StepKind

SCOPE = "tracekit"
"""Instrumentation scope of our own spans; the span processor skips them by it."""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
FIRST_CHUNK_S = "gen_ai.response.time_to_first_chunk"
RESPONSE_ID = "gen_ai.response.id"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
"""Parts of the input and output tokens, not beside them."""
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

STREAM = "gen_ai.request.stream"
TEMPERATURE = "gen_ai.request.temperature"
TOP_P = "gen_ai.request.top_p"
TOP_K = "gen_ai.request.top_k"
FREQUENCY_PENALTY = "gen_ai.request.frequency_penalty"
PRESENCE_PENALTY = "gen_ai.request.presence_penalty"
SEED = "gen_ai.request.seed"
MAX_TOKENS = "gen_ai.request.max_tokens"
CHOICE_COUNT = "gen_ai.request.choice.count"
STOP_SEQUENCES = "gen_ai.request.stop_sequences"
PREVIOUS_RESPONSE = "gen_ai.request.previous_response.id"
REASONING_LEVEL = "gen_ai.request.reasoning.level"
OUTPUT_TYPE = "gen_ai.output.type"
ERROR_TYPE = "error.type"

INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
"""Content: on spans only when asked for (`content_on_spans`)."""

KIND = "tracekit.kind"
NAME = "tracekit.name"
STATUS = "tracekit.status"
SEQ = "tracekit.seq"
TASK_ID = "tracekit.task_id"
ATTEMPT = "tracekit.attempt"
TRIES = "tracekit.tries"
REINFERS = "tracekit.reinfers"
CHECKPOINT = "tracekit.checkpoint"
DEPENDS_ON = "tracekit.depends_on"
EFFECT = "tracekit.effect."
"""Prefix; `risk`, `key`, `status`, `idempotent` follow."""
COST = "tracekit.usage.cost"
CONTEXT_DIGEST = "tracekit.context.digest"
CONTEXT_COUNT = "tracekit.context.count"
CONTEXT_COMPLETE = "tracekit.context.complete"
RAW_OUTPUT = "tracekit.model_raw_output"
ASKED_RAW = "tracekit.raw"
"""On a tool step: the exact argument text that the model asked with."""
MESSAGES = "tracekit.messages"
"""The exact messages, whose hashes name them; `gen_ai.input.messages` has them in the form of the conventions."""
INPUT = "tracekit.input"
OUTPUT = "tracekit.output"
ASKED = "tracekit.asked"

OPERATIONS = {
    StepKind.MODEL: "chat",
    StepKind.TOOL: "execute_tool",
    StepKind.AGENT: "invoke_agent",
    StepKind.TASK: "invoke_workflow",
}
"""Operation of each kind of step; named pieces of work and retries have no standard operation."""


def span_name(kind: StepKind, name: str, tool_name: str | None, model: str | None) -> str:
    """Name of a step's span by the conventions: `chat MODEL`, `execute_tool TOOL`, `invoke_agent AGENT`."""
    operation = OPERATIONS.get(kind)
    if operation is None:
        return name
    return f"{operation} {(model if kind is StepKind.MODEL else tool_name) or name}"


def span_kind(kind: StepKind) -> SpanKind:
    """A model call leaves the process; everything else is work inside it."""
    return SpanKind.CLIENT if kind is StepKind.MODEL else SpanKind.INTERNAL
