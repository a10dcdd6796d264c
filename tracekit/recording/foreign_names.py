"""
The table: attribute names of every span dialect by what they mean to a step; of several that are there the first counts.

Newest names stand first. `docs/formats.md` has the table in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracekit.model import StepKind
from tracekit.recording.foreign_messages import json_text

KINDS: tuple[tuple[str, Mapping[str, StepKind]], ...] = (
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

VERCEL = {
    "ai.toolCall": StepKind.TOOL,
    "ai.generateText": StepKind.AGENT,
    "ai.streamText": StepKind.AGENT,
    "ai.generateObject": StepKind.AGENT,
    "ai.streamObject": StepKind.AGENT,
}
"""The outer span describes the same call as the inner `.doGenerate`; only the inner one is the model call."""

MODEL_SIGNS = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "gen_ai.prompt.0.role")

TOOL_NAME = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_call.function.name")
CALL_ID = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id", "gen_ai.tool_call.id")
AGENT = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
MODEL = (
    "gen_ai.response.model",
    "ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.model.id",
    "langfuse.observation.model.name",
    "mlflow.llm.model",
    "model",
)
INPUT = (
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
OUTPUT = (
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
ASKED_RAW = (
    "tracekit.raw",
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "gcp.vertex.agent.tool_call_args",
)
PROMPT = (
    "gen_ai.input.messages",
    "ai.prompt.messages",
    "gen_ai.prompt",
    "ai.prompt",
    "gcp.vertex.agent.llm_request",
    "langfuse.observation.input",
    "mlflow.spanInputs",
    "input.value",
)
PROMPT_LISTS = ("llm.input_messages", "gen_ai.prompt")
REPLY = (
    "gen_ai.output.messages",
    "gen_ai.completion",
    "gcp.vertex.agent.llm_response",
    "langfuse.observation.output",
    "mlflow.spanOutputs",
    "output.value",
)
REPLY_LISTS = ("llm.output_messages", "gen_ai.completion")
INPUT_TOKENS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
)
OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
)
COST = ("llm.cost.total", "gen_ai.usage.cost", "mlflow.llm.cost")
FINISH = ("gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.finish_reason")
ERROR_TYPE = ("error.type", "exception.type")
ERROR_MESSAGE = ("exception.message", "error.message", "langfuse.observation.status_message")
LEFT_OUT_EMPTY = ("attributes", "usage", "asked", "messages", "said", "effect")

REPEATED = (
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.tools.",
    "llm.request.functions.",
    "gen_ai.prompt.",
    "gen_ai.completion.",
)
"""Flattened lists: taken up as messages and tools, so that attributes do not hold the conversation a second time."""


class Taken:
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
        """The first number, also one written as text; None when there is none, or one without an end."""
        value = self.first(names)
        if isinstance(value, str):
            try:
                value = int(value) if value.lstrip("-").isdigit() else float(value)
            except ValueError:
                return None
        is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
        return value if is_number and not isinstance(value, bool) else None

    def rest(self) -> Iterator[tuple[str, Any]]:
        return ((key, value) for key, value in self.all.items() if key not in self.used)
