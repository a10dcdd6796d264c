"""The few steps of a run that a report draws, and what went into and came out of those that matter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.relations import statement
from tracekit_analyzers.verdicts.compare import differences
from tracekit_analyzers.views import Difference

MOST_DRAWN = 48
"""Steps of one run that a picture shows; those around what failed and what caused it come first."""
MOST_TEXT = 20_000
"""Characters of a value that are looked at."""


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """One step as a waterfall draws it."""

    step_id: str
    parent_step_id: str | None
    seq: int
    kind: str
    name: str
    status: str
    started_us: int | None
    """Microseconds since the epoch."""
    duration_ms: float | None


@dataclass(frozen=True, slots=True)
class StepTexts:
    """What one step was asked with, received and answered."""

    kind: str
    raw: str | None
    """The model's text: for a tool, the arguments as the model wrote them."""
    received: str | None
    output: str | None
    error: str | None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where a tool received something else than the model wrote; none where a value was too long to look at."""
        if self.kind != "tool" or MOST_TEXT in (len(self.raw or ""), len(self.received or "")):
            return ()
        return differences(self.raw, self.received)


class ReportSteps:
    """Steps of the runs that a loaded analysis holds; `con` is its database."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con

    def drawn(self, traces: Sequence[TraceVerdict]) -> Mapping[str, Sequence[DrawnStep]]:
        """By trace id, the steps to draw by their number: all of a short run, of a long one those that matter."""
        pairs = [(trace.trace_id, seq) for trace in traces for seq in drawn_seqs(trace)]
        found: dict[str, list[DrawnStep]] = defaultdict(list)
        parameters = {"traces": [pair[0] for pair in pairs], "seqs": [pair[1] for pair in pairs]}
        if pairs:
            for trace_id, *step in self.con.execute(statement("report_steps"), parameters).fetchall():
                found[trace_id].append(DrawnStep(*step))
        return found

    def texts(self, steps: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], StepTexts]:
        """By trace id and step id, the texts of *steps*."""
        pairs = sorted(set(steps))
        parameters = {
            "traces": [pair[0] for pair in pairs],
            "steps": [pair[1] for pair in pairs],
            "most": MOST_TEXT,
        }
        rows = self.con.execute(statement("report_details"), parameters).fetchall() if pairs else []
        return {(trace_id, step_id): StepTexts(*texts) for trace_id, step_id, *texts in rows}


def drawn_seqs(trace: TraceVerdict) -> list[int]:
    """Numbers of the steps of *trace* to draw, ascending, at most `MOST_DRAWN`."""
    if trace.steps <= MOST_DRAWN:
        return list(range(1, trace.steps + 1))
    chosen: dict[int, None] = dict.fromkeys((1, trace.steps))
    for seq in _by_weight(trace):
        if len(chosen) >= MOST_DRAWN:
            break
        if 1 <= seq <= trace.steps:
            chosen[seq] = None
    return sorted(chosen)


def _by_weight(trace: TraceVerdict) -> Iterable[int]:
    """Numbers of steps, those that a person wants to see first in front."""
    found = None if trace.primary is None else trace.diagnoses[trace.primary]
    failed = trace.steps if found is None or found.failed_seq is None else found.failed_seq
    cause = failed if found is None or found.cause_seq is None else found.cause_seq
    yield from (failed, cause)
    if found is not None:
        yield from [item.seq for item in found.evidence if item.seq is not None][:8]
    for away in range(1, 4):
        yield from (cause - away, cause + away)
    for away in range(1, MOST_DRAWN):
        yield from (failed - away, away + 1)
        if away <= 4:
            yield failed + away
