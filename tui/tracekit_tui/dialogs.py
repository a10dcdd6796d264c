"""Small windows over a screen: help, the copy menu, one question before something changes the world, a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tracekit_tui.actions import ACTIONS, Action, show_key
from tracekit_tui.background import Busy
from tracekit_tui.frame import Copyable, content
from tracekit_tui.list import Column, VirtualList, fixed_page, text_column
from tracekit_tui.marks import glyph
from tracekit_tui.text import Line, Run, clip, visible, wrap_words
from tracekit_tui.textpane import TextPane

if TYPE_CHECKING:
    from tracekit.store.rows import StepRow

Answer = TypeVar("Answer")

MIN_LINES = 4
"""A window is at least this high inside its frame."""


class Dialog(Busy, ModalScreen[Answer]):
    """A window that Esc or q closes with the answer None."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q", "close", "Close"),
    ]

    def action_close(self) -> None:
        self.dismiss(None)

    def grow(self, panel: Widget, lines: int, *, beside: int = 0) -> None:
        """
        Make *panel* as high as its *lines* need, as far as the window allows.

        Args:
            beside: Lines that the window needs for what stands below the panel.
        """
        frame = 2
        panel.styles.height = max(MIN_LINES, min(lines, self.size.height - 2 - frame - beside)) + frame


class Help(Dialog[None]):
    """The keys of the focused panel, of its screen, and everywhere."""

    def __init__(self, places: Sequence[str], keys: dict[str, str]) -> None:
        super().__init__()
        self.places = places
        self.keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield TextPane(id="help")

    def on_mount(self) -> None:
        pane = self.query_one(TextPane)
        pane.border_title = "keys here"
        pane.show(lambda width: help_lines(self.places, self.keys, width))
        pane.focus()


def help_lines(places: Sequence[str], keys: dict[str, str], width: int) -> list[Line]:
    """The table of actions at *places*, with the keys that the user gave them."""
    titles = {"app": "everywhere", "list": "in a list", "text": "in a text"}
    lines: list[Line] = []
    for place in places:
        found = [action for action in ACTIONS if action.place == place]
        if not found:
            continue
        lines.append(((titles.get(place, f"{place} screen"), "title"),))
        lines += [_help_line(action, keys, width) for action in found]
        lines.append((("", "plain"),))
    return lines


_HELP_KEY, _HELP_TITLE, _HELP_ID = 16, 40, 26
"""Cells of the three columns of the help."""


def _help_line(action: Action, keys: dict[str, str], width: int) -> Line:
    key = keys.get(action.id, action.key)
    shown = " ".join(show_key(part) for part in key.split(",")[:3])
    room = width - _HELP_KEY - _HELP_ID
    if room < _HELP_TITLE:
        # The id is for the key file and for `:`; a low window keeps the words whole.
        return ((f"  {shown:<14}", "accent"), (clip(action.title, max(8, width - _HELP_KEY)), "plain"))
    return (
        (f"  {shown:<14}", "accent"),
        (clip(action.title, room).ljust(room), "plain"),
        (f" {action.id}", "dim"),
    )


class CopyMenu(Dialog[Copyable]):
    """What can be copied here."""

    def __init__(self, found: Sequence[Copyable]) -> None:
        super().__init__()
        self.found = found

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog small"):
            yield VirtualList(id="copies", title="copy")

    def on_mount(self) -> None:
        columns: list[Column[Any]] = [Column("the original value of", lambda row, width: [(row[0], "plain")])]
        chosen = self.query_one(VirtualList)
        chosen.feed(columns, fixed_page(self.found))
        chosen.focus()
        self.grow(chosen, len(self.found) + 1)

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        self.dismiss(event.row)


