"""What every screen has: a line on top that says where it is, a prompt, and a line of keys at the bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from tracekit_tui.actions import at, bindings, named, show_key
from tracekit_tui.background import Busy
from tracekit_tui.text import Ink, Run, clip, visible

if TYPE_CHECKING:
    from tracekit_tui.app import Explorer

LOW_BELOW_HEIGHT = 28
"""A lower window gives its lists more of the room."""
TINY_BELOW_HEIGHT = 16
"""A lower one has room for one panel, or for two of a few lines."""

PROMPT_KEYS = [("Enter", "done"), ("Esc", "leave it")]
"""What counts while a line is asked for: letters are text then."""

HELP, OPEN = named("app.help"), named("list.open")

Copyable = tuple[str, Callable[[], str]]
"""A title for the copy menu and what gives the original value; called in a thread."""

_STYLES: dict[Ink, str] = {
    "plain": "",
    "dim": "$ink-dim",
    "ok": "$ink-ok",
    "error": "bold $ink-error",
    "warn": "$ink-warn",
    "accent": "$ink-accent",
    "strong": "bold",
    "title": "bold $ink-title",
    "bar": "bold $ink-title",
}


def content(runs: Iterable[Run]) -> Content:
    """Runs as Textual content: their text is never read as markup."""
    return Content.assemble(*[(visible(text), _STYLES[ink]) for text, ink in runs])


class Prompt(Input):
    """One line of input at the bottom: filter, search, command, note."""

    def __init__(self) -> None:
        super().__init__(id="prompt", compact=True)
        self._done: Callable[[str], None] | None = None
        self._back: Widget | None = None

    def ask(self, label: str, value: str, done: Callable[[str], None]) -> None:
        """Ask for a line; *done* gets it on Enter, Esc asks no more."""
        self._done, self._back = done, self.screen.focused
        self.border_title = label
        self.value = value
        self.add_class("open")
        self.cursor_position = len(value)
        self.focus()
        self._tell()

    def close(self) -> bool:
        """Whether it was open; it is not any more."""
        was_open = self.has_class("open")
        self.remove_class("open")
        if was_open and self._back is not None:
            self._back.focus()
        self._tell()
        return was_open

    def _tell(self) -> None:
        if isinstance(self.screen, ExplorerScreen):
            self.screen.tell()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        done = self._done
        self.close()
        if done is not None:
            done(event.value)


class ExplorerScreen(Busy, Screen[None]):
    """A screen with its frame; sub-classes give `place`, the body and what can be copied."""

    place: ClassVar[str] = ""
    number: ClassVar[int] = 0
    enter: ClassVar[str] = ""
    """What Enter does here, for the line of keys; empty where it does nothing."""
    shows_store: ClassVar[bool] = False
    """It has to be shown anew though no log has changed: the store may have."""

    def __init_subclass__(cls, **options: Any) -> None:
        if "BINDINGS" not in cls.__dict__ and "place" in cls.__dict__:
            cls.BINDINGS = bindings(cls.place)
        super().__init_subclass__(**options)

    @property
    def explorer(self) -> Explorer:
        """The app, with its own type."""
        from tracekit_tui.app import Explorer

        assert isinstance(self.app, Explorer)
        return self.app

    def compose(self) -> ComposeResult:
        yield Static("", id="crumb", markup=False)
        yield from self.body()
        yield Prompt()
        yield Static("", id="keys", markup=False)

    def body(self) -> ComposeResult:
        """The widgets between the top line and the keys."""
        yield from ()

    def on_mount(self) -> None:
        self.tell()
        self.start()

    def start(self) -> None:
        """Ask for what this screen shows; called once and after each reading of something new."""

    def changed(self) -> None:
        """Something new was read: show it, and keep the place."""
        self.start()

    def crumb(self) -> list[Run]:
        """What the top line says after the number and the name."""
        return []

    def tell(self) -> None:
        """Write the top line and the keys again."""
        if not self.is_attached or not self.query("#crumb"):
            return
        head: list[Run] = [(f" {self.number or ''} {self.place.upper()} ", "title")]
        end = self.explorer.reading_note()
        runs = [*head, *self.crumb()]
        width = max(20, self.size.width)
        room = width - len(end) - 2
        self.query_one("#crumb", Static).update(content([*_cut(runs, room), (f" {end} ", "dim")]))
        self.query_one("#keys", Static).update(content(self._keys(width)))

    def _keys(self, width: int) -> list[Run]:
        if self.query_one(Prompt).has_class("open"):
            return _key_runs(PROMPT_KEYS, width)
        end = _key_runs([(self.explorer.key_of(HELP), "help")], width)
        room = width - sum(len(text) for text, _ in end)
        return [*_key_runs(self.keys_here(), room), *end]

    def keys_here(self) -> list[tuple[str, str]]:
        """The keys that matter most here, with what they do."""
        found = [(self.explorer.key_of(action), action.footer) for action in at(self.place) if action.footer]
        return [(self.explorer.key_of(OPEN), self.enter), *found] if self.enter else found

    def on_resize(self) -> None:
        self.set_class(self.size.height < LOW_BELOW_HEIGHT, "low")
        self.set_class(self.size.height < TINY_BELOW_HEIGHT, "tiny")
        self.tell()

    def on_screen_resume(self) -> None:
        self.tell()

    def ask(self, label: str, value: str, done: Callable[[str], None]) -> None:
        """Ask for a line at the bottom."""
        self.query_one(Prompt).ask(label, value, done)

    def go_back(self) -> bool:
        """Whether there was something inside this screen to go back from."""
        return self.query_one(Prompt).close()

    def copyable(self) -> list[Copyable]:
        """What the copy menu offers here; the first is the most wanted."""
        return []

    def whole_text(self) -> Copyable | None:
        """What the editor and the pager open here."""
        found = self.copyable()
        return found[0] if found else None


def _key_runs(keys: Iterable[tuple[str, str]], room: int) -> list[Run]:
    """As many of *keys* with what they do as there is room for."""
    runs: list[Run] = []
    for key, title in keys:
        pair: list[Run] = [(f" {show_key(key)} ", "bar"), (f"{title} ", "dim")]
        room -= sum(len(text) for text, _ in pair)
        if room < 0:
            break
        runs += pair
    return runs


def _cut(runs: Iterable[Run], room: int) -> list[Run]:
    done: list[Run] = []
    for text, ink in runs:
        if room <= 0:
            break
        text = clip(visible(text), room)
        room -= cell_len(text)
        done.append((text, ink))
    return [*done, (" " * max(0, room), "plain")]
