"""
One attempt at one task: the rows it loaded, the lease it holds, and the one way by which it writes.

All memory is a picture of the store: `commit` writes first and changes the picture after.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tracekit import clock
from tracekit.durable import points
from tracekit.durable.decide import Table
from tracekit.durable.limits import Limits
from tracekit.durable.message_names import MessageNames
from tracekit.durable.places import Scope, current_scope, unnamed_thread
from tracekit.durable.requests import Commit
from tracekit.errors import TracekitError
from tracekit.model import StepStatus
from tracekit.snapshot import decode
from tracekit.store.contract import (
    AddUsage,
    AppendEvent,
    InsertEffect,
    InsertReview,
    PutBlob,
    PutStep,
    Store,
    UpdateEffect,
    UpdateTask,
    UseReview,
    Write,
)
from tracekit.store.rows import CompensationRow, EffectRow, Lease, ReviewRow, StepRow, TaskRow, TaskState
from tracekit.tools import Tool


@dataclass(frozen=True, slots=True)
class Options:
    """What a task's declaration says about running it, apart from its limits."""

    lenient: bool = False
    """Whether a model's arguments may be read leniently when the strict reading fails."""
    table: Table | None = None
    summarise: Callable[[list[dict[str, Any]]], str] | None = None
    max_context_tokens: int | None = None
    review_expires_s: float | None = None


