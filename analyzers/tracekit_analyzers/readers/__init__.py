"""
The readers: one file each, a translator from one foreign format to native records.

Of readers that are equally sure of a file the first one in this list takes it.
"""

from __future__ import annotations

from tracekit_analyzers.model import Reader
from tracekit_analyzers.readers import openai_chat

READERS: tuple[Reader, ...] = (openai_chat.READER,)
"""Every reader, the most particular formats first."""
