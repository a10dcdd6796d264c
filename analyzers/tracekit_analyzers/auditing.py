"""The five questions of a log that is fit for diagnosis and recovery, and the search for secrets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from tracekit.redaction import Redactor
from tracekit.snapshot import log_bytes, to_log
from tracekit_analyzers import secret_files
from tracekit_analyzers.relations import statement
from tracekit_analyzers.session import Session

ENOUGH = 0.95
"""Share from which on something counts as there; the rest are steps that were cut off."""

_FIELDS = ("input", "output", "raw", "error_message", "error_stack", "attributes")
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """One question with its answer (`yes`, `partly`, `no`, or `unknown` where nothing tells) and the counts behind it."""

    question: str
    answer: str
    facts: tuple[str, ...]
    advice: tuple[str, ...] = ()
    """What to do about each count that is too low."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A place that looks like a secret; the value itself is never taken along."""

    trace_id: str
    step_id: str | None
    """None for a message."""
    where: str
    path: str
    """The rules that were met."""


@dataclass(frozen=True, slots=True)
class _Fact:
    words: str
    have: int
    of: int
    advice: str

    @property
    def share(self) -> float | None:
        """None where there is nothing to judge by."""
        return self.have / self.of if self.of else None

    def __str__(self) -> str:
        return f"{self.have} of {self.of} {self.words}"


def questions(session: Session) -> list[Answer]:
    """The five answers, from the counts of `audit.sql`."""
    cursor = session.engine.con.cursor()
    try:
        found = cursor.execute(statement("audit"))
        names = [column[0] for column in found.description or ()]
        counts: dict[str, int] = dict(zip(names, found.fetchone() or (0,) * len(names), strict=True))
    finally:
        cursor.close()
    bad = session.engine.damage.bad_count
    return [_traced(counts), _restorable(counts), _retries(counts), _declared(counts), _visible(counts, bad)]


def _traced(n: dict[str, int]) -> Answer:
    return _judged(
        "Are steps tied by a trace id, with the model's raw output and what the tool received?",
        _Fact(
            "model steps have what the model said",
            n["model_raw"],
            n["model_steps"],
            "instrument the client (docs/instrument.md) or finish model steps with raw=; leave capture_output on",
        ),
        _Fact(
            "tool steps have the input that the tool received",
            n["tool_received"],
            n["tool_reached"],
            "put @tracekit.tool on the functions that run; leave capture_input on",
        ),
        _Fact(
            "tool steps have the text that the model asked with",
            n["tool_asked"],
            n["tool_steps"],
            "keep the arguments as the model wrote them and the id of each call: run.tools(reply.tool_calls) does both",
        ),
    )


def _restorable(n: dict[str, int]) -> Answer:
    return _judged(
        "Do snapshots hold outputs, dependencies and the context?",
        _Fact(
            "tool steps that ended well have their output",
            n["tool_outputs"],
            n["tool_ok"],
            "return plain data from tools; leave capture_output on",
        ),
        _Fact(
            "steps below the first of a trace name what they belong to or depend on",
            n["dependent"],
            n["steps"] - n["traces"],
            "begin steps inside the block of their parent; give threads their step by tracekit.carry",
        ),
        _Fact(
            "model steps have a complete context",
            n["complete_contexts"],
            n["model_steps"],
            "record each model call with its whole list of messages; leave capture_messages on",
        ),
    )


def _retries(n: dict[str, int]) -> Answer:
    spared = n["retried"] - n["retried_effects"]
    told = f"{n['reinferred']} steps came of second inferences, counted apart from retries"
    return _judged(
        "Does retry tell a timeout from a wrong parameter, and spare tools that must not run twice?",
        _Fact(
            "failed steps say which error it was",
            n["failed_typed"],
            n["failed"],
            "let exceptions leave the step, or finish it with error=, and do not turn them into texts",
        ),
        _Fact(
            "retried steps were safe to run again",
            spared,
            n["retried"],
            "say idempotent=True where the service honours the key, else give a probe; turn retries of the client off for effects",
        ),
        more=(told,),
    )