class Session:
    """The state of one attempt; shared by everything that runs in it."""

    def __init__(
        self, store: Store, lease: Lease, state: TaskState, *, options: Options | None = None
    ) -> None:
        self.store = store
        self.lease = lease
        self.task: TaskRow = state.task
        self.options = options or Options()
        self.table = self.options.table or Table.standard()
        self.limits = Limits.from_json(state.task.limits)
        self.steps: dict[str, StepRow] = {row.place: row for row in state.steps}
        self.spent_ms = sum(_took_ms(row) for row in state.steps)
        """Time of finished steps, over all attempts."""
        self.effects: dict[str, EffectRow] = {row.key: row for row in state.effects}
        self._keys_at: defaultdict[str, set[str]] = defaultdict(set)
        """Keys of the effects at each place: a task of ten thousand calls looks at its own ones only."""
        for row in state.effects:
            self._keys_at[row.place].add(row.key)
        self.reviews: dict[str, ReviewRow] = {row.review_id: row for row in state.reviews}
        self.compensations: dict[int, CompensationRow] = {row.ord: row for row in state.compensations}
        self.bodies: dict[str, bytes] = dict(state.blobs)
        self.opened_ms = now_ms()
        self.pid = os.getpid()
        self.scope = Scope(self, "", threading.get_ident())
        self.root: Any = None
        """Open step of the attempt."""
        self.stopped: Exception | None = None
        """Why no new step may begin: a review, a divergence, a lost lease."""
        self.broken = False
        """Whether nothing may be written any more."""
        self.tools: dict[str, Tool[Any, Any]] = {}
        """Tools that the model was shown, by name."""
        self.noticed = state.task.attempt <= 1 or not self.steps
        """Whether the model has been told that the task was resumed."""
        self.seen: set[tuple[str, str, str]] = set()
        """Tool, arguments and result of every call that the model asked for."""
        self.streak = 0
        """How many calls in a row brought nothing that was not seen before."""
        self.reinfers: dict[str, int] = {}
        """Second inferences in a row, by tool name."""
        self.escaped: list[tuple[BaseException, str]] = []
        """Exceptions that steps raised, with their places: finds the step behind one that ends the attempt."""
        self.names = MessageNames()
        self.last_context: tuple[str, tuple[str, ...]] | None = None
        self.reply_style = "openai"
        self.is_async = False
        self.dispatching: set[Any] = set()
        """Asyncio tasks that have sent something and wait for the answer."""
        self.outcome: Any = None
        """The task's result, once it is there."""
        self.by_worker = False
        """Whether a worker runs it: an exit or a cancelling is then the task's own doing, for nobody waits for it here."""
        self.beyond_limit = False
        """Whether the lease was taken only to lay the task before a person."""
        self._ord = itertools.count(max((row.ord for row in state.steps), default=0) + 1)
        self._waiting: list[Write] = []
        self._lock = threading.RLock()

    # ------------------------------------------------------------------------------------- places

    def place(self, scope: Scope | None = None) -> str:
        """The place of the next call here; raises `task.unnamed_thread` in a thread without a branch."""
        found = current_scope(self) or scope or self.scope
        if found.thread is not None and found.thread != threading.get_ident():
            raise unnamed_thread()
        return found.next_place()

    def next_ord(self) -> int:
        """Position of a step that begins now."""
        return next(self._ord)

    def taken_up_ms(self, row: StepRow | None) -> int:
        """
        When this attempt took up the call of *row*.

        What lies between a lost try and this attempt, such as the night until a person answered, is no work.
        """
        if row is not None and row.started_ms >= self.opened_ms:
            return row.started_ms
        return now_ms()

    # ------------------------------------------------------------------------------------- writing

    def check(self) -> None:
        """Raise what stopped this attempt, so that code which swallowed it can begin nothing new."""
        if self.stopped is not None:
            raise self.stopped
        if self.is_in_child:
            raise self._forked()

    @property
    def is_in_child(self) -> bool:
        """Whether this is a forked child of the process that owns the task."""
        return self.pid != os.getpid()

    def _forked(self) -> TracekitError:
        return TracekitError(
            "task.forked",
            f"task {self.task.task_id!r} belongs to process {self.pid}, this is its forked child {os.getpid()}: two "
            "owners under one lease would write over each other. Call the task from its own process, and end the child with "
            "os._exit",
        )

    def stop(self, reason: Exception, *, broken: bool = False) -> None:
        """Let no new step begin; with *broken*, let nothing be written either."""
        with self._lock:
            self.broken = self.broken or broken
            if self.stopped is None or broken:
                self.stopped = reason

    def close(self) -> None:
        """Refuse every later call, such as one of an async generator that is cleaned up after the task has returned."""
        if self.stopped is None:
            reason = TracekitError(
                "task.over",
                f"a call came after this attempt at task {self.task.task_id!r} had ended; nothing was sent. Wait for threads "
                "and close async generators (`contextlib.aclosing`) before the task returns",
            )
            self.stop(reason, broken=True)

    def later(self, *writes: Write) -> None:
        """Write along with the next commit: for what nothing outside depends on before that."""
        with self._lock:
            self._waiting.extend(writes)
        for write in writes:
            self._picture(write)

    def commit(self, request: Commit) -> None:
        """
        Write, or stop the attempt: after a failed commit nothing more is dispatched or written.

        Raises what the store raised; a row that could not be moved on stays as it is and recovery reads it as unknown.
        """
        if self.broken and self.stopped is not None:
            raise self.stopped
        if self.is_in_child:
            raise self._forked()
        with self._lock:
            waiting, self._waiting = self._waiting, []
        writes = (*waiting, *request.writes)
        try:
            points.point(f"before_commit:{request.point}")
            self.store.commit(self.lease, writes, durable=request.durable)
            points.point(f"after_commit:{request.point}")
        except BaseException as error:
            # Ctrl-C here too: whether the commit was kept is not known, so nothing may be built on either.
            self.stop(error if isinstance(error, Exception) else self._cut_off(error), broken=True)
            raise
        for write in writes:
            self._picture(write)

    def _cut_off(self, error: BaseException) -> TracekitError:
        return TracekitError(
            "task.interrupted",
            f"{type(error).__name__} came while task {self.task.task_id!r} was written: what is in the store is the truth, so "
            "this attempt begins nothing new. Resume the task",
        )

    def flush(self, point: str = "note") -> None:
        """Write what waits for a commit."""
        if self._waiting and not self.broken:
            self.commit(Commit(point, (), durable=False))

    def _picture(self, write: Write) -> None:
        """Bring memory up to a write that was applied."""
        match write:
            case PutStep(row):
                self.spent_ms += _took_ms(row) - _took_ms(self.steps.get(row.place))
                self.steps[row.place] = row
            case PutBlob(hash=name, data=data):
                self.bodies[name] = data
            case InsertEffect(row):
                self.effects[row.key] = row
                self._keys_at[row.place].add(row.key)
            case UpdateEffect(key, _, changes):
                before = self.effects[key]
                self.effects[key] = after = replace(before, **changes)
                if after.place != before.place:
                    self._keys_at[before.place].discard(key)
                    self._keys_at[after.place].add(key)
            case InsertReview(row):
                self.reviews.setdefault(row.review_id, row)
            case UseReview(review_id):
                self.reviews[review_id] = replace(self.reviews[review_id], status="used")
            case UpdateTask(changes):
                self.task = replace(self.task, **changes)
            case AddUsage(tokens, cost):
                used = self.task.tokens_used + tokens, self.task.cost_used + cost
                self.task = replace(self.task, tokens_used=used[0], cost_used=used[1])
            case _:
                pass

    # ------------------------------------------------------------------------------------- reading

    def body(self, name: str) -> Any:
        """The value behind a blob hash."""
        data = self.bodies.get(name)
        if data is None:
            data = self.store.blobs([name])[name]
            self.bodies[name] = data
        return decode(data)

    def effects_at(self, place: str) -> list[EffectRow]:
        """Ledger rows of the call at *place*, in the order of their call numbers."""
        rows = [self.effects[key] for key in tuple(self._keys_at.get(place, ()))]
        return sorted(rows, key=lambda row: row.call_no)

    def decided(self, place: str | None, *reasons: str) -> ReviewRow | None:
        """A person's decision about *place* that was not used yet."""
        for row in list(self.reviews.values()):
            if row.status == "decided" and row.place == place and (not reasons or row.reason in reasons):
                return row
        return None

    def work_done(self) -> float:
        """Share of the planned steps that are finished; without a plan, of those begun so far plus one, 0 to 1."""
        done = sum(row.status is StepStatus.OK for row in self.steps.values())
        planned = len(orjson.loads(self.task.plan)) if self.task.plan else 0
        return min(1.0, done / max(planned, len(self.steps) + 1, 1))


def _took_ms(row: StepRow | None) -> int:
    """Milliseconds that a finished step took; 0 for an unfinished one."""
    return row.finished_ms - row.started_ms if row is not None and row.finished_ms is not None else 0


def event(kind: str, place: str | None, **body: Any) -> AppendEvent:
    """A line of the task's history."""
    return AppendEvent(kind, place, orjson.dumps(body).decode())


def now_ms() -> int:
    """Wall time for rows."""
    return clock.now_ms()
