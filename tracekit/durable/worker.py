"""A process that takes tasks from a store and runs them, one after another, until it is told to stop."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from tracekit.durable.errors_stored import safe_text
from tracekit.durable.finding import find_task, known_names, load_app
from tracekit.durable.ids import SCOPE_FUNCTION
from tracekit.durable.life import OWN_ENDINGS
from tracekit.durable.owning import LEASE_S, Ownership, ownership
from tracekit.durable.session import Session
from tracekit.durable.task import Task
from tracekit.durable.unopened import lay_aside
from tracekit.errors import Divergence, LeaseLost, RequiresReview, TracekitError
from tracekit.model import TaskStatus
from tracekit.store.rows import Lease

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one claimed task ended for this worker."""

    task_id: str
    word: str
    """`done`, `review`, `lost`, `ended` or `failed`."""
    text: str = ""


AWAY = ("store.unreachable", "store.busy", "store.unwritable", "store.commit_unknown", "store.gone")
"""Errors of a store that may be well again by itself: a worker waits for it."""

MOST_WAIT_S = 5.0


class Worker:
    """Claims and runs tasks of one application; outlives a store that is away for a while."""

    def __init__(
        self,
        app: str | None,
        *,
        store: str | None = None,
        poll_s: float = 0.5,
        lease_s: float = LEASE_S,
        away: Callable[[TracekitError], None] = lambda error: None,
        strange: Callable[[str, int], None] = lambda function, waiting: None,
    ) -> None:
        """
        Args:
            lease_s: How long other machines wait for this worker after it was last heard of.
            away: Told why, each time that the store can't be worked with.
            strange: Told once, when nothing is left to take, each function that is not declared here and how many tasks wait for it.
        """
        if app is not None:
            load_app(app)
        self.poll_s = poll_s
        self.lease_s = lease_s
        self._store = store
        self._away = away
        self._strange = strange
        self._stop = threading.Event()

    @property
    def owner(self) -> Ownership:
        """The store and what this process owns there; opened when it is asked for first."""
        owner = ownership(self._store)
        owner.lease_s = self.lease_s
        return owner

    def enter(self) -> str:
        """The name of this worker in its store, once the store is there; empty when told to stop before."""
        return self._patiently(lambda: self.owner.presence.worker_id) or ""

    def stop(self) -> None:
        """Take no new task; the one that runs is run to its end."""
        self._stop.set()

    def run(self, *, told: Callable[[Outcome], None], until_idle: bool = False) -> None:
        """Run tasks until `stop`; with *until_idle* until none waits."""
        looked = False
        while not self._stop.is_set():
            outcome = self._patiently(self.run_one)
            if outcome is not None:
                told(outcome)
                continue
            if not looked:
                looked = True
                self._patiently(self._tell_strange)
            if until_idle:
                return
            self._stop.wait(self.poll_s)

    def _tell_strange(self) -> None:
        """A task of another module, or of a script at another path, would wait for ever without a word."""
        known = {*known_names(), SCOPE_FUNCTION}
        # A damaged row is told by `ls`; a worker passes over it.
        queued = self.owner.store.tasks(status=[TaskStatus.QUEUED], damaged=lambda error: None)
        for function, waiting in Counter(row.function for row in queued).items():
            if function not in known:
                self._strange(function, waiting)

    def _patiently(self, work: Callable[[], T]) -> T | None:
        """What *work* gives, done again while the store is away; None when told to stop meanwhile."""
        wait_s = self.poll_s
        while not self._stop.is_set():
            try:
                return work()
            except TracekitError as error:
                if error.code not in AWAY:
                    raise
                self._away(error)
            self._stop.wait(wait_s)
            wait_s = min(MOST_WAIT_S, wait_s * 2)
        return None

    def run_one(self) -> Outcome | None:
        """Claim and run one task; None when none waits."""
        lease = self.owner.claim(known_names())
        return None if lease is None else self._run(lease)

    def _run(self, lease: Lease) -> Outcome:
        owner = self.owner
        try:
            task, session = self._opened(owner, lease)
        except Exception as error:
            if isinstance(error, TracekitError) and error.code in AWAY:
                owner.give_back(lease)
                raise
            lay_aside(owner, lease, error)
            return Outcome(lease.task_id, "review", f"it could not be opened: {safe_text(error)}")
        try:
            task.run_session(owner, session)
        except (RequiresReview, Divergence) as error:
            return Outcome(lease.task_id, "review", str(error))
        except LeaseLost as error:
            return Outcome(lease.task_id, "lost", str(error))
        except TracekitError as error:
            return Outcome(lease.task_id, "ended", str(error))
        except (Exception, *OWN_ENDINGS) as error:
            # The agent's own; it is recorded and waits for a person, and the next task is none of its business.
            return Outcome(lease.task_id, "failed", f"{type(error).__name__}: {safe_text(error)}")
        return Outcome(lease.task_id, "done")

    @staticmethod
    def _opened(owner: Ownership, lease: Lease) -> tuple[Task[Any], Session]:
        state = owner.store.load(lease.task_id)
        task = find_task(state.task.function if state is not None else "")
        session = task.session(owner, lease)
        session.by_worker = True
        return task, session


def stop_on_signals(worker: Worker) -> None:
    """Let SIGTERM and the first SIGINT end the worker after the task that runs."""

    def handle(number: int, frame: FrameType | None) -> None:
        worker.stop()
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
