"""The command line behind `:`: ids of actions, and a few verbs with an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit_tui.actions import ACTIONS, find

if TYPE_CHECKING:
    from tracekit_tui.app import Explorer


async def run_command(explorer: Explorer, text: str) -> None:
    """Do what *text* says; words that mean nothing are told back."""
    verb, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if not verb:
        return
    if verb in ("q", "quit"):
        explorer.exit(0)
    elif verb == "trace" and rest:
        _open_trace(explorer, rest)
    elif verb == "filter":
        _filter(explorer, rest)
    elif verb == "sql" and rest:
        _sql(explorer, rest)
    elif verb == "theme" and rest in explorer.available_themes:
        explorer.theme = rest
    else:
        action = find(verb) or next(
            (one for one in ACTIONS if one.title.lower() == text.strip().lower()), None
        )
        if action is None:
            action = find(f"app.{verb}") or find(f"{getattr(explorer.screen, 'place', '')}.{verb}")
        if action is None:
            explorer.notify(f"no command {text!r}: ? lists the actions", severity="warning", markup=False)
            return
        await explorer.do(action)


def _open_trace(explorer: Explorer, trace_id: str) -> None:
    controller = explorer.controller
    if controller is None:
        return

    def show(row: object) -> None:
        if row is None:
            explorer.notify(f"no trace begins with {trace_id!r}", severity="warning", markup=False)
            return
        explorer.look_at(row.trace_id, row.failed_step)  # type: ignore[attr-defined]
        explorer.go("trace")

    explorer.in_thread(lambda: controller.analysis.trace(trace_id), show, group="command-trace")


def _filter(explorer: Explorer, text: str) -> None:
    from tracekit_tui.screens.traces import TracesScreen

    explorer.go("traces")
    if isinstance(explorer.screen, TracesScreen):
        explorer.screen.set_filter(text)


def _sql(explorer: Explorer, text: str) -> None:
    from tracekit_tui.screens.sql import SqlScreen

    explorer.go("sql")

    def run() -> None:
        if isinstance(explorer.screen, SqlScreen):
            explorer.screen.set_query(text)

    explorer.call_after_refresh(run)
