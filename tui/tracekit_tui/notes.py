"""Notes of people about verdicts: lines that later versions of the rules are tested against."""

from __future__ import annotations

import json
from pathlib import Path

from tracekit import clock
from tracekit.folders import make_private, open_private
from tracekit_analyzers.model import TraceVerdict


def add_note(path: Path, verdict: TraceVerdict, text: str, who: str) -> Path:
    """Append one JSON line to *path*: the verdict in question, the words, the person, the time."""
    primary = None if verdict.primary is None else verdict.diagnoses[verdict.primary]
    line = {
        "at": clock.rfc3339(clock.now_ns()),
        "by": who,
        "trace_id": verdict.trace_id,
        "code": primary.code if primary else None,
        "failed_step": primary.failed_step if primary else None,
        "rule": primary.rule if primary else None,
        "note": text,
    }
    make_private(path.parent)
    with open_private(path, "ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
    return path
