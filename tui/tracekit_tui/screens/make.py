"""Which class a screen's name stands for, and when two screens show the same."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from tracekit_tui.frame import ExplorerScreen
from tracekit_tui.screens.live import LiveScreen
from tracekit_tui.screens.recovery import RecoveryScreen
from tracekit_tui.screens.review import ReviewScreen
from tracekit_tui.screens.sql import SqlScreen
from tracekit_tui.screens.trace import TraceScreen
from tracekit_tui.screens.traces import TracesScreen
from tracekit_tui.screens.verdict import VerdictScreen


def make_screen(name: str, trace_id: str | None, step_id: str | None) -> ExplorerScreen | None:
    """The screen *name* for a trace; None when it needs one and there is none."""
    if name == "traces":
        return TracesScreen()
    if name == "review":
        return ReviewScreen()
    if name == "sql":
        return SqlScreen()
    if name == "live":
        return LiveScreen()
    if trace_id is None:
        return None
    if name == "trace":
        return TraceScreen(trace_id, step_id)
    if name == "verdict":
        return VerdictScreen(trace_id)
    return RecoveryScreen(trace_id)


def same_place(screen: Screen[Any], wanted: ExplorerScreen) -> bool:
    """Whether *screen* already shows what *wanted* would."""
    return type(screen) is type(wanted) and getattr(screen, "trace_id", None) == getattr(
        wanted, "trace_id", None
    )
