"""
The one table of what a person can do: bindings, help, palette, command line and the user's key file all read it.

`place` says where an action lives: `app` everywhere, `list` and `text` in those panels, else the name of a screen.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a person can do at one place."""

    id: str
    """Stable; what the key file names."""
    key: str
    """Textual's name of the key; several with commas."""
    title: str
    place: str
    method: str
    """Textual action to run, such as `goto('verdict')`."""
    footer: str = ""
    """Its words in the bottom line of its screen; empty where it does not stand there."""
    priority: bool = False
    """Wins over a focused input field."""

    @property
    def shown_key(self) -> str:
        """The key as a person reads it: `Ctrl-D`, `?`, `Enter`."""
        return " ".join(show_key(key) for key in self.key.split(",")[:2])


_SIGNS = {
    "slash": "/", "question_mark": "?", "colon": ":", "left_square_bracket": "[", "right_square_bracket": "]",
    "equals_sign": "=", "less_than_sign": "<", "greater_than_sign": ">", "escape": "Esc", "enter": "Enter",
    "space": "Space", "tab": "Tab", "shift+tab": "Shift-Tab", "up": "↑", "down": "↓", "left": "←", "right": "→",
    "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End",
}  # fmt: skip


def show_key(key: str) -> str:
    """The name of *key* as a person reads it."""
    key = key.strip()
    if key in _SIGNS:
        return _SIGNS[key]
    if key.startswith("ctrl+"):
        return "Ctrl-" + show_key(key[5:]).capitalize()
    return key.upper() if len(key) > 1 and key[0] == "f" and key[1:].isdigit() else key


