"""
Cause steps that people labelled, our verdicts, and the trivial rows beside them. Exact positions only.

The labels are noisy: two careful labellings of the same 43 runs name the same step in 35 % of them. It is a thermometer,
no contest: a rule that knew the data set, an agent's name or a position would be worth nothing on a user's log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import corpus

from tracekit_analyzers.engine import Engine

Key = int | str
"""Position of a message in its run, or the id of a span."""

_ASSUMES = re.compile(r"\b(assum(e|es|ing)|hypothetical|placeholder|simulat\w+)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One step of a run, as the trivial rows see it."""

    key: Key
    kind: str
    agent: str | None
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """What was measured about one message of a talk (`talk_claims` in failures/prelude)."""

    key: Key
    names: int
    numbers: int
    code_words: int
    reliance: float


@dataclass(frozen=True, slots=True)
class Run:
    """A labelled run with what we say about it."""

    label: Key
    ours: Key | None
    rows: tuple[Row, ...]
    known: dict[str, Any]
    """The whole label row, for rows that need more than the log."""
    rule: str | None = None
    confidence: float = 0.0
    claims: tuple[Claim, ...] = ()
    task: str = ""
    """Beginning of what was asked: runs of one task are never parted between learning and testing."""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A folder of labelled runs."""

    name: str
    folder: str
    key: str
    """Field of labels.jsonl that holds the cause."""
    by_span: bool = False
    chosen: Callable[[dict[str, Any]], bool] = lambda row: True
    published: str = ""


SETS = (
    LabelledSet(
        "Who&When, Algorithm-Generated", "whowhen", "critical_step",
        chosen=lambda row: row["trace_id"].startswith("Algorithm"),
        published="published, whole set of 126: GPT-4o all-at-once 0.135, step-by-step 0.153 (without answer); A2P 0.475",
    ),
    LabelledSet(
        "Who&When, Hand-Crafted", "whowhen", "critical_step",
        chosen=lambda row: row["trace_id"].startswith("Hand"),
        published="published, whole set of 58: GPT-4o all-at-once 0.035, step-by-step 0.088; o1 0.138; A2P 0.293",
    ),
    LabelledSet("AgentRx, Magentic-One", "agentrx_magentic", "critical_message_index", published="published table not had"),
    LabelledSet("AgentRx, tau retail", "agentrx_tau_retail", "critical_message_index", published="published table not had"),
    LabelledSet(
        "TRAIL, GAIA", "trail_gaia", "critical_step", by_span=True,
        published="published (other annotation): best model 0.183 joint on GAIA; regex baseline 0.007",
    ),
)  # fmt: skip


def runs(labelled: LabelledSet) -> list[Run]:
    """The labelled runs of a set, analysed; empty where the folder is absent."""
    path = corpus.folder(labelled.folder)
    if path is None:
        return []
    labels = [row for row in corpus.rows(path / "labels.jsonl") if labelled.chosen(row) and row.get(labelled.key) is not None]  # fmt: skip
    with Engine(sorted({str(path / row["file"]) for row in labels})) as engine:
        engine.load()
        steps = _steps(engine, labelled.by_span)
        claims, tasks = _claims(engine), _tasks(engine)
        verdicts = {(v.source.file, v.source.trace_index): v for v in engine.verdicts.values()}
    found = []
    for row in labels:
        verdict = verdicts.get((str(path / row["file"]), row.get("trace_index", 0)))
        if verdict is None:
            continue
        primary = None if verdict.primary is None else verdict.diagnoses[verdict.primary]
        ours: Key | None = None
        if primary is not None:
            ours = (
                primary.cause_step
                if labelled.by_span
                else (primary.cause_source and primary.cause_source.index)
            )
        rule, confidence = (None, 0.0) if primary is None else (primary.rule, primary.confidence)
        trace = verdict.trace_id
        found.append(
            Run(
                row[labelled.key],
                ours,
                steps[trace],
                row,
                rule,
                confidence,
                claims.get(trace, ()),
                tasks[trace],
            )
        )
    return found


def _steps(engine: Engine, by_span: bool) -> dict[str, tuple[Row, ...]]:
    rows: dict[str, list[Row]] = {}
    query = (
        "select trace_id, step_id, record_index, kind, agent, coalesce(raw, output_text, ''), status, "
        "try_cast(attributes ->> 'exit_code' as integer) from steps order by trace_id, seq"
    )
    for trace_id, step_id, index, kind, agent, text, status, exit_code in engine.con.execute(
        query
    ).fetchall():
        failed = status == "error" or bool(exit_code)
        rows.setdefault(trace_id, []).append(Row(step_id if by_span else index, kind, agent, text, failed))
    return {trace_id: tuple(found) for trace_id, found in rows.items()}


def _claims(engine: Engine) -> dict[str, tuple[Claim, ...]]:
    query = (
        "select trace_id, s.record_index, c.names, c.numbers, c.code_words, c.reliance "
        "from talk_claims c join steps s using (trace_id, step_id) order by trace_id, s.seq"
    )
    found: dict[str, list[Claim]] = {}
    for trace_id, *rest in engine.con.execute(query).fetchall():
        found.setdefault(trace_id, []).append(Claim(*rest))
    return {trace_id: tuple(claims) for trace_id, claims in found.items()}


def _tasks(engine: Engine) -> dict[str, str]:
    query = (
        "select t.trace_id, coalesce((select arg_min(left(m.text, 200), m.pos) from messages m "
        "where m.trace_id = t.trace_id and m.role in ('user', 'human')), t.trace_id) from traces t"
    )
    return dict(engine.con.execute(query).fetchall())


def _first(rows: Iterable[Row], wanted: Callable[[Row], bool]) -> Key | None:
    return next((row.key for row in rows if wanted(row)), None)


def _before_first_failure(run: Run) -> Key | None:
    before: Key | None = None
    for row in run.rows:
        if row.failed:
            return before
        if row.kind == "model":
            before = row.key
    return None


def _models(run: Run) -> tuple[Row, ...]:
    return tuple(row for row in run.rows if row.kind == "model")


def _step_1(run: Run) -> Key | None:
    return run.rows[1].key if len(run.rows) > 1 and isinstance(run.rows[0].key, str) else 1


def _else_step_1(guess: Callable[[Run], Key | None]) -> Callable[[Run], Key | None]:
    """*guess*, or step 1 where it finds nothing: each row in its strongest form."""

    def either(run: Run) -> Key | None:
        found = guess(run)
        return _step_1(run) if found is None else found

    return either


TRIVIAL: dict[str, Callable[[Run], Key | None]] = {
    "always step 1": _step_1,
    "first WebSurfer": lambda run: _first(run.rows, lambda row: row.agent == "WebSurfer"),
    "last step": lambda run: run.rows[-1].key,
    "last model step": lambda run: _models(run)[-1].key if _models(run) else None,
    "first with code, else step 1": _else_step_1(
        lambda run: _first(_models(run), lambda row: "```" in row.text)
    ),
    "before first failing execution, else step 1": _else_step_1(_before_first_failure),
    "first that says it assumes, else step 1": _else_step_1(
        lambda run: _first(_models(run)[1:], lambda row: bool(_ASSUMES.search(row.text)))
    ),
    "first wrong write (needs the answer)": lambda run: run.known.get("first_wrong_write_message_index"),
}


def table(found: list[Run]) -> dict[str, float]:
    """Share of right steps: ours first, then each trivial row, then random."""
    count = len(found)
    shares = {"tracekit": sum(run.ours == run.label for run in found) / count}
    for name, guess in TRIVIAL.items():
        shares[name] = sum(guess(run) is not None and guess(run) == run.label for run in found) / count
    shares["random"] = sum(1 / max(1, len({row.key for row in run.rows})) for run in found) / count
    return shares
