"""
The readers: one file each, a translator from one foreign format to native records.

Of readers that are equally sure of a file the first one in this list takes it.
"""

from __future__ import annotations

from tracekit_analyzers.model import Reader
from tracekit_analyzers.readers import (
    agent_sdk_stream,
    agentops,
    claude_code,
    cline,
    codex,
    gemini_cli,
    jaeger,
    js_spans,
    native,
    openai_chat,
    openclaw,
    openinference_tree,
    otel_console,
    otlp,
    phoenix,
    span_samples,
)

READERS: tuple[Reader, ...] = (
    native.READER,
    otlp.READER,
    otel_console.READER,
    jaeger.READER,
    phoenix.READER,
    js_spans.READER,
    openinference_tree.READER,
    agentops.READER,
    span_samples.READER,
    claude_code.READER,
    agent_sdk_stream.READER,
    codex.READER,
    gemini_cli.READER,
    cline.READER,
    openclaw.READER,
    openai_chat.READER,
)
"""Every reader, the most particular formats first."""
