"""
Anthropic's SDK: messages, sync, async and streaming, and the tools that its tool runner calls.

    from tracekit.integrations import anthropic
    anthropic.instrument()
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tracekit.errors import TracekitError
from tracekit.integrations import _stainless
from tracekit.integrations._anthropic_messages import Messages
from tracekit.integrations._patching import Patches, client
from tracekit.model import StepKind
from tracekit.recording.ending import StepBlock
from tracekit.recording.failure import ToldError
from tracekit.recording.foreign_messages import json_text
from tracekit.recording.recorder import recorder
from tracekit.tools import carrying_out

_patches = Patches()


def instrument() -> None:
    """Record every model call of every client from here on, those that exist already included, and the runner's tools."""
    if _patches:
        return
    _stainless.instrument(_patches, client("anthropic._base_client", "anthropic"), "anthropic", (Messages(),))
    try:
        runner = client("anthropic.lib.tools._beta_runner", "anthropic")
    except TracekitError:
        return  # older than its tool runner
    for name, make in (("BaseSyncToolRunner", _sync), ("BaseAsyncToolRunner", _async)):
        owner = getattr(runner, name, None)
        if hasattr(owner, "_run_tool"):
            _patches.wrap(owner, "_run_tool", make)


def uninstrument() -> None:
    """Leave the clients as they were."""
    _patches.undo()


def _sync(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _run_tool(self: Any, tool: Any, tool_use: Any) -> Any:
        with _calling(tool_use) as block:
            result = original(self, tool, tool_use)
            _tell(block, result)
        return result

    return _run_tool


def _async(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def _run_tool(self: Any, tool: Any, tool_use: Any) -> Any:
        with _calling(tool_use) as block:
            result = await original(self, tool, tool_use)
            _tell(block, result)
        return result

    return _run_tool


@contextmanager
def _calling(tool_use: Any) -> Iterator[StepBlock]:
    """The block of one call; a function that is a `@tracekit.tool` in it records the call itself."""
    name = tool_use.name
    step = recorder().begin(StepKind.TOOL, name, tool_name=name, call_id=tool_use.id, input=tool_use.input)
    with StepBlock(step) as block, carrying_out(tool_use.id) as call:
        try:
            yield block
        finally:
            if call.is_taken:
                step.demote()


def _tell(block: StepBlock, result: Any) -> None:
    """What the model is answered; an error that the tool raised is in it, as text."""
    block.output = result.get("content")
    if result.get("is_error"):
        block.error = ToldError("tool_error", json_text(block.output))
