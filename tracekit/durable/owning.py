"""
Stores that this process has open, its presence as a worker, and the thread that keeps its leases alive.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tracekit.config import settings
from tracekit.durable.points import point
from tracekit.durable.session import Session
from tracekit.errors import LeaseLost, TracekitError
from tracekit.model import TaskStatus
from tracekit.store import open_store, shown_url
from tracekit.store.contract import Store
from tracekit.store.liveness import Presence, Survey, enter, forget_dead, survey
from tracekit.store.rows import Lease, TaskRow

T = TypeVar("T")

LEASE_S = 30.0
"""How long a lease lasts where the owner's lock can't be seen; put off every third of it."""

UNDER_WAY = (TaskStatus.RUNNING, TaskStatus.ROLLING_BACK)


@dataclass(slots=True)
class Ownership:
    """One open store of this process and what it owns there."""

    store: Store
    entered: Presence | None = None
    """Our presence as a worker; made when the first task is taken, so that looking leaves no trace."""
    sessions: set[Session] = field(default_factory=set)
    leased: set[str] = field(default_factory=set)
    """Tasks whose lease this process has."""
    owed: list[Lease] = field(default_factory=list)
    """Leases that could not be given back while the store was away; nobody else gets them as long as we live."""
    unsure: bool = False
    """Whether the answer to a request for a lease was lost."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    taking: threading.Lock = field(default_factory=threading.Lock)
    """Held while a lease is asked for, so that one whose answer was lost is not taken for another thread's."""
    wake: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    lease_s: float = LEASE_S

    @property
    def presence(self) -> Presence:
        """This process as a worker of the store."""
        with self.lock:
            if self.entered is None:
                with contextlib.suppress(TracekitError):
                    forget_dead(
                        self.store
                    )  # only tidies up: a store that can't be tidied can still be worked on
                self.entered = enter(self.store)
            return self.entered

    def acquire(self, task_id: str, *, recover: bool, beyond_limit: bool = False) -> Lease | None:
        """The lease of *task_id*, taken before anything of it is read; None when it can't be had."""
        point("before_acquire")

        def ask(owner: str, seen: Survey) -> Lease | None:
            return self.store.acquire(
                task_id,
                owner=owner,
                ttl_s=self.lease_s,
                dead=seen.dead,
                alive=seen.alive,
                recover=recover,
                beyond_limit=beyond_limit,
            )

        lease = self._taken(ask, task_id)
        point("after_acquire")
        return lease

    def claim(self, functions: tuple[str, ...] = ()) -> Lease | None:
        """The lease of any task that waits for a worker."""

        def ask(owner: str, seen: Survey) -> Lease | None:
            return self.store.claim(
                owner=owner, ttl_s=self.lease_s, dead=seen.dead, alive=seen.alive, functions=functions
            )

        return self._taken(ask, None)

    def _taken(self, ask: Callable[[str, Survey], Lease | None], task_id: str | None) -> Lease | None:
        with self.taking:
            self.pay_back()
            owner = self.presence.worker_id
            try:
                lease = self._kept_all_the_same(task_id) or ask(owner, survey(self.store))
            except TracekitError as error:
                if error.code != "store.commit_unknown":
                    raise
                self.unsure = True
                lease = self._kept_all_the_same(task_id)
                if lease is None:
                    self.unsure = (
                        True  # the server may still be at it: looked at once more before the next is taken
                    )
                    raise
            if lease is not None:
                self.leased.add(lease.task_id)
            return lease

    def _kept_all_the_same(self, task_id: str | None) -> Lease | None:
        """The lease that the store gave and whose answer was lost: nobody else would ever get that task from us."""
        if not self.unsure:
            return None
        for row in self._candidates(task_id):
            if row.owner == self.presence.worker_id and row.task_id not in self.leased:
                return Lease(row.task_id, row.owner, row.fence, row.lease_until_ms)
        self.unsure = False
        return None

    def _candidates(self, task_id: str | None) -> Iterator[TaskRow]:
        if task_id is not None:
            state = self.store.load(task_id)
            yield from (state.task,) if state is not None else ()
            return
        after = ""
        while page := self.store.tasks(status=UNDER_WAY, after=after, damaged=lambda error: None):
            yield from page
            after = page[-1].task_id

    def hold(self, session: Session) -> None:
        """Keep the session's lease alive from a thread of its own."""
        with self.lock:
            self.sessions.add(session)
            if self.thread is None:
                self.thread = threading.Thread(target=self._beat, name="tracekit-heartbeat", daemon=True)
                self.thread.start()

    def release(self, session: Session) -> None:
        """Give the session's lease back; a forked child has none to give."""
        if session.is_in_child:
            return
        with self.lock:
            self.sessions.discard(session)
        point("before_release")
        session.close()
        self.give_back(session.lease)
        point("after_release")

    def give_back(self, lease: Lease) -> None:
        """Give *lease* back, now or as soon as the store is there again."""
        with self.lock:
            self.owed.append(lease)
        self.pay_back()

    def pay_back(self) -> None:
        """Give back what is owed; stays owed while the store is away."""
        with self.lock:
            owed = list(self.owed)
        for lease in owed:
            try:
                self.store.release(lease)
            except TracekitError:
                return
            with self.lock:
                if lease in self.owed:
                    self.owed.remove(lease)
                self.leased.discard(lease.task_id)

    def _beat(self) -> None:
        while not self.wake.wait(self.lease_s / 3):
            with self.lock:
                held = list(self.sessions)
            for session in held:
                _renew(self.store, session, self.lease_s)
            try:
                self.pay_back()
                self.presence.beat()
            except Exception:
                # A store that is away now may be back at the next beat; the fence guards every write meanwhile.
                continue

    def close(self) -> None:
        """Stop the heartbeat, leave, close the store; a store that is away hinders nobody from ending."""
        self.wake.set()
        self.pay_back()
        if self.entered is not None:
            # Where it can't be said that we leave, the free lock says it, and the next worker forgets us.
            with contextlib.suppress(TracekitError):
                self.entered.leave()
            self.entered.drop_lock()
        self.store.close()


