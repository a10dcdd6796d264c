"""Which traces new lines touch, and which lines have to be read again to judge these traces anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from tracekit_analyzers.growing import part
from tracekit_analyzers.growing.growth import Grown, MustReadAll, Watch
from tracekit_analyzers.growing.part import Told
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.relations.contexts import Contexts

MOST_STEPS = 60_000
"""With more steps touched at once, reading everything costs no more."""
ALWAYS_STEPS = 1_000
"""So few are judged again in no time, even where they are most of the log."""

_OF_PROCESSES = "select trace_id from log.steps where status = 'running' and process_id in (select unnest(?))"
_OF_MESSAGES = "select trace_id from log.steps where list_has_any(context_hashes, ?::varchar[])"
_KNOWN_MESSAGES = "select hash from log.places where hash in (select unnest(?))"
"""A name says what a message is: one more line of it, in another file, tells nothing new."""
_OF_CONTEXTS = "select trace_id from log.steps where context_base in (select unnest(?)) and trace_id not in (select unnest(?))"
_CONTEXTS = "select context_digest from log.steps where trace_id in (select unnest(?))"
_SAID_LATE = "select trace_id from log.places where file = ? and line > ?"


@dataclass(slots=True)
class News:
    """What new lines tell."""

    told: list[Told] = field(default_factory=list)
    damage: Damage = field(default_factory=Damage)
    traces: set[str] = field(default_factory=set)
    """With a new step or message."""
    hashes: set[str] = field(default_factory=set)
    digests: set[str] = field(default_factory=set)
    processes: set[str] = field(default_factory=set)


def news_of(grown: Sequence[Grown]) -> News:
    """What the new lines tell; raises `MustReadAll` for what touches more than single traces."""
    news = News()
    for one_file in grown:
        for one in part.records(one_file.file.name, one_file.lines, news.damage):
            _note(news, one)
            news.told.append(one)
    if any(bad.reason.startswith("duplicate_key") for bad in news.damage.listed()):
        raise MustReadAll("a key stands twice in a new line")
    return news


def _note(news: News, one: Told) -> None:
    trace, value = one.value.get("trace_id"), one.value
    if "source" in value:
        raise MustReadAll("the log was converted from another one")
    if one.kind == "step":
        if not isinstance(trace, str) or not isinstance(value.get("step_id"), str):
            raise MustReadAll("a new step has no id")
        news.traces.add(trace)
        context = value.get("context")
        if isinstance(context, dict) and isinstance(context.get("digest"), str):
            news.digests.add(context["digest"])
    elif one.kind == "message":
        if isinstance(value.get("hash"), str):
            news.hashes.add(value["hash"])
        if isinstance(trace, str):
            news.traces.add(trace)
    elif one.kind == "process":
        if isinstance(value.get("process_id"), str):
            news.processes.add(value["process_id"])
    elif one.kind == "drops":
        raise MustReadAll("a recorder could not write lines: every trace of its log is in doubt")


class Finding:
    """Asks the analysis before the new lines: *con* is a connection of its own to it."""

    def __init__(self, con: duckdb.DuckDBPyConnection, watch: Watch, grown: Sequence[Grown]) -> None:
        self._con, self._watch, self._grown = con, watch, grown
        self._before = {one.file.name: one.lines_before for one in grown}
        self.elsewhere: dict[str, tuple[str, ...]] = {}
        """Whole contexts that other traces told, by digest."""

    def traces(self, news: News, died: Iterable[str]) -> set[str]:
        """Traces of which anything may be different now; raises `MustReadAll` when these are most of the log."""
        found = set(news.traces)
        for file, line in self._before.items():
            # What had no end when it was read is among the new lines.
            found |= self._names(_SAID_LATE, file, line)
        changed = sorted({*news.processes, *died})
        if changed:
            found |= self._names(_OF_PROCESSES, changed)
        unknown = news.hashes - self._names(_KNOWN_MESSAGES, sorted(news.hashes)) if news.hashes else set()
        if unknown:
            found |= self._names(_OF_MESSAGES, sorted(unknown))
        digests = news.digests
        while digests:
            more = self._names(_OF_CONTEXTS, sorted(digests), sorted(found))
            found |= more
            digests = self._names(_CONTEXTS, sorted(more)) if more else set()
        self._check(found, len(news.told))
        return found

    def _check(self, traces: set[str], new: int) -> None:
        steps, whole = self._con.execute(
            "select count(*) filter (where trace_id in (select unnest(?))), count(*) from log.steps",
            [sorted(traces)],
        ).fetchall()[0]
        if steps > MOST_STEPS or steps + new > max(ALWAYS_STEPS, whole):
            raise MustReadAll(f"{steps:,} of {whole:,} steps are touched")

    def peers(self, traces: set[str], steps: int) -> tuple[set[str], bool]:
        """The latest traces beside *traces*, of at most so many *steps* together, and whether there are no others."""
        rows = self._con.execute(
            "select trace_id, sum(steps) over (order by first_n desc, trace_id), count(*) over () from log.traces "
            "where trace_id not in (select unnest(?)) order by first_n desc, trace_id limit ?",
            [sorted(traces), steps + 1],
        ).fetchall()
        found = {trace_id for trace_id, steps_so_far, _ in rows if steps_so_far <= steps}
        return found, not rows or len(found) == rows[0][2]

    def lines(self, traces: set[str], news: News) -> list[Told]:
        """All records of *traces*, the new ones, and the messages that they name, in the order of the log."""
        told = self._reread("select file, line from log.places where trace_id in (select unnest(?))", traces)
        told += news.told
        told += self._reread(
            "select file, line from log.places where hash in (select unnest(?)) "
            "qualify row_number() over (partition by hash, file order by line) = 1",
            self._named(told),
        )
        rows = self._con.execute("select file from log.spans order by first_n, file").fetchall()
        order = {file: place for place, (file,) in enumerate(rows)}
        for file in self._before:
            order.setdefault(file, len(order))
        unique = {(order.get(one.file, -1), one.line, one.record): one for one in told}
        # Records of one line stay in their order: sorting is stable.
        return [unique[key] for key in sorted(unique, key=lambda key: key[:2])]

    def _reread(self, sql: str, names: set[str]) -> list[Told]:
        """The records of the lines at the places that *sql* gives for *names*, of those that are not new."""
        wanted: dict[str, set[int]] = defaultdict(set)
        for file, line in self._con.execute(sql, [sorted(names)]).fetchall():
            if line is None:
                raise MustReadAll(f"{file} has no numbered lines")
            if line <= self._before.get(file, line):
                wanted[file].add(line)
        found: list[Told] = []
        for file, numbers in wanted.items():
            # What is bad in these lines was told when they were read first.
            found += part.records(file, self._watch.lines(file, numbers), Damage())
        if any("source" in one.value for one in found):
            raise MustReadAll(
                "the log was converted from another one: its numbers are not those of its lines"
            )
        return found

    def _named(self, told: Sequence[Told]) -> set[str]:
        """Names of the messages of all contexts in *told*."""
        needed: set[str] = set()
        own: set[str] = set()
        bases: set[str] = set()
        for one in told:
            context = one.value.get("context") if one.kind == "step" else None
            if isinstance(context, dict):
                needed.update(name for name in context.get("hashes") or () if isinstance(name, str))
                own.add(str(context.get("digest")))
                if context.get("keep") and isinstance(context.get("base"), str):
                    bases.add(context["base"])
        contexts = Contexts()
        for digest in sorted(bases - own):
            whole = contexts.follow(digest, self._ask)
            needed.update(whole)
            if whole:
                self.elsewhere[digest] = whole
        return needed

    def _ask(self, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        return self._con.execute(sql, parameters).fetchall()

    def _names(self, sql: str, *parameters: Any) -> set[str]:
        return {row[0] for row in self._ask(sql, list(parameters)) if row[0] is not None}
