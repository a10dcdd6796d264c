"""Code blocks in a model's text, for agents whose calls are fenced code that a program runs."""

from __future__ import annotations

import re

from tracekit.model import ToolCall
from tracekit_analyzers.readers._run import json_text

_FENCE = re.compile(r"```[ \t]*([\w+#.-]*)[^\n]*\n(.*?)(?:\n[ \t]*)?```", re.DOTALL)


def code_blocks(text: str) -> list[tuple[str, str]]:
    """Language and code of each fenced block, in order."""
    return [(match.group(1), match.group(2)) for match in _FENCE.finditer(text)]


def code_calls(text: str, *, name: str, call_id: str) -> tuple[ToolCall, ...]:
    """The one call that running all blocks of *text* is; none when it has no block."""
    blocks = code_blocks(text)
    if not blocks:
        return ()
    if len(blocks) == 1:
        language, code = blocks[0]
        return (ToolCall(call_id, name, json_text({"language": language, "code": code})),)
    listed = [{"language": language, "code": code} for language, code in blocks]
    return (ToolCall(call_id, name, json_text({"blocks": listed})),)
