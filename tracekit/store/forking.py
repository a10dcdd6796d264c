"""
Stores let go of their connections before a process forks.

SQLite keeps its locks in the process's memory: a child that opened the file anew beside inherited connections would
believe in locks that only its parent holds. So nothing is open at the moment of a fork, and both sides open anew.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """A store with connections."""

    def before_fork(self) -> None:
        """Wait for what is under way, close all connections, and keep others from opening them."""

    def after_fork(self) -> None:
        """Let connections be opened again; called in the parent and in the child."""


_open: WeakSet[Forkable] = WeakSet()
_held: list[Forkable] = []
_lock = threading.RLock()


def watch(store: Forkable) -> None:
    """Tell *store* about every fork from now on."""
    with _lock:
        _open.add(store)


def _before() -> None:
    _lock.acquire()
    _held.extend(_open)
    for store in _held:
        store.before_fork()


def _after() -> None:
    for store in reversed(_held):
        store.after_fork()
    _held.clear()
    _lock.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
