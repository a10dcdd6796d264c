"""The app: which screen is open on what, reading in the background, and the actions that every screen has."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from typing import Any, ClassVar

from textual.app import App, SuspendNotSupported
from textual.binding import Binding
from textual.screen import Screen

from tracekit.errors import TracekitError
from tracekit_tui import outside
from tracekit_tui.actions import Action, bindings
from tracekit_tui.background import Busy, off_loop
from tracekit_tui.commandline import run_command
from tracekit_tui.controller import Controller
from tracekit_tui.dialogs import CopyMenu, Help
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import VirtualList
from tracekit_tui.marks import counted, megabytes
from tracekit_tui.palette import ActionProvider
from tracekit_tui.screens.make import make_screen, same_place
from tracekit_tui.screens.traces import TracesScreen
from tracekit_tui.textpane import TextPane
from tracekit_tui.themes import DARK, INKS, LIGHT, THEMES, starting_theme, without_colour

FOLLOW_S = 1.0
FOLLOW_REST = 3.0
"""Following rests so many times as long as the last reading took, so that it takes no more than a quarter of a core ..."""
FOLLOW_MOST_REST_S = 8.0
"""... but no longer than this: a person looks on."""

SLOW_S = 1.5
"""After so long without an answer the top line says that one is waited for."""
READING = ("read", "open")
"""Work of which the top line says how far it is."""


class Explorer(Busy, App[int]):
    """Look at traces, judge, recover."""

    TITLE = "tracekit"
    CSS_PATH = "explorer.tcss"
    COMMANDS: ClassVar[set[Any]] = {ActionProvider}
    BINDINGS: ClassVar[list[Any]] = [
        *bindings("app"),
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
    ]
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, opener: Callable[[], Controller], *, keys: dict[str, str] | None = None) -> None:
        # Asked before Textual takes NO_COLOR out of the environment.
        theme = starting_theme(os.environ)
        # Without colour the terminal's own two are kept: Textual would make greys of colours that it can't know.
        super().__init__(ansi_color=True if without_colour(os.environ) else None)
        self._opener = opener
        self.keys = keys or {}
        self.controller: Controller | None = None
        self.trace_id: str | None = None
        self.step_id: str | None = None
        self.loading = False
        self.gave_up = ""
        """Why nothing is being read: the words of the last error."""
        self.read_again = False
        self.news_shown = 0
        """How much of what the first reading told before its end is on the screen."""
        self.judged_once = False
        self.following = False
        self._rested_at = self._read_at = 0.0
        """When (`time.monotonic`) following may read again, and when the last reading began."""
        self._version = -1
        """Which state of the analysis is on the screen."""
        self.traces_read = 0
        self.bad_lines = 0
        self.waits: dict[object, tuple[str, float]] = {}
        """What is being worked out in threads: its group, and since when (`time.monotonic`)."""
        self.tells_to_wait = False
        self.defects: list[Exception] = []
        """Errors that are ours: told to the person, and what a test looks at."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = theme
        if self.keys:
            self.set_keymap(self.keys)

    def get_default_screen(self) -> Screen[Any]:
        return TracesScreen()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return INKS

    def on_mount(self) -> None:
        self._open()
        self.set_interval(0.2, self._tick)
        self.set_interval(FOLLOW_S, self._follow)

    # ------------------------------------------------------------------ reading

    def _opened(self, controller: Controller) -> None:
        self.controller = controller
        self.read()

    def _open(self) -> None:
        self.in_thread(self._opener, self._opened, group="open")

    def unexpected(self, error: Exception) -> None:
        super().unexpected(error)
        self._give_up(f"internal error: {type(error).__name__}: {error}")

    def failed(self, error: TracekitError) -> None:
        super().failed(error)
        self._give_up(f"{error} [{error.code}]")

    def _give_up(self, why: str) -> None:
        """A reading that fails would fail each second again: it waits for the person."""
        if self.controller is not None and not self.loading:
            return
        self.gave_up = why
        self.loading = self.following = self.read_again = False
        self._version = -1
        self._show_new()
        self._version = -1

    def read(self) -> None:
        """Read what is new, in the background; screens then show it."""
        controller = self.controller
        if controller is None:
            return
        self.gave_up = ""
        if self.loading:
            # What was written since this reading began would be missed: the last lines of a recovery, most of all.
            self.read_again = True
            return
        self.loading = True
        self._read_at = time.monotonic()
        self.in_thread(controller.load, self._read, group="read", exclusive=False)

    def _read(self, counts: tuple[int, int]) -> None:
        self.loading = False
        now = time.monotonic()
        self._rested_at = now + min(FOLLOW_MOST_REST_S, FOLLOW_REST * (now - self._read_at))
        if self.read_again:
            self.read_again = False
            self.read()
        self.judged_once = True
        self.traces_read, self.bad_lines = counts
        self._show_new()

    def _show_new(self) -> None:
        controller = self.controller
        version = None if controller is None or controller.from_store else controller.analysis.version
        # Each second of following would ask everything again, though nothing was written.
        is_new = version is None or version != self._version or self.loading
        self._version = -1 if version is None else version
        if controller is not None:
            self.news_shown = controller.news
        for screen in self.screen_stack:
            if isinstance(screen, ExplorerScreen):
                if is_new or screen.shows_store:
                    screen.changed()
                screen.tell()

    @property
    def unjudged(self) -> bool:
        """Whether the first verdicts are still being worked out."""
        return self.loading and not self.judged_once

    @property
    def is_slow(self) -> bool:
        """Whether a person has been waiting for an answer, such as one of a store that another process keeps locked."""
        since = time.monotonic() - SLOW_S
        return any(began < since for group, began in self.waits.values() if group not in READING)

    def is_waiting_for(self, group: str) -> bool:
        """Whether an answer of *group* is on its way."""
        return any(group == known for known, _ in self.waits.values())

    def _tick(self) -> None:
        if not self.loading:
            if self.is_slow != self.tells_to_wait:
                self.tells_to_wait = self.is_slow
                self._tell()
            return
        if self.controller is not None and self.controller.news > self.news_shown:
            # The first reading has rows: they are shown while it goes on.
            self._show_new()
        else:
            self._tell()

    def _tell(self) -> None:
        if isinstance(self.screen, ExplorerScreen):
            self.screen.tell()

    def _follow(self) -> None:
        if self.following:
            self.read_when_rested()

    def read_when_rested(self) -> None:
        """Read what is new, unless the reading before is going on or has only just ended."""
        if not self.loading and time.monotonic() >= self._rested_at:
            self.read()

    def reading_note(self) -> str:
        """How far reading has come, or what was read, for the top line."""
        if self.gave_up:
            return "not read: Ctrl-R tries again"
        if self.tells_to_wait and not self.loading:
            return "waiting for an answer …"
        follow = "follow · " if self.following else ""
        progress = self.controller.progress if self.controller is not None else None
        if self.loading and progress is not None and progress.stage != "done" and not self.following:
            if progress.stage == "reading":
                return f"read {megabytes(progress.done_bytes)} of {megabytes(progress.total_bytes)} MB"
            return f"{progress.stage} …"
        if self.controller is None or (self.loading and not self.following):
            return "reading …"
        damage = f" · {self.bad_lines:,} damaged (Ctrl-W)" if self.bad_lines else ""
        return (
            f"{follow}{counted(self.traces_read, 'task' if self.controller.from_store else 'trace')}{damage}"
        )

    # ------------------------------------------------------------------ going places

    def look_at(self, trace_id: str, step_id: str | None) -> None:
        """Remember what the person looks at: the other screens open on it."""
        self.trace_id, self.step_id = trace_id, step_id

    def go(self, name: str, step_id: str | None = None) -> None:
        """Open the screen *name* on the trace in sight, or go back to it where it is already open below."""
        if self.controller is None and name != "traces":
            return
        wanted = make_screen(name, self.trace_id, step_id or self.step_id)
        if wanted is None:
            self.notify("choose a trace first: 1 lists them", markup=False)
            return
        stack = self.screen_stack
        for position in range(len(stack) - 1, -1, -1):
            screen = stack[position]
            if same_place(screen, wanted):
                for _ in range(len(stack) - 1 - position):
                    self.pop_screen()
                if step_id is not None and hasattr(screen, "jump"):
                    screen.jump(step_id)
                return
        self.push_screen(wanted)

    def open_diff(self, first: str, second: str) -> None:
        """Open the two traces side by side."""
        from tracekit_tui.screens.diff import DiffScreen

        self.push_screen(DiffScreen(first, second))

    def action_goto(self, name: str) -> None:
        if isinstance(self.screen, ExplorerScreen):
            self.go(name)

    def action_up_one_level(self) -> None:
        screen = self.screen
        if isinstance(screen, ExplorerScreen) and screen.go_back():
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()

    def action_leave(self) -> None:
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.exit(0)

    async def do(self, action: Action) -> None:
        """Run *action* as its key would."""
        target: Any = self if action.place == "app" else self.screen
        if action.place in ("list", "text") and self.screen.focused is not None:
            target = self.screen.focused
        await self.run_action(action.method, default_namespace=target)

    def key_of(self, action: Action) -> str:
        """The key that runs *action* here, the user's own where one is given."""
        return self.keys.get(action.id, action.key).split(",")[0]

    # ------------------------------------------------------------------ actions of every screen

    def action_help(self) -> None:
        screen = self.screen
        if not isinstance(screen, ExplorerScreen):
            return
        panel = {VirtualList: "list", TextPane: "text"}.get(type(screen.focused), "")  # type: ignore[arg-type]
        self.push_screen(Help([place for place in (screen.place, panel, "app") if place], self.keys))

    def action_command_line(self) -> None:
        if isinstance(self.screen, ExplorerScreen):
            self.screen.ask(": action or trace ID, filter TEXT, sql TEXT, theme NAME, q", "", self._command)

    def _command(self, text: str) -> None:
        self.run_worker(run_command(self, text), group="command")

    def action_reload(self) -> None:
        if self.controller is None:
            self.gave_up = ""
            self._open()
        self.read()

    def action_follow(self) -> None:
        self.following = not self.following
        self.notify("following" if self.following else "not following", markup=False, timeout=2)
        if isinstance(self.screen, ExplorerScreen):
            self.screen.tell()

    def action_next_theme(self) -> None:
        at = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(at + 1) % len(THEMES)]

    def action_damage(self) -> None:
        from tracekit_tui.screens.damage import DamageScreen

        if self.controller is not None:
            self.push_screen(DamageScreen())

    def action_copy(self) -> None:
        screen = self.screen
        if not isinstance(screen, ExplorerScreen):
            return
        found = screen.copyable()
        if found:
            self.push_screen(CopyMenu(found), self._copy)
        else:
            self.notify("nothing to copy here", markup=False)

    def _copy(self, chosen: Copyable | None) -> None:
        if chosen is not None:
            self.in_thread(chosen[1], lambda text: self._give(chosen[0], text), group="copy")

    def _give(self, title: str, text: str) -> None:
        environment = dict(os.environ)
        size = f"{len(text):,} characters"
        if outside.by_terminal(text, environment):
            self.copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))
            self.notify(f"{title}: {size} given to the terminal", markup=False)
            return
        tool = outside.by_tool(text, environment)
        if tool is not None:
            self.notify(f"{title}: {size} copied by {tool}", markup=False)
            return
        self.notify(f"{title}: {size} written to {outside.to_file(text)}", markup=False, timeout=10)

    def action_edit(self) -> None:
        self._open_outside(lambda path: outside.editor_command(path))

    def action_page(self) -> None:
        self._open_outside(lambda path: outside.pager_command(path))

    def _open_outside(self, command: Callable[[Any], list[str]]) -> None:
        screen = self.screen
        chosen = screen.whole_text() if isinstance(screen, ExplorerScreen) else None
        if chosen is None:
            self.notify("nothing to open here", markup=False)
            return
        self.run_worker(self._outside(chosen, command), group="outside")

    async def _outside(self, chosen: Copyable, command: Callable[[Any], list[str]]) -> None:
        text = await off_loop(chosen[1])
        path = outside.to_file(text, folder=outside.lent_folder())
        words = command(path)
        try:
            with self.suspend():
                subprocess.run(words, check=False)
        except SuspendNotSupported:
            self.notify(
                f"{chosen[0]} is in {path}: this terminal can't be lent to {words[0]}",
                markup=False,
                timeout=10,
            )
        except OSError as error:
            self.notify(
                f"{words[0]}: {error}; the value is in {path}", severity="error", markup=False, timeout=10
            )
        self.refresh(layout=True)
