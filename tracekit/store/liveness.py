"""
Which workers live: each holds an OS file lock, and the kernel lets go of it when the process ends, however it ends.

So a task is taken over at once after kill -9, and a slow or stopped process on the same machine is never robbed,
whatever the clock says. Workers of other machines can't be seen: for them the end of the lease decides.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote
from weakref import WeakSet

from tracekit import clock, machine
from tracekit.folders import make_private
from tracekit.model import TaskStatus
from tracekit.store.contract import Store
from tracekit.store.rows import WorkerRow

_HELD_IN_MEMORY: set[tuple[str, str]] = set()
"""Store and worker of those whose store has no files: they live as long as they have not left."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the locks say; a worker in neither list can't be judged from here."""

    dead: tuple[str, ...]
    alive: tuple[str, ...]


class Presence:
    """This process as a worker: its lock is held until `leave`, or until the process ends."""

    def __init__(self, store: Store, row: WorkerRow, lock: int | None) -> None:
        self.worker_id = row.worker_id
        self._store = store
        self._row = row
        self._lock = lock
        _present.add(self)

    def beat(self) -> None:
        """Tell other machines that this worker lives."""
        self._store.register_worker(replace(self._row, heartbeat_ms=clock.now_ms()))

    def leave(self) -> None:
        """Forget the worker and let go of the lock; its leases must have been given back. Again: nothing happens."""
        if self._row.pid != os.getpid():
            return
        self._store.forget_worker(self.worker_id)
        _HELD_IN_MEMORY.discard((self._store.url, self.worker_id))
        if self._lock is not None:
            with contextlib.suppress(FileNotFoundError):
                _lock_path(self._store, self.worker_id).unlink()
        self.drop_lock()

    def drop_lock(self) -> None:
        """Close the lock's descriptor; in a forked child this leaves the parent's lock held."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


_present: WeakSet[Presence] = WeakSet()


def enter(store: Store, *, worker_id: str | None = None) -> Presence:
    """Register this process as a worker of *store*; the lock is held before the row can be seen."""
    pid, now_ms = os.getpid(), clock.now_ms()
    name = worker_id or f"{machine.host()}-{pid}-{clock.current().random_hex(8)}"
    row = WorkerRow(name, machine.host(), machine.boot_id(), pid, now_ms, now_ms)
    if store.lock_folder is None:
        _HELD_IN_MEMORY.add((store.url, name))
        lock = None
    else:
        lock = _take_lock(_lock_path(store, name))
    store.register_worker(row)
    return Presence(store, row, lock)


def survey(store: Store) -> Survey:
    """Dead and living workers, as far as this machine can see."""
    states = {row.worker_id: _is_alive(store, row) for row in store.workers()}
    return Survey(
        dead=tuple(name for name, alive in states.items() if alive is False),
        alive=tuple(name for name, alive in states.items() if alive is True),
    )


def dead_workers(store: Store) -> list[str]:
    """Workers whose process has certainly ended."""
    return list(survey(store).dead)


def forget_dead(store: Store) -> int:
    """Remove workers that are dead and own no open task, with their lock files; how many."""
    dead = survey(store).dead
    owners = set(_owners(store)) if dead else set()
    gone = [name for name in dead if name not in owners]
    for name in gone:
        store.forget_worker(name)
        if store.lock_folder is not None:
            with contextlib.suppress(FileNotFoundError):
                _lock_path(store, name).unlink()
    return len(gone)


def _owners(store: Store) -> Iterator[str]:
    """Owners of tasks that are not at their end."""
    unfinished = [status for status in TaskStatus if not status.is_final]
    after = ""
    while page := store.tasks(status=unfinished, after=after):
        yield from (task.owner for task in page if task.owner is not None)
        after = page[-1].task_id


def _is_alive(store: Store, row: WorkerRow) -> bool | None:
    """True when its lock is held, False when it is free, None when that can't be seen from here."""
    if store.lock_folder is None:
        return (store.url, row.worker_id) in _HELD_IN_MEMORY
    here = row.boot_id == machine.boot_id() and bool(row.boot_id)
    if not here and row.host != machine.host():
        return None
    held = _is_held(_lock_path(store, row.worker_id))
    # After a restart of this machine no lock is left; a held one would be that of another machine of the same name.
    return held if here or held is False else None


def _lock_path(store: Store, worker_id: str) -> Path:
    assert store.lock_folder is not None
    return store.lock_folder / f"{quote(worker_id, safe='')}.lock"


def _take_lock(path: Path) -> int:
    make_private(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _is_held(path: Path) -> bool | None:
    """Whether another holds the lock; None when the file is not there. Shared, so that two who look don't collide."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _after_fork_in_child() -> None:
    """A lock belongs to parent and child alike until both close it: a child would keep its dead parent alive."""
    for presence in list(_present):
        presence.drop_lock()


os.register_at_fork(after_in_child=_after_fork_in_child)
