"""What a report tells: the verdicts of all traces, their sums, and the damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import BadLine, Diagnosis, TraceVerdict
from tracekit_analyzers.reports.steps import ReportSteps
from tracekit_analyzers.verdicts.groups import Group, group_id, groups
from tracekit_analyzers.verdicts.judging import Judge, judged_by


@dataclass(frozen=True, slots=True)
class Result:
    """An analysis as reports write it."""

    traces: tuple[TraceVerdict, ...]
    lines: int
    """Lines or records that were looked at."""
    bad: tuple[BadLine, ...]
    bad_count: int
    """All bad pieces; `bad` lists at most the first ten thousand."""
    skipped: tuple[str, ...]
    """Files in no known format."""
    baseline: frozenset[str] | None = None
    """Ids of the groups of failures that are known; None without a baseline."""
    lost: int = 0
    """Lines that recorders could not write."""
    report_steps: ReportSteps | None = field(default=None, compare=False)
    """Asked for steps as long as the analysis is open; None where its steps are elsewhere, as on Spark."""

    @property
    def steps(self) -> int:
        """Steps of all traces."""
        return sum(trace.steps for trace in self.traces)

    @property
    def failed(self) -> tuple[TraceVerdict, ...]:
        """Traces that failed, by their own status or by a primary verdict."""
        return tuple(trace for trace in self.traces if is_failed(trace))

    @property
    def waiting(self) -> tuple[TraceVerdict, ...]:
        """Traces that wait for a person's answer."""
        return tuple(trace for trace in self.traces if trace.status == "waiting")

    def groups(self) -> tuple[Group, ...]:
        """Like failures put together over all traces."""
        return groups(self.traces, self.baseline)

    def counts(self) -> tuple[dict[str, int], dict[str, int], int]:
        """Diagnoses that were not recovered by family and by code, and how many were recovered."""
        open_ones = [found for trace in self.traces for found in trace.diagnoses if not found.recovered]
        families = Counter(found.family for found in open_ones)
        codes = Counter(found.code for found in open_ones)
        recovered = sum(found.recovered for trace in self.traces for found in trace.diagnoses)
        return dict(sorted(families.items())), dict(sorted(codes.items())), recovered


def is_failed(trace: TraceVerdict) -> bool:
    """Whether the trace failed, by its own status or by a primary verdict; one that waits for a person goes on some day."""
    if trace.status == "waiting":
        return False
    return trace.primary is not None or trace.status in ("error", "killed")


def without_verdict(trace: TraceVerdict) -> str:
    """What is said of a trace that has no primary verdict."""
    if trace.status == "waiting":
        return f"waits for a person at {trace.question}"
    return "no verdict: the log holds no evidence of a cause"


def primary(trace: TraceVerdict) -> Diagnosis | None:
    """The verdict that says which step failed and which one caused it."""
    return None if trace.primary is None else trace.diagnoses[trace.primary]


def of(engine: Engine, *, judge: Judge | None = None) -> Result:
    """The result of a loaded analysis; *judge* is asked about the runs that the rules leave open."""
    verdicts = engine.verdicts.values()
    return Result(
        traces=tuple(verdicts if judge is None else judged_by(judge, engine.con, verdicts)),
        lines=engine.damage.lines,
        bad=engine.damage.listed(),
        bad_count=engine.damage.bad_count,
        skipped=engine.skipped,
        lost=engine.damage.lost,
        report_steps=ReportSteps(engine.con),
    )


def matching(result: Result, wanted: Sequence[str]) -> list[Diagnosis]:
    """Diagnoses not recovered, and new where there is a baseline, whose code or family is one of *wanted*; `any`: all."""
    names = set(wanted)
    known = result.baseline
    return [
        found
        for trace in result.traces
        for found in trace.diagnoses
        if not found.recovered
        and ("any" in names or found.code in names or found.family in names)
        and (known is None or group_id(found) not in known)
    ]
