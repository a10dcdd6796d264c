"""What each model step was sent, from the deltas that the log holds: which messages were kept, added and dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit_analyzers.relations import statement

Base = tuple[str, str | None, int, list[str]]
"""Digest, base, keep and hashes of a context."""
Ask = Callable[[str, Any], list[tuple[Any, ...]]]
"""The rows of a query with its parameters."""


@dataclass(frozen=True, slots=True)
class ContextStep:
    """A model step with its context as logged."""

    trace_id: str
    step_id: str
    seq: int
    agent: str | None
    parent_step_id: str | None
    digest: str
    base: str | None
    keep: int
    count: int
    hashes: tuple[str, ...]


def context_step(row: tuple[Any, ...]) -> ContextStep:
    """The value of one row of `context_steps.sql`."""
    trace_id, step_id, seq, agent, parent, digest, base, keep, count, hashes = row
    return ContextStep(trace_id, step_id, seq, agent, parent, digest, base, keep, count, tuple(hashes))


@dataclass(frozen=True, slots=True)
class ContextChange:
    """A model step against the one before it in the same conversation."""

    trace_id: str
    step_id: str
    seq: int
    previous_step: str | None
    kept: int
    added: tuple[str, ...]
    dropped: tuple[str, ...]


class Contexts:
    """Contexts by digest; holds the deltas and builds a whole list only when asked."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str | None, int, tuple[str, ...]]] = {}

    def learn(self, step: ContextStep) -> None:
        """Remember the context of *step*."""
        self.learn_base(step.digest, step.base, step.keep, step.hashes)

    def learn_base(self, digest: str, base: str | None, keep: int, hashes: tuple[str, ...]) -> None:
        """Remember a context by its parts."""
        self._known.setdefault(digest, (base if keep else None, keep, hashes))

    def knows(self, digest: str) -> bool:
        """Whether the context was learned."""
        return digest in self._known

    def missing_base(self, step: ContextStep) -> str | None:
        """Digest of the base of *step* when it was not learned."""
        return step.base if step.base and step.keep and step.base not in self._known else None

    def lacking(self, digest: str) -> str | None:
        """The first context that was not learned of those that *digest* builds on, itself among them; None when there is none."""
        seen: set[str] = set()
        name: str | None = digest
        while name is not None and name in self._known and name not in seen:
            seen.add(name)
            name = self._known[name][0]
        return None if name in seen else name

    def follow(self, digest: str, ask: Ask) -> tuple[str, ...]:
        """
        All hashes of the context, after everything that it builds on was learned by *ask*.

        That goes trace by trace: contexts build on each other thousands deep, and each question looks through the log.
        """
        asked: set[str] = set()
        while (name := self.lacking(digest)) is not None and name not in asked:
            chain = _chain(dict(ask(statement("context_bases"), {"digest": name})), name)
            asked.update(chain)
            for found, base, keep, hashes in ask(statement("contexts_by_digest"), {"digests": chain}):
                self.learn_base(found, base, keep, tuple(hashes))
        return self.whole(digest)

    def whole(self, digest: str) -> tuple[str, ...]:
        """All hashes of the context in their order; what is not known, or builds on itself, is left out."""
        tails: list[tuple[str, ...]] = []
        limit: int | None = None
        name: str | None = digest
        seen: set[str] = set()
        while name is not None and name in self._known and name not in seen:
            seen.add(name)
            base, keep, hashes = self._known[name]
            if limit is None:
                tails.append(hashes)
            elif limit > keep:
                tails.append(hashes[: limit - keep])
            limit = keep if limit is None else min(limit, keep)
            name = base
        return tuple(item for tail in reversed(tails) for item in tail)


def _chain(bases: Mapping[str, str], digest: str) -> list[str]:
    """*digest* and what it builds on, one on the other, as far as *bases* (base by context) go."""
    chain = {digest: None}
    name = bases.get(digest)
    while name is not None and name not in chain:
        chain[name] = None
        name = bases.get(name)
    return list(chain)


class Relating:
    """Relates the model steps of many traces to each other; needs the digest of a base that lies in another trace."""

    def __init__(self, steps: Iterable[ContextStep], named: Callable[[list[str]], Iterable[Base]]) -> None:
        self._steps = tuple(steps)
        self._contexts = Contexts()
        for step in self._steps:
            self._contexts.learn(step)
        self._own = {(step.trace_id, step.digest) for step in self._steps}
        self._learn_bases(named)

    def _learn_bases(self, named: Callable[[list[str]], Iterable[Base]]) -> None:
        """Follow bases until none is unknown that the log holds."""
        wanted = {base for step in self._steps if (base := self._contexts.missing_base(step))}
        asked: set[str] = set()
        while wanted - asked:
            asked |= wanted
            found = list(named(sorted(wanted)))
            for digest, base, keep, hashes in found:
                self._contexts.learn_base(digest, base, keep, tuple(hashes))
            wanted = {base for _, base, keep, _ in found if base and keep and not self._contexts.knows(base)}

    def inherited(self) -> Iterator[tuple[str, str, int]]:
        """Trace, message hash and seq of what a step took over from a context of another trace."""
        for step in self._steps:
            if step.base and step.keep and (step.trace_id, step.base) not in self._own:
                for name in self._contexts.whole(step.base)[: step.keep]:
                    yield step.trace_id, name, step.seq

    def changes(self) -> Iterator[ContextChange]:
        """One row for each step, against the one before it with the same agent and parent."""
        latest: dict[tuple[str, str | None, str | None], ContextStep] = {}
        for step in self._steps:
            conversation = (step.trace_id, step.agent, step.parent_step_id)
            yield _change(step, latest.get(conversation), self._contexts)
            latest[conversation] = step

    def whole(self, digest: str) -> tuple[str, ...]:
        """All message hashes of a context."""
        return self._contexts.whole(digest)


def _change(step: ContextStep, before: ContextStep | None, contexts: Contexts) -> ContextChange:
    row = (step.trace_id, step.step_id, step.seq)
    if before is None:
        return ContextChange(*row, None, 0, contexts.whole(step.digest), ())
    if step.base == before.digest and step.keep == before.count:
        return ContextChange(*row, before.step_id, step.keep, step.hashes, ())
    old, new = contexts.whole(before.digest), contexts.whole(step.digest)
    had, has = set(old), set(new)
    dropped = tuple(dict.fromkeys(name for name in old if name not in has))
    added = tuple(dict.fromkeys(name for name in new if name not in had))
    return ContextChange(*row, before.step_id, len(had & has), added, dropped)
