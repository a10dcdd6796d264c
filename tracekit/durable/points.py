"""
Named points of a task's life at which a test may stop, delay or kill the process.

`TRACEKIT_KILL_AT=after_dispatch#2` sends SIGKILL when the second `after_dispatch` is passed; it is read when this
module is loaded, so a worker or a resumed process can be killed without importing anything for tests.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable

COMMITS = (
    "admit",
    "attempt",
    "before_model",
    "retry_model",
    "after_model",
    "before_read",
    "retry_read",
    "after_read",
    "before_effect",
    "retry_effect",
    "after_effect",
    "before_step",
    "after_step",
    "settled",
    "decision_used",
    "review",
    "note",
    "plan",
    "skipped",
    "context",
    "undo_planned",
    "undone",
    "task_done",
    "task_failed",
)
"""What is committed; each has a point before and one after it."""

OTHERS = (
    "before_acquire",
    "after_acquire",
    "before_dispatch",
    "after_dispatch",
    "before_probe",
    "after_probe",
    "before_sleep",
    "replayed",
    "before_function",
    "after_function",
    "before_release",
    "after_release",
)

POINTS: tuple[str, ...] = (
    *(f"{when}_commit:{what}" for what in COMMITS for when in ("before", "after")),
    *OTHERS,
)
"""All points; a point's number is its position here."""

Hook = Callable[[str], None]

_hooks: list[Hook] = []
_passed: Counter[str] = Counter()
_lock = threading.Lock()


def point(name: str) -> None:
    """Pass the point *name*; costs next to nothing when nobody listens."""
    if _hooks:
        for hook in tuple(_hooks):
            hook(name)


def add_hook(hook: Hook) -> Callable[[], None]:
    """Call *hook* with the name of every point that is passed; returns what takes it off again."""
    _hooks.append(hook)
    return lambda: _hooks.remove(hook)


def kill_at(spec: str) -> Hook:
    """A hook that sends SIGKILL to this process at the point of *spec*, `name` or `name#n` for the nth passing."""
    name, _, nth = spec.partition("#")
    if name not in POINTS:
        raise ValueError(
            f"TRACEKIT_KILL_AT: expected one of the points in tracekit.testing.faults.POINTS, got {name!r}"
        )
    wanted = int(nth or 1)

    def hook(passed: str) -> None:
        if passed != name:
            return
        with _lock:
            _passed[name] += 1
            if _passed[name] == wanted:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


if _spec := os.environ.get("TRACEKIT_KILL_AT"):
    add_hook(kill_at(_spec))