def _declared(n: dict[str, int]) -> Answer:
    told = (
        f"{n['critical_told']} steps say whether they are critical, {n['fallback_told']} name a fallback, "
        f"{n['undo_told']} an undo"
    )
    return _judged(
        "Are the effects of tools, critical steps, fallbacks and undo declared?",
        _Fact(
            "tool steps declare their effect",
            n["risk_declared"],
            n["tool_steps"],
            "say what each tool changes: @tracekit.tool(effect=...), docs/effects.md",
        ),
        _Fact(
            "effects were booked under a key before they were tried",
            n["effects_booked"],
            n["effects"],
            "run the agent inside tracekit.task_scope(ID), or as a @tracekit.task",
        ),
        more=(told,),
    )


def _visible(n: dict[str, int], bad: int) -> Answer:
    return _judged(
        "Can a person see the whole trace and its state?",
        _Fact("steps have their times", n["timed"], n["steps"], "record when each step began and ended"),
        _Fact(
            "steps hang where they belong",
            n["steps"] - n["orphans"],
            n["steps"],
            "analyse the logs of all processes of a run together: several paths, or their folder",
        ),
        more=(f"{bad} damaged pieces", f"{n['checkpointed']} steps tell their checkpoint"),
    )


def _judged(question: str, *facts: _Fact, more: tuple[str, ...] = ()) -> Answer:
    shares = [fact.share for fact in facts if fact.share is not None]
    advice = tuple(fact.advice for fact in facts if fact.share is not None and fact.share < ENOUGH)
    return Answer(question, _answer(shares), (*map(str, facts), *more), advice)


def _answer(shares: list[float]) -> str:
    if not shares:
        return "unknown"
    if max(shares) == 0:
        return "no"
    return "yes" if min(shares) >= ENOUGH else "partly"


def secrets(session: Session) -> list[Secret]:
    """
    Every place that looks like a secret by the rules of redaction: in the order of the log, then in the other files.

    Below a folder every file is searched: the store with its packed bodies, blobs, what recoveries printed.
    """
    found: list[Secret] = []
    for trace_id, step_id, where, value in chain(_values(session), _beside(session)):
        rules = _rules(value)
        if rules:
            found.append(Secret(trace_id, step_id, where, ", ".join(rules)))
    return found


def _beside(session: Session) -> Iterator[tuple[str, str | None, str, str]]:
    folders = [Path(path) for path in session.paths]
    files = session.engine.con.execute(
        "select distinct file from log.steps where file is not null"
    ).fetchall()
    read = frozenset(Path(name).resolve() for (name,) in files)
    for where, text in secret_files.texts(folders, read):
        yield "", None, where, text


def _values(session: Session) -> Iterator[tuple[str, str | None, str, str]]:
    cursor = session.engine.con.cursor()
    try:
        columns = ", ".join(f"cast({name} as varchar)" for name in _FIELDS)
        rows = cursor.execute(f"select trace_id, step_id, {columns} from log.steps order by first_n")
        while batch := rows.fetchmany(_BATCH):
            for trace_id, step_id, *values in batch:
                yield from (
                    (trace_id, step_id, name, value)
                    for name, value in zip(_FIELDS, values, strict=True)
                    if value not in (None, "{}")
                )
        rows = cursor.execute("select trace_id, cast(message as varchar) from log.message_lines order by n")
        while batch := rows.fetchmany(_BATCH):
            yield from (
                (trace_id or "", None, "message", value) for trace_id, value in batch if value is not None
            )
    finally:
        cursor.close()


def _rules(text: str) -> list[str]:
    """Names of the rules that *text* meets."""
    watch = Redactor()
    if not watch.suspects(text.encode("utf-8", "replace")):
        return []
    value = _parsed(text)
    to_log(value, redact=watch)
    log_bytes(value, redact=watch)
    hits: dict[str, int] = watch.counts()["hits"]
    return sorted(hits)


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
