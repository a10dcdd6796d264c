"""What one export request holds: spans that can be written, and words on those that can't."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tracekit.recording.foreign import ForeignSpan

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")


class Undecodable(Exception):
    """The body is not what its content type says; the message goes to the client."""


@dataclass(slots=True)
class Received:
    """Spans of one request in its order."""

    spans: list[ForeignSpan] = field(default_factory=list)
    rejected: int = 0
    why: str = ""
    """What is wrong with the first span that was refused."""

    def reject(self, why: str) -> None:
        """Count a span that can't be written."""
        self.rejected += 1
        self.why = self.why or why


def check_ids(trace_id: str, span_id: str) -> None:
    """Raise `ValueError` where a span can't be named by these ids."""
    if not _TRACE_ID.fullmatch(trace_id):
        raise ValueError(f"expected a traceId of 32 hexadecimal digits, not all zero, got {trace_id[:40]!r}")
    if not _SPAN_ID.fullmatch(span_id):
        raise ValueError(f"expected a spanId of 16 hexadecimal digits, not all zero, got {span_id[:40]!r}")
