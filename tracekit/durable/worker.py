"""A process that takes tasks from a store and runs them, one after another, until it is told to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from tracekit.durable.finding import find_task, known_names, load_app
from tracekit.durable.owning import Ownership, ownership
from tracekit.errors import Divergence, LeaseLost, RequiresReview, TracekitError
from tracekit.store.contract import Lease


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one claimed task ended for this worker."""

    task_id: str
    word: str
    """`done`, `review`, `lost`, `ended` or `failed`."""
    text: str = ""


class Worker:
    """Claims and runs tasks of one application."""

    def __init__(self, app: str | None, *, store: str | None = None, poll_s: float = 0.5) -> None:
        if app is not None:
            load_app(app)
        self.owner: Ownership = ownership(store)
        self.poll_s = poll_s
        self._stop = threading.Event()

    def stop(self) -> None:
        """Take no new task; the one that runs is run to its end."""
        self._stop.set()

    def run(self, *, told: Callable[[Outcome], None], until_idle: bool = False) -> None:
        """Run tasks until `stop`; with *until_idle* until none waits."""
        while not self._stop.is_set():
            outcome = self.run_one()
            if outcome is not None:
                told(outcome)
            elif until_idle:
                return
            else:
                self._stop.wait(self.poll_s)

    def run_one(self) -> Outcome | None:
        """Claim and run one task; None when none waits."""
        lease = self.owner.claim(known_names())
        return None if lease is None else self._run(lease)

    def _run(self, lease: Lease) -> Outcome:
        state = self.owner.store.load(lease.task_id)
        function = state.task.function if state is not None else ""
        try:
            task = find_task(function)
            task.run_session(self.owner, task.session(self.owner, lease))
        except (RequiresReview, Divergence) as error:
            return Outcome(lease.task_id, "review", str(error))
        except LeaseLost as error:
            return Outcome(lease.task_id, "lost", str(error))
        except TracekitError as error:
            return Outcome(lease.task_id, "ended", str(error))
        except Exception as error:
            # The agent's own; it is recorded and waits for a person, and the next task is none of its business.
            return Outcome(lease.task_id, "failed", f"{type(error).__name__}: {error}")
        return Outcome(lease.task_id, "done")


def stop_on_signals(worker: Worker) -> None:
    """Let SIGTERM and the first SIGINT end the worker after the task that runs."""

    def handle(number: int, frame: FrameType | None) -> None:
        worker.stop()
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
