"""The words of the recovery screen as lines: the panel of a task, and what a recovery that runs has said."""

from __future__ import annotations

from tracekit.model import TaskStatus
from tracekit_tui.recoveries import Recoveries
from tracekit_tui.text import Ink, Line, wrap_words
from tracekit_tui.viewing import RecoveryView, recommended

NO_STORE = (
    "No store is open: a log tells what happened, but to go on the journal of the task is needed.",
    "",
    "It lies in the state.db of the agent's home, or in its PostgreSQL database. Open both together:",
    "  tracekit tui LOGS --store sqlite:HOME/state.db",
    "",
    "v says from which step another go could keep what was done.",
)
NO_TASK = (
    "",
    "A run that was only recorded has no journal to go on from; @tracekit.task keeps one.",
    "If it was a task, name its store: tracekit tui LOGS --store URL",
)


def panel_lines(view: RecoveryView | None, recoveries: Recoveries | None, width: int) -> list[Line]:
    """Goal, break point, reason, recommendation, then the facts."""
    if view is None:
        words = (
            NO_STORE
            if recoveries is None
            else (f"{recoveries.shown_url} holds no task of this trace.", *NO_TASK)
        )
        return [((line, "plain"),) for text in words for line in wrap_words(text, width)]
    lines: list[Line] = []
    main: list[tuple[str, str, Ink]] = [
        ("GOAL", view.goal, "strong"),
        ("BREAK POINT", _break_point(view), "plain"),
        ("REASON", view.plan.reason, "plain" if view.task.status is TaskStatus.DONE else "error"),
        ("RECOMMENDED", recommended(view), "accent"),
    ]
    for name, text, ink in main:
        lines += _fact(name, text, ink, width)
    if view.called is not None:
        lines += _fact("call", f"{view.called} {view.arguments or ''}", "warn", width)
    if view.effect is not None:
        lines += _fact("key sent", view.effect.key, "plain", width)
    for name, text in view.facts:
        lines += _fact(name, text, "plain", width)
    if recoveries is not None and recoveries.app_failed:
        lines += _fact("app", recoveries.app_failed, "error", width)
    return lines


def _break_point(view: RecoveryView) -> str:
    """Where it broke, by the journal's number and by the trace's, which the other screens show."""
    text = view.plan.break_point
    return text if view.break_seq is None else f"{text}, step {view.break_seq} in the trace"


def _fact(name: str, text: str, ink: Ink, width: int) -> list[Line]:
    head = 13
    first, *rest = wrap_words(text, max(8, width - head))
    return [
        ((name.ljust(head), "title"), (first, ink)),
        *[((" " * head, "plain"), (more, ink)) for more in rest],
    ]


def panel_text(view: RecoveryView) -> str:
    """The panel as text."""
    return "\n".join("".join(text for text, _ in line) for line in panel_lines(view, None, 120)) + "\n"


def output_lines(output: str, code: int | None, width: int) -> list[Line]:
    """What the process said, and how it ended."""
    lines: list[Line] = (
        [((line, "plain"),) for line in wrap_words(output.rstrip("\n"), width)] if output else []
    )
    if code is None:
        lines.append((("◐ running …", "accent"),))
    else:
        meaning = {0: "done", 5: "it waits for a person: the question is above"}.get(
            code, "it did not end well"
        )
        lines.append(
            (
                (
                    f"{'✓' if code == 0 else '!'} ended with code {code}: {meaning}",
                    "ok" if code == 0 else "warn",
                ),
            )
        )
    return lines
