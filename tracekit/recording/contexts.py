"""
The messages of a model call by their hashes, so that a log grows with the conversation and not with its square.

Holds hashes only, never a message, and forgets a trace when it ends and everything when a new file begins.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracekit.errors import NotStorable
from tracekit.model import ContextRef
from tracekit.snapshot import context_digest, digest, log_bytes, message_hash

_KEPT_PER_TRACE = 8
"""Contexts per trace that may serve as a base; several agents talking in turn need more than one."""


class HashedMessages(tuple[Mapping[str, Any], ...]):
    """Messages whose hashes the caller knows already: hashing is most of what a long conversation costs."""

    hashes: tuple[str, ...]

    @staticmethod
    def of(messages: Sequence[Mapping[str, Any]], hashes: tuple[str, ...]) -> HashedMessages:
        """*messages* with the `message_hash` of each, in order."""
        made = HashedMessages(messages)
        made.hashes = hashes
        return made


class _Base(NamedTuple):
    """A context that later ones may refer to, and how it was written itself."""

    hashes: tuple[str, ...]
    base: str | None
    keep: int


class Contexts:
    """What this process's current log file already holds."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._written: set[str] = set()
        self._bases: dict[str, dict[str, _Base]] = {}

    def new_file(self) -> None:
        """Forget everything: a file stands alone."""
        with self._lock:
            self._written.clear()
            self._bases.clear()

    def end_trace(self, trace_id: str) -> None:
        """Forget the contexts of a trace that has no open step in this process."""
        with self._lock:
            self._bases.pop(trace_id, None)

    def first_uses(self, hashes: Sequence[str]) -> list[int]:
        """Positions of the messages that have to be written; each hash once per file."""
        fresh = []
        with self._lock:
            for position, hash_ in enumerate(hashes):
                if hash_ not in self._written:
                    self._written.add(hash_)
                    fresh.append(position)
        return fresh

    def refer(self, trace_id: str, hashes: tuple[str, ...], *, complete: bool) -> ContextRef:
        """How to write this list of messages: against the context of the trace that shares the longest head."""
        name = context_digest(hashes)
        with self._lock:
            known = self._bases.setdefault(trace_id, {})
            same = known.pop(name, None)
            if same is None:
                base, keep = _longest_head(known, hashes)
                same = _Base(hashes, base, keep)
            known[name] = same  # sent again, it is told in the same words: a context is never its own base
            while len(known) > _KEPT_PER_TRACE:
                known.pop(next(iter(known)))
        return ContextRef(name, len(hashes), same.base, same.keep, hashes[same.keep :], complete)


def hash_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The hash of each message; one that has no canonical form is named by how it stands in the log."""
    if isinstance(messages, HashedMessages):
        return messages.hashes
    return tuple(_hash(message) for message in messages)


def _hash(message: Mapping[str, Any]) -> str:
    try:
        return message_hash(message)
    except NotStorable:
        return digest(log_bytes(message))


def _longest_head(known: Mapping[str, _Base], hashes: tuple[str, ...]) -> tuple[str | None, int]:
    best: str | None = None
    keep = 0
    for name, old in known.items():
        same = _shared(old.hashes, hashes)
        if same >= keep and same > 0:
            best, keep = name, same
    return best, keep


def _shared(old: tuple[str, ...], new: tuple[str, ...]) -> int:
    if new[: len(old)] == old:
        return len(old)
    for i, (a, b) in enumerate(zip(old, new, strict=False)):
        if a != b:
            return i
    return min(len(old), len(new))
