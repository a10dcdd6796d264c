"""
The readers: one file each, a translator from one foreign format to native records.

Of readers that are equally sure of a file the first one in this list takes it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from tracekit_analyzers.model import Reader

_IN_ORDER = (
    "native",
    "otlp",
    "otel_console",
    "jaeger",
    "phoenix",
    "js_spans",
    "openinference_tree",
    "agentops",
    "span_samples",
    "langfuse",
    "langsmith",
    "mlflow",
    "opik",
    "claude_code",
    "agent_sdk_stream",
    "codex",
    "gemini_cli",
    "cline",
    "openclaw",
    "sweagent",
    "miniswe",
    "openhands",
    "openhands_llm",
    "inspect_ai",
    "atif",
    "tapeagents",
    "tapeagents_sqlite",
    "langgraph",
    "runstate",
    "adk",
    "autogen",
    "toolbench",
    "openai_chat",
)
"""Modules of all readers, the most particular formats first."""


@cache
def all_readers() -> tuple[Reader, ...]:
    """Every reader; they are loaded at the first call, which a native log does not need: a fourth of the time of a start."""
    return tuple(import_module(f"{__name__}.{name}").READER for name in _IN_ORDER)
