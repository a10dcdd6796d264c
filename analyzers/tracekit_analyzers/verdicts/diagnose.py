"""Runs the failure classes over the relations and makes values of their rows: one verdict for each trace."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

import duckdb

from tracekit.errors import TracekitError
from tracekit_analyzers import failures
from tracekit_analyzers.model import Diagnosis, Evidence, FailureClass, Resumable, Source, TraceVerdict
from tracekit_analyzers.reading import lost
from tracekit_analyzers.relations import frugal, statement
from tracekit_analyzers.verdicts import resumable
from tracekit_analyzers.verdicts.verdict import StepFact, Verdict, judge

LONGEST_VALUE = 500
NO_VERDICT = Verdict((), None)
Row = tuple[Any, ...]


class Diagnosing:
    """Verdicts over the traces that the relations of one connection hold now."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._seqs: dict[tuple[str, str], int] = {}
        self._sources: dict[tuple[str, str], Source] = {}
        self._tools: dict[tuple[str, str], str | None] = {}

    def verdicts(self) -> Iterator[TraceVerdict]:
        """One for each trace, in the order of the log."""
        found = self._diagnoses()
        steps = self._step_facts(list(found))
        heads = self._con.execute(statement("trace_heads")).fetchall()
        verdicts = {
            head[0]: judge(found[head[0]], steps.get(head[0], []), trace_status=head[3])
            for head in heads
            if head[0] in found
        }
        points = resumable.points(self._con, verdicts.values())
        for head in heads:
            yield _trace_verdict(head, verdicts.get(head[0], NO_VERDICT), points.get(head[0]))

    def _diagnoses(self) -> dict[str, list[Diagnosis]]:
        for sql in failures.PRELUDE:
            frugal.run(self._con, sql)
        rows = [(kind, row) for kind in failures.classes() for row in self._rows(kind)]
        self._place([row for _, row in rows])
        found: dict[str, list[Diagnosis]] = defaultdict(list)
        doubtful = lost.traces(self._con, {row[0] for kind, row in rows if kind.code in lost.IN_DOUBT})
        for kind, row in rows:
            diagnosis = self._diagnosis(kind, row)
            if row[0] in doubtful:
                diagnosis = lost.less_sure(diagnosis, doubtful[row[0]])
            found[row[0]].append(diagnosis)
        return found

    def _rows(self, kind: FailureClass) -> list[Row]:
        query = kind.sql.strip().rstrip(";")
        try:
            return frugal.run(
                self._con,
                "select trace_id, failed_step, cause_step, confidence, rule, message, evidence "
                f"from (\n{query}\n) order by all",
            )
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise TracekitError(
                "analysis.class_failed", f"the SQL of class {kind.code} failed: {error}"
            ) from error

    def _place(self, rows: Iterable[Row]) -> None:
        """Learn seq and source of every step that *rows* name."""
        wanted: set[tuple[str, str]] = set()
        for trace_id, failed, cause, *_, evidence in rows:
            wanted.update((trace_id, step) for step in (failed, cause) if step)
            wanted.update((trace_id, item["step"]) for item in evidence or () if item.get("step"))
        if not wanted:
            return
        pairs = sorted(wanted)
        placed = self._con.execute(
            statement("step_places"),
            {"traces": [pair[0] for pair in pairs], "steps": [pair[1] for pair in pairs]},
        ).fetchall()
        for trace_id, step_id, seq, file, trace_index, line, index, tool in placed:
            self._seqs[trace_id, step_id] = seq
            self._tools[trace_id, step_id] = tool
            self._sources[trace_id, step_id] = Source(file, trace_index, line, index)

    def _diagnosis(self, kind: FailureClass, row: Row) -> Diagnosis:
        trace_id, failed, cause, confidence, rule, message, evidence = row
        cause = cause or failed
        return Diagnosis(
            trace_id=trace_id,
            failed_step=failed,
            failed_seq=self._seqs.get((trace_id, failed)),
            cause_step=cause,
            cause_seq=self._seqs.get((trace_id, cause)),
            code=kind.code,
            confidence=_share(confidence),
            rule=rule,
            message=message,
            evidence=tuple(self._evidence(trace_id, item) for item in evidence or ()),
            retry=kind.retry,
            source=self._sources.get((trace_id, failed)),
            cause_source=self._sources.get((trace_id, cause)),
            tool=self._tools.get((trace_id, failed)),
        )

    def _evidence(self, trace_id: str, item: dict[str, Any]) -> Evidence:
        step, value = item.get("step"), item.get("value")
        return Evidence(
            step=step,
            seq=self._seqs.get((trace_id, step)) if step else None,
            what=item["what"],
            path=item.get("path"),
            value=None if value is None else str(value)[:LONGEST_VALUE],
        )

    def _step_facts(self, traces: list[str]) -> dict[str, list[StepFact]]:
        """The steps of the traces that have a diagnosis."""
        facts: dict[str, list[StepFact]] = defaultdict(list)
        if traces:
            for trace_id, *rest in self._con.execute(
                statement("step_facts"), {"traces": sorted(traces)}
            ).fetchall():
                facts[trace_id].append(StepFact(*rest))
        return facts


def _trace_verdict(head: Row, verdict: Verdict, point: Resumable | None) -> TraceVerdict:
    (
        trace_id,
        task_id,
        name,
        status,
        count,
        file,
        trace_index,
        started_at,
        duration_ms,
        tokens,
        cost,
        question,
    ) = head
    failed = status in ("error", "killed", "unknown", "waiting") or verdict.primary is not None
    return TraceVerdict(
        trace_id=trace_id,
        task_id=task_id,
        name=name,
        status=status,
        steps=count,
        source=Source(file=file, trace_index=trace_index),
        diagnoses=verdict.diagnoses,
        primary=verdict.primary,
        resumable=point if failed else None,
        started_at=None if started_at is None else started_at.replace(tzinfo=UTC),
        duration_ms=duration_ms,
        tokens=tokens,
        cost=cost,
        question=question,
    )


def _share(value: Any) -> float:
    number = float(value) if value is not None else 0.0
    return round(min(1.0, max(0.0, number)), 3) if math.isfinite(number) else 0.0
