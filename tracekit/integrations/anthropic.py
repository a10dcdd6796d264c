"""
Anthropic's SDK: messages, sync, async and streaming.

    from tracekit.integrations import anthropic
    anthropic.instrument()
"""

from __future__ import annotations

from tracekit.integrations import _stainless
from tracekit.integrations._anthropic_messages import Messages
from tracekit.integrations._patching import Patches, client

_patches = Patches()


def instrument() -> None:
    """Record every model call of every client from here on, those that exist already included."""
    _stainless.instrument(_patches, client("anthropic._base_client", "anthropic"), "anthropic", (Messages(),))


def uninstrument() -> None:
    """Leave the clients as they were."""
    _patches.undo()
