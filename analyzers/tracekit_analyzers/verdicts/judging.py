"""
A judge of the user's own (a model, another program, a person) for runs that the rules leave open.

Nothing is asked unless a judge is given. What it says never stands for what a rule says: its rule ids begin with
`judge:`, and it becomes the primary verdict only of a run that has no other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol

import duckdb

from tracekit.errors import TracekitError
from tracekit.model import RetryAdvice
from tracekit_analyzers.model import Diagnosis, Evidence, TraceVerdict
from tracekit_analyzers.relations import statement

RULE = "judge:"
"""How the rule id of everything begins that a judge has said."""


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step as a judge sees it; texts are whole."""

    step_id: str
    seq: int
    parent_step_id: str | None
    kind: str
    name: str
    agent: str | None
    tool_name: str | None
    status: str
    input: str | None
    """JSON text."""
    output: str | None
    raw: str | None
    """The model's exact text."""
    error_type: str | None
    error_message: str | None


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run as a judge sees it: what the rules say, and all steps in their order."""

    verdict: TraceVerdict
    steps: tuple[JudgedStep, ...]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge says about a run."""

    code: str
    """`family.name`, one of docs/failures.md or the judge's own."""
    failed_step: str
    """Step id."""
    message: str
    """One sentence for a person."""
    confidence: float
    """0 to 1."""
    cause_step: str | None = None
    evidence: tuple[Evidence, ...] = ()
    retry: RetryAdvice = RetryAdvice.NONE


class Judge(Protocol):
    """Any callable that looks at a run and says what it thinks of it, which may be nothing."""

    def __call__(self, run: JudgedRun, /) -> Iterable[Opinion]: ...


def named(place: str) -> Judge:
    """The judge at `module:name`; raises `TracekitError("judge.unknown")` when there is no such callable."""
    module, colon, name = place.partition(":")
    try:
        found = getattr(import_module(module), name) if colon else None
    except (ImportError, AttributeError, ValueError) as error:
        raise TracekitError(
            "judge.unknown", f"expected a judge at {place!r} (module:name), but: {error}"
        ) from error
    if not callable(found):
        raise TracekitError("judge.unknown", f"expected a callable as module:name, got {place!r}")
    judge: Judge = found
    return judge


def judged_by(
    judge: Judge, con: duckdb.DuckDBPyConnection, verdicts: Iterable[TraceVerdict]
) -> Iterator[TraceVerdict]:
    """
    *verdicts*, with what *judge* says added to those that the rules leave open.

    Raises:
        TracekitError: `judge.failed`: the judge raised, or named a step that the run does not have.
    """
    for verdict in verdicts:
        open_run = is_open(verdict)
        yield opinion_on(judge, verdict, tuple(steps_of(con, verdict.trace_id))) if open_run else verdict


def steps_of(con: duckdb.DuckDBPyConnection, trace_id: str) -> Iterator[JudgedStep]:
    """The steps of a trace in their order, a few at a time."""
    found = con.cursor().execute(statement("judged_steps"), {"trace": trace_id})
    while rows := found.fetchmany(500):
        yield from (JudgedStep(*row) for row in rows)


def is_open(verdict: TraceVerdict) -> bool:
    """
    Whether the rules leave a run open: it has no primary verdict or one that is less sure than even. Runs that ended well
    are among them: some failures no rule can see.
    """
    primary = None if verdict.primary is None else verdict.diagnoses[verdict.primary]
    if primary is not None:
        return primary.confidence < 0.5
    return verdict.status not in ("running", "waiting")


def opinion_on(judge: Judge, verdict: TraceVerdict, steps: tuple[JudgedStep, ...]) -> TraceVerdict:
    """*verdict* of a run that the rules leave open, with what *judge* says; raises as `judged_by` does."""
    called = getattr(judge, "__name__", type(judge).__name__)
    try:
        opinions = tuple(judge(JudgedRun(verdict, steps)))
    except Exception as error:
        raise TracekitError(
            "judge.failed", f"{called} raised {type(error).__name__} at trace {verdict.trace_id}: {error}"
        ) from error
    if not opinions:
        return verdict
    known = {step.step_id: step for step in steps}
    said = tuple(_diagnosis(called, verdict, opinion, known) for opinion in opinions)
    surest = max(range(len(said)), key=lambda place: (said[place].confidence, -place))
    primary = verdict.primary if verdict.primary is not None else len(verdict.diagnoses) + surest
    return replace(verdict, diagnoses=(*verdict.diagnoses, *said), primary=primary)


def _diagnosis(
    called: str, verdict: TraceVerdict, opinion: Opinion, known: dict[str, JudgedStep]
) -> Diagnosis:
    """The diagnosis of an opinion; its message says whose it is, since not everybody who reads it is shown the rule."""
    if not isinstance(opinion, Opinion):
        raise TracekitError(
            "judge.failed",
            f"{called} gave {opinion!r:.200} at trace {verdict.trace_id}: expected each item to be an Opinion",
        )
    cause = opinion.cause_step or opinion.failed_step
    missing = [step for step in (opinion.failed_step, cause) if step not in known]
    if missing or not 0 <= opinion.confidence <= 1 or math.isnan(opinion.confidence):
        what = f"step {missing[0]!r}" if missing else f"confidence {opinion.confidence}"
        raise TracekitError(
            "judge.failed",
            f"{called} named {what} at trace {verdict.trace_id}: expected a step id of the run and a number from 0 to 1",
        )
    return Diagnosis(
        trace_id=verdict.trace_id,
        failed_step=opinion.failed_step,
        failed_seq=known[opinion.failed_step].seq,
        cause_step=cause,
        cause_seq=known[cause].seq,
        code=opinion.code,
        confidence=round(float(opinion.confidence), 3),
        rule=f"{RULE}{called}",
        message=f"{RULE}{called} says: {opinion.message}",
        evidence=opinion.evidence,
        retry=opinion.retry,
        tool=known[opinion.failed_step].tool_name,
    )
