"""Where an attempt stopped, as its user reads it: without the inside of tracekit."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

import tracekit
from tracekit.errors import Divergence, RequiresReview

_OURS = str(Path(tracekit.__file__).parent) + os.sep


def shorten_stop(error: BaseException) -> None:
    """Leave of a stop's traceback only the user's own lines; it is no defect whose way through tracekit tells anything."""
    if isinstance(error, RequiresReview | Divergence):
        error.__traceback__ = _without_ours(error.__traceback__)


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for entry in reversed(entries):
        if not entry.tb_frame.f_code.co_filename.startswith(_OURS):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