class ChooseStep(Dialog[str]):
    """Which call of a journal to go back to before; answers its place."""

    def __init__(self, steps: Sequence[StepRow]) -> None:
        super().__init__()
        self.steps = steps

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog small"):
            yield VirtualList(id="places", title="go back to before which call; all before it is kept")

    def on_mount(self) -> None:
        columns: list[Column[Any]] = [
            text_column("call", lambda row: row.place, width=10),
            Column("", lambda row, width: [glyph(str(row.status))], width=1),
            Column("what", lambda row, width: [(f"{row.kind} ", "dim"), (row.name, "plain")]),
        ]
        chosen = self.query_one(VirtualList)
        chosen.feed(columns, fixed_page(self.steps), at=max(0, len(self.steps) - 1))
        chosen.focus()
        self.grow(chosen, len(self.steps) + 1)

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        self.dismiss(event.row.place)


class Confirm(Dialog[bool]):
    """Says exactly what will run, and asks once."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("enter,y", "yes", "Do it"),
        Binding("n", "close", "Leave it"),
    ]

    def __init__(self, title: str, lines: Sequence[Line]) -> None:
        super().__init__()
        self.heading = title
        self.lines = lines

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog small"):
            yield TextPane(id="confirm")
            yield Static("", id="answer", markup=False)

    def on_mount(self) -> None:
        pane = self.query_one(TextPane)
        pane.border_title = visible(self.heading).replace("[", "(").replace("]", ")")
        pane.show(lambda width: _wrapped_lines(self.lines, width))
        pane.focus()
        answers: list[Run] = [
            (" Enter ", "bar"),
            ("do it  ", "plain"),
            (" Esc ", "bar"),
            ("leave it", "plain"),
        ]
        self.query_one("#answer", Static).update(content(answers))

    def on_resize(self) -> None:
        # Once the width of the text is known, which is after the layout.
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        pane = self.query_one(TextPane)
        self.grow(pane, len(_wrapped_lines(self.lines, pane.inner_width)), beside=1)

    def action_yes(self) -> None:
        self.dismiss(True)


def _wrapped_lines(lines: Sequence[Line], width: int) -> list[Line]:
    found: list[Line] = []
    for line in lines:
        if len(line) == 1:
            found += [((part, line[0][1]),) for part in wrap_words(line[0][0], width)]
        else:
            found.append(line)
    return found


class Ask(Dialog[str]):
    """
    A text of several lines from a person, such as edited arguments; Ctrl-S gives it.

    Args:
        check: What is wrong with a text, in words; None when it may be given. A wrong one stays for mending.
        replaced: The first text only shows what may stand there: what is typed takes its place.
    """

    BINDINGS: ClassVar[list[Any]] = [
        Binding("ctrl+s", "give", "Done", priority=True),
        Binding("escape", "close", "Leave", priority=True),
    ]

    def __init__(
        self,
        title: str,
        text: str,
        about: str = "",
        *,
        check: Callable[[str], str | None] = lambda text: None,
        replaced: bool = False,
    ) -> None:
        super().__init__()
        self.heading = title
        self.text = text
        self.about = about
        self.check = check
        self.replaced = replaced

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static("", id="about", markup=False)
            yield TextArea(self.text, id="ask")
            yield Static("", id="wrong", markup=False)
            yield Static("", id="answer", markup=False)

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.border_title = visible(self.heading).replace("[", "(").replace("]", ")")
        self.query_one("#about", Static).update(content([(self.about, "plain")]))
        self.query_one("#wrong", Static).display = False
        area.focus()
        if self.replaced:
            area.select_all()
        answers: list[Run] = [
            (" Ctrl-S ", "bar"),
            ("use this  ", "plain"),
            (" Esc ", "bar"),
            ("leave it", "plain"),
        ]
        self.query_one("#answer", Static).update(content(answers))

    def action_give(self) -> None:
        text = self.query_one(TextArea).text
        wrong = self.check(text)
        if wrong is None:
            self.dismiss(text)
        else:
            told = self.query_one("#wrong", Static)
            told.display = True
            told.update(content([(wrong, "error")]))
