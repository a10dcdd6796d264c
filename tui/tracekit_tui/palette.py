"""The command palette: every action of the table that this screen has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tracekit_tui.actions import Action, at
from tracekit_tui.frame import ExplorerScreen

if TYPE_CHECKING:
    from tracekit_tui.app import Explorer


class ActionProvider(Provider):
    """Actions by their title."""

    @property
    def _actions(self) -> list[Action]:
        screen = self.screen
        places = ["app"] if not isinstance(screen, ExplorerScreen) else [screen.place, "app"]
        # Those of this screen first.
        return sorted(at(*places), key=lambda action: places.index(action.place))

    async def discover(self) -> Hits:
        for action in self._actions:
            yield DiscoveryHit(
                action.title, partial(self._run, action), help=f"{action.shown_key}  {action.id}"
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._actions:
            score = matcher.match(f"{action.title} {action.id}")
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(action.title),
                    partial(self._run, action),
                    help=f"{action.shown_key}  {action.id}",
                )

    async def _run(self, action: Action) -> None:
        explorer: Explorer = self.app  # type: ignore[assignment]  # the palette lives in this app only
        await explorer.do(action)
