"""
What the recovery screens do: a view of a task, what a choice would do in words, and doing it.

An `Intent` says exactly what will run; it is shown and asked once, then carried out as it was shown.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracekit import clock
from tracekit.config import settings
from tracekit.durable.api import decide
from tracekit.durable.finding import load_app
from tracekit.durable.fork import fork_id, plan_restore, restore
from tracekit.durable.fork_words import restore_words
from tracekit.errors import TracekitError
from tracekit.store import open_store, shown_url
from tracekit.store.contract import Store
from tracekit.store.rows import ReviewRow
from tracekit_analyzers.views import TraceRow
from tracekit_tui.choices import Choice
from tracekit_tui.fitting import misfit, unlike
from tracekit_tui.marks import span, state_words
from tracekit_tui.runner import RecoveryRun, private
from tracekit_tui.stored import task_rows
from tracekit_tui.viewing import (
    QueueLine,
    RecoveryView,
    claim_words,
    make_view,
    open_questions,
    recommended,
    who_picks_up,
)


@dataclass(frozen=True, slots=True)
class Intent:
    """Exactly what will be done once the person says yes."""

    choice: Choice
    task_id: str
    """The task that goes on; a new one when the choice forks."""
    parent: str | None
    """The task that is forked."""
    lines: tuple[str, ...]
    """What is shown before it is asked."""
    review: ReviewRow | None
    value: Any
    """The arguments or the result that the person gave."""
    argv: tuple[str, ...] | None
    """What runs then; None without `--app`."""
    who: str


class Recoveries:
    """The store behind the recovery screens; may be called from any thread."""

    def __init__(self, url: str, app: str | None = None) -> None:
        self.url = url
        self.app = app
        self.app_failed = ""
        """Why the app could not be loaded here: a recovery that is run with it will not go far."""
        self._app_is_tried = False
        self._store: Store | None = None
        self._lock = threading.Lock()

    @property
    def shown_url(self) -> str:
        """Where the store is, as it may be shown: without a password."""
        return shown_url(self.url)

    @property
    def store(self) -> Store:
        """The store, opened at the first use."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self.url)
            return self._store

    def view(self, task_id: str) -> RecoveryView | None:
        """The task as it stands and what may be done; None when the store does not know it."""
        state = self.store.load(task_id)
        if state is None:
            return None
        self._load_app()
        return make_view(self.store, state, can_run=self.app is not None, shown_url=self.shown_url)

    def _load_app(self) -> None:
        """Load the app once, so that probes, undos and the arguments of its tools are known here."""
        if self.app is None or self._app_is_tried:
            return
        self._app_is_tried = True
        try:
            load_app(self.app)
        except TracekitError as error:
            self.app_failed = str(error)

    def task_of(self, trace_id: str) -> str | None:
        """Id of the task whose trace this is."""
        after = ""
        while page := self.store.tasks(after=after):
            found = next((task.task_id for task in page if task.trace_id == trace_id), None)
            if found is not None:
                return found
            after = page[-1].task_id
        return None

    def trace_of(self, task_id: str) -> str:
        """Id of the trace of a task that is there."""
        state = self.store.load(task_id)
        if state is None:
            raise TracekitError("task.unknown", f"there is no task {task_id!r} in {self.shown_url}")
        return state.task.trace_id

    def tasks(self) -> list[TraceRow]:
        """All tasks as rows of the list of traces, the one changed last first."""
        return task_rows(self.store)

    def queue(self) -> Sequence[QueueLine]:
        """Open questions, oldest first."""
        return open_questions(self.store)

    def claim(self, line: QueueLine, who: str) -> str:
        """
        Claim the question for *who*, or take that back where it is theirs already; what was done, in words.

        A claim of another that was seen in *line* is taken over.

        Raises:
            Conflict: somebody else has claimed or decided it meanwhile; the message names who.
        """
        standing, review_id = line.claim, line.review.review_id
        if standing is not None and standing.claimed_by == who:
            self.store.unclaim_review(review_id, by=who)
            return "claim taken back"
        other = None if standing is None else standing.claimed_by
        for_s = settings().claim_s
        self.store.claim_review(review_id, by=who, for_s=for_s, instead_of=other)
        return f"yours for {span(for_s * 1000)}: others see it, and may still decide"

    # ------------------------------------------------------------------ saying

    def intend(self, view: RecoveryView, choice_id: str, given: str | None, who: str) -> Intent:
        """
        What *choice_id* would do, in words; nothing is done yet.

        Args:
            given: JSON text of the arguments or the result, or the place of a step, as the choice wants.

        Raises:
            TracekitError: `recovery.blocked` with the reason, `recovery.not_json`, `recovery.unfit`: the tool would refuse it.
        """
        choice = next(choice for choice in view.choices if choice.id == choice_id)
        if choice.blocked:
            raise TracekitError("recovery.blocked", f"{choice.title}: {choice.blocked}")
        if choice_id == "next":
            return self._intend_outer(view, who)
        if choice.wants == "step":
            choice = replace(choice, fork_at=given)
        if choice.wants in JSON_WANTED and (wrong := no_json(given or "")):
            raise TracekitError("recovery.not_json", wrong)
        if wrong := unfit(view, choice, given or ""):
            raise TracekitError("recovery.unfit", wrong)
        task_id = view.task.task_id
        parent = None
        if choice.fork_at is not None:
            parent, task_id = task_id, fork_id(task_id)
        intent = Intent(
            choice,
            task_id,
            parent,
            (),
            view.review if choice.decision else None,
            json.loads(given or "") if choice.wants in JSON_WANTED else None,
            self._command(task_id),
            who,
        )
        return replace(intent, lines=tuple(self._words(view, intent, given)))

    def _intend_outer(self, view: RecoveryView, who: str) -> Intent:
        """Going on with the task that stopped for this one; without `--app`, its question answered for a worker."""
        outer = None if view.outer is None else self.view(view.outer.task_id)
        if outer is None:
            raise TracekitError("recovery.blocked", "the task that stopped for this one is gone")
        return self.intend(outer, "retry" if self.app is None else "resume", None, who)

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

    def _words(self, view: RecoveryView, intent: Intent, given: str | None) -> list[str]:
        choice = intent.choice
        words = [f"{choice.title}: {choice.means}", f"task {view.task.task_id}: {view.goal}", ""]
        if choice.id == "resume":
            words += [f"then: {recommended(view)}", ""]
        if intent.review is not None and view.claim is not None and view.claim.claimed_by != intent.who:
            words += [f"note: this question is claimed by {claim_words(view.claim)}", ""]
        if intent.review is not None:
            seen = intent.review.args_digest[:12]
            tied = f", tied to the arguments that you saw (digest {seen})" if seen else ""
            words.append(f"write the decision {choice.decision!r} on review {intent.review.review_id}{tied}")
            if given is not None:
                value = json.dumps(intent.value, ensure_ascii=False)
                words += [f"with: {value}", *self._not_checked(view, intent)]
        if intent.parent is not None:
            found = plan_restore(intent.parent, at=choice.fork_at or "", store=self.store)
            words += [f"{name}: {text}" for name, text in restore_words(found, intent.task_id)]
        elif view.effect is not None:
            effect = view.effect
            words.append(f"the call: {effect.tool} {view.arguments or ''}")
            words.append(
                f"{effect.risk}, key {effect.key[:12]}, sent {_times(effect.attempt)}, {state_words(str(effect.status))}"
            )
        logged = f"logged as decided by {intent.who} in {self.decisions}"
        return [*words, "", *self._who_runs(view, intent), "", logged]

    def _not_checked(self, view: RecoveryView, intent: Intent) -> list[str]:
        """What to look at oneself, where no tool is known here that could tell whether the arguments fit."""
        if intent.choice.wants != "arguments" or view.tool is not None:
            return []
        why = (
            self.app_failed or f"the code of {view.called or 'the tool'} is not loaded; --app MODULE loads it"
        )
        differs = "; ".join(unlike(intent.value, view.arguments))
        return [
            f"not checked against the tool: {why}",
            *([f"unlike the call before: {differs}"] if differs else []),
        ]

    def _who_runs(self, view: RecoveryView, intent: Intent) -> list[str]:
        if intent.argv is not None:
            return ["run in a process of its own:", "  " + shown_url(shlex.join(intent.argv))]
        return [
            "no --app was given, so nothing runs here; a worker goes on with it:",
            "  " + who_picks_up(self.store, self.shown_url, view.task),
        ]

    # ------------------------------------------------------------------ doing

    def carry_out(self, intent: Intent) -> RecoveryRun | None:
        """
        Do what was shown: write the decision or the fork, start the process; None without `--app`.

        Raises:
            Conflict: somebody else decided first; the message names who.
        """
        self._log(intent, "begins")
        if intent.review is not None:
            self._decide(intent, intent.review)
        if intent.parent is not None:
            at = intent.choice.fork_at or ""
            restore(intent.parent, at=at, new_id=intent.task_id, by=intent.who, store=self.url)
        run = None
        if intent.argv is not None:
            run = RecoveryRun(intent.argv, intent.who, self._output_of(intent.task_id), self._home())
        self._log(intent, "written" if run is None else f"runs as pid {run.pid}")
        return run

    def _decide(self, intent: Intent, review: ReviewRow) -> None:
        given: dict[str, Any] = {}
        if intent.choice.wants:
            given[intent.choice.wants] = intent.value
        decide(
            review.review_id,
            intent.choice.decision or "",
            by=intent.who,
            args_digest=review.args_digest,
            store=self.store,
            **given,
        )

    def _log(self, intent: Intent, what: str) -> None:
        line = {
            "at": clock.rfc3339(clock.now_ns()),
            "by": intent.who,
            "task_id": intent.task_id,
            "choice": intent.choice.id,
            "review_id": None if intent.review is None else intent.review.review_id,
            "forked_from": intent.parent,
            "what": what,
            "argv": None if intent.argv is None else [*map(shown_url, intent.argv)],
        }
        with private(self.decisions, "a") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    @property
    def decisions(self) -> Path:
        """The file in which each choice is logged, before and after it is carried out."""
        return self._folder() / "decisions.jsonl"

    def _output_of(self, task_id: str) -> Path:
        """A new file for what a recovery says."""
        at = clock.rfc3339(clock.now_ns()).replace("-", "").replace(":", "").partition(".")[0]
        name = re.sub(r"[^\w.-]+", "_", task_id)[:80]
        return self._folder() / f"{name}-{at}-{clock.current().random_hex(4)}.log"

    def _folder(self) -> Path:
        return (self._home() or Path(os.environ.get("TRACEKIT_HOME") or ".tracekit")) / "recoveries"

    def _home(self) -> Path | None:
        """Folder of the logs that belong to a store in a file."""
        return Path(self.url.removeprefix("sqlite:")).parent if self.url.startswith("sqlite:") else None

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


JSON_WANTED = ("arguments", "result")
"""What a person gives as JSON text."""


def no_json(text: str) -> str | None:
    """Why *text* can't be read as JSON; None when it can."""
    try:
        json.loads(text)
    except ValueError as error:
        # A short text is told back; a longer one stands before the person, with lines to count.
        got = f", got {text!r}" if len(text) <= 40 and "\n" not in text else ""
        return f"expected JSON{got}: {error}"
    return None


def unfit(view: RecoveryView, choice: Choice, text: str) -> str | None:
    """Why *text* can't be what *choice* wants, in words; None where it can."""
    if choice.wants not in JSON_WANTED:
        return None
    wrong = no_json(text)
    if wrong is None and choice.wants == "arguments":
        wrong = misfit(json.loads(text), view.tool)
    return wrong
