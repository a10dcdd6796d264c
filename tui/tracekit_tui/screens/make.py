"""
Which class a screen's name stands for, and when two screens show the same.

A screen is imported when it is first opened: the first rows do not wait for what recovery needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from textual.screen import Screen

from tracekit_tui.frame import ExplorerScreen

CLASSES = {
    "traces": "TracesScreen",
    "trace": "TraceScreen",
    "verdict": "VerdictScreen",
    "recovery": "RecoveryScreen",
    "review": "ReviewScreen",
    "sql": "SqlScreen",
    "live": "LiveScreen",
    "groups": "GroupsScreen",
}
"""Name of a screen, which is also that of its module, to its class."""

OF_A_TRACE = ("trace", "verdict", "recovery")


def make_screen(name: str, trace_id: str | None, step_id: str | None) -> ExplorerScreen | None:
    """The screen *name* for a trace; None when it needs one and there is none."""
    if name in OF_A_TRACE and trace_id is None:
        return None
    screen = getattr(import_module(f"tracekit_tui.screens.{name}"), CLASSES[name])
    given = (trace_id, step_id) if name == "trace" else (trace_id,) if name in OF_A_TRACE else ()
    made: ExplorerScreen = screen(*given)
    return made


def same_place(screen: Screen[Any], wanted: ExplorerScreen) -> bool:
    """Whether *screen* already shows what *wanted* would."""
    return type(screen) is type(wanted) and getattr(screen, "trace_id", None) == getattr(
        wanted, "trace_id", None
    )
