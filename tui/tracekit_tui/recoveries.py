"""
Tasks and their recovery, as the screens see them: a view of a task, what may be chosen, and what a choice will do.

An `Intent` says in words exactly what will run; it is shown and asked once, then carried out as it was shown.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit import clock
from tracekit.errors import TracekitError
from tracekit.model import TaskStatus
from tracekit.store import open_store
from tracekit.store.contract import EffectRow, PutBlob, ReviewRow, Store, TaskRow, TaskState
from tracekit_tui.choices import Choice
from tracekit_tui.runner import RecoveryRun


@dataclass(frozen=True, slots=True)
class RecoveryView:
    """One task and its break point, ready to be shown."""

    task: TaskRow
    goal: str
    break_point: str
    reason: str
    recommended: str
    facts: tuple[tuple[str, str], ...]
    """Name and words: what is kept, what is at risk, limits, owner."""
    choices: tuple[Choice, ...]
    review: ReviewRow | None
    effect: EffectRow | None
    """The call that the open question is about."""
    arguments: str | None
    """Its arguments, JSON text."""


@dataclass(frozen=True, slots=True)
class Intent:
    """Exactly what will be done once the person says yes."""

    choice: str
    task_id: str
    lines: tuple[str, ...]
    review: ReviewRow | None
    decision: str | None
    payload: bytes | None
    argv: tuple[str, ...] | None
    who: str


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One open question."""

    review: ReviewRow
    task: TaskRow
    reason: str
    at_risk: str
    waiting_ms: int


class Recoveries:
    """The store behind the recovery screens; may be called from any thread."""

    def __init__(self, url: str, app: str | None = None) -> None:
        self.url = url
        self.app = app
        self._store: Store | None = None
        self._lock = threading.Lock()

    @property
    def store(self) -> Store:
        """The store, opened at the first use."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self.url)
            return self._store

    def view(self, task_id: str) -> RecoveryView | None:
        """The task as it stands and what may be done; None when the store does not know it."""
        from tracekit_tui.viewing import make_view

        state = self.store.load(task_id)
        return None if state is None else make_view(self.store, self.url, state)

    def task_of(self, trace_id: str) -> str | None:
        """Id of the task whose trace this is."""
        return next((task.task_id for task in self.store.tasks() if task.trace_id == trace_id), None)

    def intend(self, view: RecoveryView, choice_id: str, payload: str | None, who: str) -> Intent:
        """What *choice_id* would do, in words; nothing is done yet."""
        choice = next(choice for choice in view.choices if choice.id == choice_id)
        if choice.blocked:
            raise TracekitError("recovery.blocked", f"{choice.title}: {choice.blocked}")
        argv = self._command(view.task.task_id)
        return Intent(
            choice=choice.id,
            task_id=view.task.task_id,
            lines=tuple(self._words(view, choice, payload, argv, who)),
            review=view.review if choice.decision else None,
            decision=choice.decision,
            payload=None if payload is None else _storable(payload),
            argv=argv,
            who=who,
        )

    def _command(self, task_id: str) -> tuple[str, ...] | None:
        if self.app is None:
            return None
        return (
            sys.executable,
            "-m",
            "tracekit.cli",
            "resume",
            task_id,
            "--store",
            self.url,
            "--app",
            self.app,
        )

    def _words(
        self,
        view: RecoveryView,
        choice: Choice,
        payload: str | None,
        argv: tuple[str, ...] | None,
        who: str,
    ) -> list[str]:
        words = [f"{choice.title}: {choice.means}", ""]
        if choice.decision and view.review is not None:
            words.append(f"1. write the decision {choice.decision!r} on review {view.review.review_id}")
            words.append(f"   tied to the arguments that you saw (digest {view.review.args_digest[:12]})")
            if payload is not None:
                words += ["   with:", payload]
        if view.effect is not None:
            effect = view.effect
            words.append(f"   the call: {effect.tool} {view.arguments or ''}")
            words.append(
                f"   {effect.risk}, key {effect.key[:12]}, sent {effect.attempt} times, {effect.status}"
            )
        words.append("")
        if argv is not None:
            words.append(
                "then run here, in a process of its own: "
                if choice.decision
                else "run, in a process of its own:"
            )
            words.append("  " + shlex.join(argv))
        else:
            words += [
                "no --app was given, so nothing runs here; it is picked up by",
                *self.who_picks_up(view.task),
            ]
        words += ["", f"logged as decided by {who}"]
        return words

    def who_picks_up(self, task: TaskRow) -> list[str]:
        """Words that say which process goes on with *task*."""
        alive = [worker for worker in self.store.workers() if worker.heartbeat_ms > clock.now_ms() - 60_000]
        lines = [f"  worker {worker.worker_id} (pid {worker.pid} on {worker.host})" for worker in alive]
        module = task.function.partition(":")[0]
        return [
            *(lines or ["  no worker is alive now; start one:"]),
            f"  tracekit worker --store {self.url} --app {module}",
        ]

    def carry_out(self, intent: Intent) -> RecoveryRun | None:
        """
        Do what was shown: write the decision, start the process; the running process, or None without --app.

        Raises:
            Conflict: somebody else decided first; the message names who.
        """
        self._log(intent, "begins")
        if intent.decision is not None and intent.review is not None:
            self._decide(intent, intent.review)
        run = None if intent.argv is None else RecoveryRun(intent.argv, intent.who)
        self._log(intent, "decided" if run is None else f"runs as pid {run.pid}")
        return run

    def _decide(self, intent: Intent, review: ReviewRow) -> None:
        from tracekit_tui.viewing import decide

        decide(self.store, review, intent.decision or "", intent.payload, intent.who)

    def _log(self, intent: Intent, what: str) -> None:
        path = self._home() / "decisions.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {
            "at": clock.rfc3339(clock.now_ns()),
            "by": intent.who,
            "task_id": intent.task_id,
            "choice": intent.choice,
            "review_id": None if intent.review is None else intent.review.review_id,
            "what": what,
            "argv": intent.argv,
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _home(self) -> Path:
        if self.url.startswith("sqlite:"):
            return Path(self.url.removeprefix("sqlite:")).parent
        return Path(os.environ.get("TRACEKIT_HOME") or ".tracekit")

    def queue(self) -> Sequence[QueueLine]:
        """Open questions, oldest first."""
        from tracekit_tui.viewing import queue_line

        now = clock.now_ms()
        found = []
        for review in self.store.reviews():
            state = self.store.load(review.task_id)
            if state is not None:
                found.append(queue_line(self.store, review, state, now))
        return found

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None


def _storable(text: str) -> bytes:
    try:
        json.loads(text)
    except ValueError as error:
        raise TracekitError("recovery.not_json", f"expected JSON, got {text[:80]!r}: {error}") from error
    return text.encode()


__all__ = ["Intent", "PutBlob", "QueueLine", "Recoveries", "RecoveryView", "TaskState", "TaskStatus"]