def opened(owner: Ownership, lease: Lease, load: Callable[[], T]) -> T:
    """What *load* gives; where it raises, the lease is given back first, since nobody would come to do it."""
    try:
        return load()
    except BaseException:
        owner.give_back(lease)
        raise


def _renew(store: Store, session: Session, lease_s: float) -> None:
    try:
        kept = store.renew(session.lease, ttl_s=lease_s)
    except Exception:
        return  # as above: no answer is not a lost lease
    if not kept:
        lost = LeaseLost(
            "lease.lost",
            f"task {session.task.task_id!r} has another owner now; this process stops working on it",
        )
        session.stop(lost, broken=True)


_open: dict[str, Ownership] = {}
_lock = threading.Lock()


def ownership(url: str | Store | None = None) -> Ownership:
    """The store at *url* (default: the one of the settings), opened once per process."""
    if url is not None and not isinstance(url, str):
        name = f"object:{id(url)}"
        with _lock:
            mine = next((each for each in _open.values() if each.store is url), None)
            if mine is not None:
                return mine
            if name not in _open:
                _open[name] = Ownership(url)
            return _open[name]
    name = url or settings().store_url
    with _lock:
        found = _open.get(name)
        if found is None:
            found = _open[name] = Ownership(open_store(name, seal_all=settings().seal_all))
        return found


def existing_store(url: str | None = None) -> Store:
    """The store at *url* for looking: a missing SQLite file is an error and is not created."""
    name = url or settings().store_url
    path = name.removeprefix("sqlite:")
    if "://" not in path and not name.startswith("memory:") and not os.path.exists(path):
        raise TracekitError(
            "store.missing",
            f"there is no store at {shown_url(name)}; give --home DIR or --store URL (or TRACEKIT_HOME, TRACEKIT_STORE), or start a task first",
        )
    return ownership(name).store


def close_all() -> None:
    """Close every store that this process has open."""
    with _lock:
        found = list(_open.values())
        _open.clear()
    for each in found:
        each.close()


def _forget_after_fork() -> None:
    """A child owns none of its parent's tasks: it opens its own store and gets its own name."""
    global _lock
    _lock = threading.Lock()
    _open.clear()


os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(close_all)
