"""
MCP: each `tools/call` of a client session is a tool step; a result with `isError` is an error of type `tool_error`.

    from tracekit.integrations import mcp
    mcp.instrument()
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace

from tracekit.integrations._patching import Patches, client
from tracekit.model import StepKind
from tracekit.recording.ending import StepBlock
from tracekit.recording.failure import ToldError
from tracekit.recording.open_step import CURRENT_STEP, OpenStep
from tracekit.recording.recorder import recorder
from tracekit.tools import take_call_id

_patches = Patches()
_METHOD = {"mcp.method.name": "tools/call"}


def instrument() -> None:
    """Record every tool call of every client session from here on."""
    if not _patches:
        _patches.wrap(client("mcp", "mcp").ClientSession, "call_tool", _recorded)


def uninstrument() -> None:
    """Leave the sessions as they were."""
    _patches.undo()


def _recorded(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def call_tool(self: Any, name: str, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:
        outer = _step_of_the_same_tool(name)
        if outer is not None:
            outer.note(**_METHOD)
            result = await original(self, name, arguments, *args, **kwargs)
            if _is_error(result):
                outer.note(**{"mcp.is_error": True})
            return result
        step = recorder().begin(
            StepKind.TOOL,
            name,
            tool_name=name,
            call_id=take_call_id(),
            input=arguments or {},
            attributes=_attributes(self),
        )
        with StepBlock(step) as block:
            try:
                result = await original(self, name, arguments, *args, **kwargs)
            except Exception as error:
                _note_code(step, error)
                raise
            block.output = _shown(result)
            if _is_error(result):
                block.error = ToldError("tool_error", _text(result))
        return result

    return call_tool


def _attributes(session: Any) -> dict[str, str]:
    version = getattr(session, "protocol_version", None)
    return {**_METHOD, "mcp.protocol.version": version} if isinstance(version, str) else _METHOD


def _note_code(step: OpenStep, error: Exception) -> None:
    """The code of an error that the server answered with; other exceptions have none."""
    code = getattr(getattr(error, "error", None), "code", None)
    if isinstance(code, int):
        step.note(**{"rpc.response.status_code": str(code)})


def _step_of_the_same_tool(name: str) -> OpenStep | None:
    """A tool step around the call that is the same call: it gets the attributes, so that one call counts once."""
    context = otel_context.get_current()
    step = context.get(CURRENT_STEP)
    if isinstance(step, OpenStep) and step.kind is StepKind.TOOL and step.tool_name == name:
        return step if trace.get_current_span(context) is step.span else None
    return None


def _is_error(result: Any) -> bool:
    """Whether the tool says that it failed; the name differs between versions of the SDK."""
    return bool(getattr(result, "is_error", getattr(result, "isError", False)))


def _shown(result: Any) -> Any:
    """What the tool answered: its structured content where it gives one, else its text, else all its parts."""
    structured = getattr(result, "structured_content", getattr(result, "structuredContent", None))
    if structured is not None:
        return structured
    parts = getattr(result, "content", None)
    if parts is None:
        return result
    if all(getattr(part, "type", None) == "text" for part in parts):
        return _text(result)
    return list(parts)


def _text(result: Any) -> str:
    return "\n".join(
        part.text for part in getattr(result, "content", ()) if getattr(part, "type", None) == "text"
    )
