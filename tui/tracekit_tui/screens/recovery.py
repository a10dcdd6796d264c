"""Screen 4: why the task stands still, what may be done, exactly what that will run; then watched while it runs."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tracekit.errors import Conflict, TracekitError
from tracekit_analyzers.views import StepLine
from tracekit_tui.actions import find, named
from tracekit_tui.choices import Choice
from tracekit_tui.dialogs import Ask, ChooseStep, Confirm
from tracekit_tui.frame import OPEN, Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page
from tracekit_tui.marks import glyph, state_words
from tracekit_tui.panel import output_lines, panel_lines, panel_text
from tracekit_tui.recoveries import Intent, Recoveries, unfit
from tracekit_tui.rows import step_columns
from tracekit_tui.runner import RecoveryRun
from tracekit_tui.text import Line, Run
from tracekit_tui.textpane import TextPane
from tracekit_tui.viewing import RecoveryView

STOP = named("recovery.stop")

LOOK_S = 0.3
"""How often a running recovery is looked at."""


class RecoveryScreen(ExplorerScreen):
    """The recovery of the task behind one trace."""

    shows_store: ClassVar[bool] = True
    place: ClassVar[str] = "recovery"
    number: ClassVar[int] = 4
    enter: ClassVar[str] = "choose"

    def __init__(self, trace_id: str) -> None:
        super().__init__()
        self.trace_id = trace_id
        self.view: RecoveryView | None = None
        self.run: RecoveryRun | None = None
        self.output = ""
        self.code: int | None = None
        self.known = False
        self.name_of_task = ""

    def body(self) -> ComposeResult:
        yield TextPane(id="panel")
        with Vertical(id="below"):
            yield VirtualList(
                id="choices",
                title="what may be done; Enter shows exactly what will run",
                empty="nothing can be done from here",
            )
            with Horizontal(id="watch"):
                yield VirtualList(id="steps", title="steps", empty="no step yet")
                yield TextPane(id="output")

    def start(self) -> None:
        self.query_one("#choices", VirtualList).focus()
        self.set_interval(LOOK_S, self._look)
        self._ask()

    def changed(self) -> None:
        self._ask()
        self._show_steps()

    @property
    def recoveries(self) -> Recoveries | None:
        """The store, when there is one."""
        controller = self.explorer.controller
        return None if controller is None else controller.recoveries

    def _ask(self) -> None:
        controller, trace_id = self.explorer.controller, self.trace_id
        if controller is None:
            return

        def ask() -> tuple[RecoveryView | None, str]:
            view = controller.recovery_of(trace_id)
            trace = None if view is not None else controller.analysis.trace(trace_id)
            return view, "" if trace is None else trace.task_id or trace.name

        self.in_thread(ask, self._found, group="recovery")

    def _found(self, answer: tuple[RecoveryView | None, str]) -> None:
        view, self.name_of_task = answer
        self._show(view)

    def crumb(self) -> list[Run]:
        if self.view is None:
            return [(self.name_of_task or self.trace_id[:8], "accent")]
        status = self.view.status
        if status == "left_behind" and self.run is not None and self.code is None:
            # It has been begun here, and its process has not said so in the store yet.
            status = "running"
        runs: list[Run] = [
            glyph(status),
            (f" {self.view.task.task_id} ", "strong"),
            (state_words(status), glyph(status)[1]),
        ]
        if self.run is not None and self.code is None:
            runs.append((f" · recovery runs as pid {self.run.pid}", "accent"))
        return runs

    def keys_here(self) -> list[tuple[str, str]]:
        if self.run is not None and self.code is None:
            return [(self.explorer.key_of(STOP), "stop the recovery")]
        view = self.view
        if view is None:
            return []
        found = [(named(f"recovery.{one.id}"), one) for one in view.choices if not one.blocked]
        # What runs is over and ended well: the list in sight is that of the steps.
        enter = "open the step" if self.code == 0 else self.enter
        return [
            (self.explorer.key_of(OPEN), enter),
            *[(self.explorer.key_of(key), one.title.lower()) for key, one in found],
        ]

    # ------------------------------------------------------------------ the panel

    def _show(self, view: RecoveryView | None) -> None:
        before = self.view.choices if self.view is not None else ()
        self.view, self.known = view, True
        panel = self.query_one("#panel", TextPane)
        panel.border_title = "recovery"
        panel.show(lambda width: panel_lines(view, self.recoveries, width), keep_place=True)
        choices = () if view is None else view.choices
        first_open = next((at for at, choice in enumerate(choices) if not choice.blocked), 0)
        self.query_one("#choices", VirtualList).feed(
            _choice_columns(self),
            fixed_page(choices),
            # What may be done is as before: so the person stays where they are.
            keep_cursor=choices == before,
            at=first_open,
            key=lambda row: row.id,
        )
        self.tell()

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        if isinstance(event.row, Choice):
            self.action_choose(event.row.id)
        elif isinstance(event.row, StepLine):
            self.explorer.look_at(self.trace_id, event.row.step_id)
            self.explorer.go("trace", event.row.step_id)

    # ------------------------------------------------------------------ choosing

    def action_choose(self, choice_id: str) -> None:
        view = self.view
        if view is None:
            self.notify("nothing to go on from here: the panel says why", markup=False)
            return
        if self.run is not None and self.code is None:
            self.notify("a recovery is running: Ctrl-C stops it", markup=False)
            return
        choice = next((one for one in view.choices if one.id == choice_id), None)
        if choice is None or choice.blocked:
            words = "not possible for this task" if choice is None else f"{choice.title}: {choice.blocked}"
            self.notify(words, severity="warning", markup=False)
            return
        if choice.id == "next" and view.inner is not None and not view.inner.status.is_final:
            self.explorer.look_at(view.inner.trace_id, None)
            self.explorer.go("recovery")
        elif choice.wants == "step":
            self.app.push_screen(ChooseStep(view.steps), lambda place: self._given(choice, place))
        elif choice.wants:
            first = _spread(view.arguments or "{}") if choice.wants == "arguments" else "null"
            self.app.push_screen(
                Ask(
                    f"{choice.title}: the {choice.wants} as JSON",
                    first,
                    _asked_about(choice, view),
                    check=lambda text: unfit(view, choice, text),
                    replaced=choice.wants == "result",
                ),
                lambda text: self._given(choice, text),
            )
        else:
            self._intend(choice, None)

    def _given(self, choice: Choice, text: str | None) -> None:
        if text is not None:
            self._intend(choice, text)

    def _intend(self, choice: Choice, payload: str | None) -> None:
        view, recoveries, controller = self.view, self.recoveries, self.explorer.controller
        if view is None or recoveries is None or controller is None:
            return
        self.in_thread(
            lambda: recoveries.intend(view, choice.id, payload, controller.who), self._confirm, group="intend"
        )

    def _confirm(self, intent: Intent) -> None:
        lines: list[Line] = [
            ((line, "strong" if number == 0 else "plain"),) for number, line in enumerate(intent.lines)
        ]
        self.app.push_screen(
            Confirm("this will be done", lines), lambda yes: self._carry_out(intent) if yes else None
        )

    def _carry_out(self, intent: Intent) -> None:
        recoveries = self.recoveries
        if recoveries is None:
            return

        def work() -> tuple[RecoveryRun | None, str]:
            return recoveries.carry_out(intent), recoveries.trace_of(intent.task_id)

        self.in_thread(work, self._started, group="carry-out", exclusive=False)

    def failed(self, error: TracekitError) -> None:
        super().failed(error)
        if isinstance(error, Conflict):
            # Somebody else was first: show what they decided.
            self._ask()

    def _started(self, carried_out: tuple[RecoveryRun | None, str]) -> None:
        run, self.trace_id = carried_out
        # A task that goes back to a step goes on as another one, in a trace of its own.
        self.explorer.look_at(self.trace_id, None)
        if run is None:
            self.notify("written; the panel says who picks it up", markup=False)
            self._ask()
            return
        self.run, self.output, self.code = run, "", None
        self.add_class("watching")
        self.remove_class("ended")
        self.query_one("#output", TextPane).border_title = "output of the recovery"
        self._say()
        self._show_steps()
        self.tell()

    # ------------------------------------------------------------------ watching

    def _look(self) -> None:
        if self.run is None or self.code is not None:
            return
        said, code = self.run.news()
        if said:
            self.output += said
        self.code = code
        if said or code is not None:
            self._say()
        if code is None:
            self.explorer.read_when_rested()
        else:
            self.explorer.read()
            # Something is left to choose only where it did not end well.
            self.set_class(code != 0, "ended")
            self.query_one("#choices" if code else "#steps", VirtualList).focus()
            self._ask()
            self.tell()

    def _say(self) -> None:
        output, code = self.output, self.code
        pane = self.query_one("#output", TextPane)
        pane.show(lambda width: output_lines(output, code, width), at_end=True)

    def _show_steps(self) -> None:
        controller = self.explorer.controller
        if controller is None or self.run is None:
            return
        steps = self.query_one("#steps", VirtualList)
        fetch = controller.steps(self.trace_id)
        columns = step_columns(False, set(), ended=self.code is not None)
        steps.feed(columns, fetch, keep_cursor=True, key=lambda row: row.step_id, follow_end=True)

    def action_stop(self) -> None:
        if self.run is not None and self.code is None:
            again = self.run.asked_to_stop
            self.run.stop()
            words = "ended it" if again else "asked the recovery to stop; again ends it at once"
            self.notify(f"{words}: what it had begun is in its journal", markup=False)

    def copyable(self) -> list[Copyable]:
        view, output = self.view, self.output
        found: list[Copyable] = []
        if view is not None:
            found.append(("panel as text", lambda: panel_text(view)))
            if view.arguments is not None:
                arguments = view.arguments
                found.append(("arguments of the call", lambda: arguments))
            if view.effect is not None:
                key = view.effect.key
                found.append(("idempotency key", lambda: key))
        if output:
            found.append(("output of the recovery", lambda: output))
        return found


def _spread(text: str) -> str:
    """JSON *text* with a line for each argument, as it is edited; what is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except ValueError:
        return text


def _asked_about(choice: Choice, view: RecoveryView) -> str:
    """The line above the text that a person gives: which call it is for."""
    call = "" if view.called is None else f"for {view.called} {view.arguments or ''}"
    return f"{call}; null where no later step reads it" if choice.wants == "result" else call


def _choice_columns(screen: RecoveryScreen) -> list[Column[Choice]]:
    def key(row: Choice, width: int) -> list[Run]:
        action = find(f"recovery.{row.id}")
        return [(f"[{screen.explorer.key_of(action)}]" if action else "", "dim" if row.blocked else "accent")]

    def title(row: Choice, width: int) -> list[Run]:
        return [(row.title, "dim" if row.blocked else "strong")]

    def means(row: Choice, width: int) -> list[Run]:
        return [(f"not now: {row.blocked}", "dim")] if row.blocked else [(row.means, "plain")]

    return [Column("key", key, width=4), Column("choice", title, width=20), Column("means", means)]
