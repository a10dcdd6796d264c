"""
OpenAI's SDK: chat completions and responses, sync, async and streaming, with every wrapper that the SDK has.

    from tracekit.integrations import openai
    openai.instrument()
"""

from __future__ import annotations

from tracekit.integrations import _stainless
from tracekit.integrations._openai_chat import Chat
from tracekit.integrations._openai_responses import Responses
from tracekit.integrations._patching import Patches, client

_patches = Patches()


def instrument() -> None:
    """Record every model call of every client from here on, those that exist already included."""
    _stainless.instrument(_patches, client("openai._base_client", "openai"), "openai", (Chat(), Responses()))


def uninstrument() -> None:
    """Leave the clients as they were."""
    _patches.undo()