ACTIONS: tuple[Action, ...] = (
    Action("app.traces", "1", "Traces", "app", "app.goto('traces')"),
    Action("app.trace", "2", "Trace", "app", "app.goto('trace')"),
    Action("app.verdict", "3", "Verdict", "app", "app.goto('verdict')"),
    Action("app.recovery", "4", "Recovery", "app", "app.goto('recovery')"),
    Action("app.review", "5", "Review queue", "app", "app.goto('review')"),
    Action("app.sql", "6", "SQL", "app", "app.goto('sql')"),
    Action("app.live", "7", "Live", "app", "app.goto('live')"),
    Action("app.help", "question_mark", "Help for this panel", "app", "help"),
    Action("app.command", "colon", "Command line", "app", "command_line"),
    Action("app.palette", "ctrl+p", "Command palette", "app", "command_palette", priority=True),
    Action("app.back", "escape", "Back one level", "app", "up_one_level"),
    Action("app.quit", "q", "Back, then quit", "app", "leave"),
    Action("app.reload", "ctrl+r", "Read again what is new", "app", "reload"),
    Action("app.suspend", "ctrl+z", "Suspend to the shell", "app", "suspend_process", priority=True),
    Action("app.theme", "ctrl+t", "Next theme", "app", "next_theme"),
    Action("app.damage", "ctrl+w", "Damaged lines", "app", "damage"),
    Action("app.copy", "y", "Copy menu", "app", "copy"),
    Action("app.edit", "e", "Open in $EDITOR", "app", "edit"),
    Action("app.page", "o", "Open in pager", "app", "page"),
    Action("app.follow", "f", "Follow what is being written", "app", "follow"),
    Action("app.next_panel", "tab", "Next panel", "app", "app.focus_next"),
    Action("app.previous_panel", "shift+tab", "Previous panel", "app", "app.focus_previous"),
    Action("list.down", "j,down", "Down", "list", "move(1)"),
    Action("list.up", "k,up", "Up", "list", "move(-1)"),
    Action("list.top", "g,home", "Top", "list", "top"),
    Action("list.bottom", "G,end", "Bottom", "list", "bottom"),
    Action("list.half_down", "ctrl+d", "Half a page down", "list", "half_page(1)"),
    Action("list.half_up", "ctrl+u", "Half a page up", "list", "half_page(-1)"),
    Action("list.page_down", "pagedown", "Page down", "list", "half_page(2)"),
    Action("list.page_up", "pageup", "Page up", "list", "half_page(-2)"),
    Action("list.open", "enter", "Open", "list", "open"),
    Action("text.down", "j,down", "Down", "text", "move(1)"),
    Action("text.up", "k,up", "Up", "text", "move(-1)"),
    Action("text.top", "g,home", "Top", "text", "top"),
    Action("text.bottom", "G,end", "Bottom", "text", "bottom"),
    Action("text.half_down", "ctrl+d,pagedown", "Half a page down", "text", "half_page(1)"),
    Action("text.half_up", "ctrl+u,pageup", "Half a page up", "text", "half_page(-1)"),
    Action("traces.filter", "slash", "Filter", "traces", "filter", footer="filter"),
    Action("traces.next", "n", "Next failed trace", "traces", "next_failed(1)"),
    Action("traces.previous", "N", "Previous failed trace", "traces", "next_failed(-1)"),
    Action("traces.verdict", "v", "Verdict", "traces", "app.goto('verdict')", footer="verdict"),
    Action("traces.recover", "r", "Recover", "traces", "app.goto('recovery')", footer="recover"),
    Action("traces.errors", "z", "Errors only", "traces", "errors_only", footer="errors only"),
    Action("traces.groups", "a", "Groups of like failures", "traces", "app.goto('groups')", footer="groups"),
    Action("traces.sort", "s", "Next sort order", "traces", "sort", footer="sort"),
    Action("traces.mark", "space", "Mark for diff", "traces", "mark"),
    Action("traces.diff", "equals_sign", "Diff the two marked", "traces", "diff"),
    Action("trace.filter", "slash", "Search steps", "trace", "search"),
    Action("trace.next", "n", "Next match", "trace", "next_match(1)"),
    Action("trace.previous", "N", "Previous match", "trace", "next_match(-1)"),
    Action(
        "trace.next_failed",
        "right_square_bracket",
        "Next failed step",
        "trace",
        "next_failed(1)",
        footer="next failed",
    ),
    Action(
        "trace.previous_failed", "left_square_bracket", "Previous failed step", "trace", "next_failed(-1)"
    ),
    Action("trace.detail", "d", "Next view of the detail", "trace", "cycle(1)", footer="next view"),
    Action("trace.detail_back", "D", "View of the detail before", "trace", "cycle(-1)"),
    Action("trace.fold", "h,left", "Fold", "trace", "fold", footer="fold"),
    Action("trace.unfold", "l,right", "Unfold", "trace", "unfold"),
    Action("trace.waterfall", "w", "Waterfall on or off", "trace", "waterfall"),
    Action("trace.errors", "z", "Errors only", "trace", "errors_only"),
    Action("trace.verdict", "v", "Verdict", "trace", "app.goto('verdict')", footer="verdict"),
    Action("trace.recover", "r", "Recover", "trace", "app.goto('recovery')", footer="recover"),
    Action("trace.wider", "greater_than_sign", "Wider list", "trace", "resize(5)"),
    Action("trace.narrower", "less_than_sign", "Narrower list", "trace", "resize(-5)"),
    Action("verdict.note", "x", "Not right: write a note", "verdict", "note", footer="not right"),
    Action("verdict.recover", "r", "Recover", "verdict", "app.goto('recovery')", footer="recover"),
    Action(
        "recovery.resume", "r", "Resume from the break point", "recovery", "choose('resume')", footer="resume"
    ),
    Action("recovery.retry", "t", "Retry the call", "recovery", "choose('retry')", footer="retry"),
    Action("recovery.reprompt", "i", "Ask the model again", "recovery", "choose('reprompt')"),
    Action("recovery.edit", "E", "Edit the arguments", "recovery", "choose('edit')"),
    Action("recovery.done", "D", "It was done: give the result", "recovery", "choose('done')"),
    Action("recovery.skip", "S", "Skip and mark", "recovery", "choose('skip')", footer="skip"),
    Action("recovery.rollback", "b", "Roll back", "recovery", "choose('rollback')", footer="roll back"),
    Action("recovery.restore", "R", "Restore to a step, as a new task", "recovery", "choose('restore')"),
    Action("recovery.abort", "a", "Abort", "recovery", "choose('abort')", footer="abort"),
    Action(
        "recovery.next", "n", "The inner task first, or on with the outer one", "recovery", "choose('next')"
    ),
    Action("recovery.stop", "ctrl+c", "Stop the recovery that runs here", "recovery", "stop"),
    Action("review.recover", "r", "Decide", "review", "decide"),
    Action("review.claim", "c", "Claim, or take the claim back", "review", "claim", footer="claim"),
    Action("review.trace", "t", "Look at its trace", "review", "app.goto('trace')", footer="its trace"),
    Action("sql.run", "f5,ctrl+j,ctrl+enter", "Run", "sql", "run", footer="run", priority=True),
    Action(
        "sql.history",
        "f8,ctrl+up",
        "Earlier query",
        "sql",
        "history",
        footer="earlier, examples",
        priority=True,
    ),
    Action(
        "sql.export", "ctrl+e", "Export the result as CSV", "sql", "export", footer="export", priority=True
    ),
    Action("groups.example", "t", "Look at the first trace of it", "groups", "example", footer="an example"),
    Action(
        "groups.verdict", "v", "Verdict on the first trace of it", "groups", "verdict", footer="its verdict"
    ),
    Action("live.newest", "G,end", "Newest", "live", "newest", footer="newest"),
    Action("live.pause", "f", "Follow or pause", "live", "app.follow", footer="pause or follow"),
    Action("live.errors", "z", "Errors only", "live", "errors_only", footer="errors only"),
    Action(
        "diff.next",
        "n,right_square_bracket",
        "Next difference",
        "diff",
        "next_difference(1)",
        footer="next difference",
    ),
    Action("diff.previous", "N,left_square_bracket", "Previous difference", "diff", "next_difference(-1)"),
)


def at(*places: str) -> list[Action]:
    """The actions of *places*, in the order of the table."""
    return [action for action in ACTIONS if action.place in places]


def bindings(*places: str) -> list[BindingType]:
    """Textual bindings of *places*; their ids let the key file change the key."""
    return [
        Binding(
            action.key,
            action.method,
            action.title,
            id=action.id,
            show=bool(action.footer),
            priority=action.priority,
        )
        for action in at(*places)
    ]


def named(action_id: str) -> Action:
    """The action called *action_id*, which exists."""
    return next(action for action in ACTIONS if action.id == action_id)


def find(action_id: str) -> Action | None:
    """The action called *action_id*."""
    return next((action for action in ACTIONS if action.id == action_id), None)
