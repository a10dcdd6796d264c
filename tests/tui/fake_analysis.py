"""An analysis in memory: any number of traces and steps, any text, none of it read from a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tracekit.model import RetryAdvice
from tracekit_analyzers.model import BadLine, Diagnosis, Evidence, Resumable, Source, TraceVerdict
from tracekit_analyzers.verdicts.alignment import AlignStep
from tracekit_analyzers.verdicts.groups import Group
from tracekit_analyzers.views import (
    Difference,
    MessageLine,
    OriginLine,
    Page,
    Progress,
    StepDetail,
    StepLine,
    Table,
    TraceRow,
)

START = datetime(2026, 11, 30, 8, 21, 3, 112000, tzinfo=UTC)
SOURCE = Source("refunds.jsonl", 0, 12, 7)
CODE = "timeout.no_answer"


def page(rows: Sequence[Any], offset: int, limit: int, unfiltered: int | None = None) -> Page[Any]:
    return Page(tuple(rows[offset : offset + limit]), offset, len(rows), unfiltered or len(rows))


class FakeAnalysis:
    """`traces` runs; each has a root and `steps - 1` tool steps, of which the last but one fails."""

    def __init__(self, *, traces: int = 3, steps: int = 6, word: str = "") -> None:
        self.paths: Sequence[Path] = [Path("logs")]
        self.word = word
        self.trace_rows = [self._trace(number, steps) for number in range(traces)]
        self.count = steps
        self.loads = 0
        self.fetched: list[tuple[int, int]] = []

    def _trace(self, number: int, steps: int) -> TraceRow:
        failed = number % 2 == 0
        return TraceRow(
            trace_id=f"{number:032x}",
            task_id=f"ticket-{number}",
            name=f"refund A-{1024 + number}{self.word}",
            status="error" if failed else "ok",
            steps=steps,
            finished_steps=steps - 1 if failed else steps,
            failed_step=step_id(steps - 2) if failed else None,
            failed_seq=steps - 1 if failed else None,
            failed_name="payment.refund" if failed else None,
            code=CODE if failed else None,
            confidence=0.9 if failed else None,
            cost=0.41,
            tokens=1200,
            started_at=START + timedelta(seconds=number),
            duration_ms=34_200.0,
            source=SOURCE,
        )

    def _line(self, position: int) -> StepLine:
        failed = position == self.count - 2
        return StepLine(
            step_id=step_id(position),
            parent_step_id=None if position == 0 else step_id(0),
            seq=position + 1,
            depth=0 if position == 0 else 1,
            has_children=position == 0,
            kind="task" if position == 0 else "tool",
            name=f"refund{self.word}" if position == 0 else f"tool_{position}{self.word}",
            tool_name=None,
            status="unknown" if failed else "ok",
            code=CODE if failed else None,
            cause_of=CODE if position == self.count - 3 else None,
            started_at=START,
            duration_ms=30_000.0 if failed else 120.0,
            start_share=position / self.count,
            end_share=(position + 1) / self.count,
        )

    @property
    def version(self) -> int:
        return self.loads

    def load(self, progress: Callable[[Progress], None] | None = None) -> None:
        self.loads += 1
        if progress is not None:
            progress(Progress("refunds.jsonl", 312_000_000, 1_024_000_000, "reading"))

    def traces(
        self,
        *,
        filter: str = "",
        sort: str = "-started_at",
        errors_only: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> Page[TraceRow]:
        rows = [
            row for row in self.trace_rows if filter in row.name and not (errors_only and row.code is None)
        ]
        rows.sort(key=lambda row: getattr(row, sort.lstrip("-")) or 0, reverse=sort.startswith("-"))
        return page(rows, offset, limit, len(self.trace_rows))

    def trace(self, trace_id: str) -> TraceRow | None:
        return next((row for row in self.trace_rows if row.trace_id.startswith(trace_id)), None)

    def steps(
        self, trace_id: str, *, errors_only: bool = False, offset: int = 0, limit: int = 200
    ) -> Page[StepLine]:
        self.fetched.append((offset, limit))
        if errors_only:
            return page([self._line(self.count - 2)], offset, limit, self.count)
        rows = tuple(self._line(at) for at in range(offset, min(self.count, offset + limit)))
        return Page(rows, offset, self.count, self.count)

    def step(self, trace_id: str, step_id: str) -> StepDetail | None:
        position = int(step_id, 16)
        return StepDetail(
            line=self._line(position),
            trace_id=trace_id,
            agent=None,
            call_id="call_91",
            asked_arguments=json.dumps(
                {"order_id": "A-1024" + self.word, "amount": "99.50"}, ensure_ascii=False
            ),
            received_input=json.dumps({"order_id": "A-1024" + self.word, "amount": 9950}, ensure_ascii=False),
            output=json.dumps({"answer": "refunded" + self.word}, ensure_ascii=False),
            raw="I will refund it." + self.word,
            model="scripted-1",
            finish_reason="tool_calls",
            effect='{"risk": "payment", "key": "3c9e", "status": "executed_unknown"}',
            error_type="TimeoutError",
            error_message="no answer in 30 s" + self.word,
            error_stack=None,
            attributes=json.dumps({"tracekit.place": "3", "note": self.word}, ensure_ascii=False),
            attempt=1,
            tries=1,
            input_tokens=10,
            output_tokens=4,
            cost=0.01,
            finished_at=START,
            source=SOURCE,
            differences=(Difference("$.amount" + self.word, '"99.50"', "9950"),),
        )

    def context(self, trace_id: str, step_id: str, *, offset: int = 0, limit: int = 100) -> Page[MessageLine]:
        rows = [
            MessageLine(1, "system", None, "You refund." + self.word, "a1", "kept"),
            MessageLine(2, "user", None, "The lamp is broken." + self.word, "b2", "added"),
            MessageLine(3, "tool", None, "an old result" + self.word, "c3", "dropped"),
        ]
        return page(rows, offset, limit)

    def lineage(self, trace_id: str, step_id: str) -> tuple[OriginLine, ...]:
        return (
            OriginLine("$.order_id", "A-1024" + self.word, step_id, 2, "output", "$.id", None),
            OriginLine("$.amount", "9950" + self.word, None, None, None, None, "99.50"),
        )

    def diff_steps(self, trace_id: str) -> tuple[AlignStep, ...]:
        details = [self.step(trace_id, step_id(position)) for position in range(self.count)]
        return tuple(
            AlignStep(
                one.line.step_id,
                one.line.seq,
                one.line.kind,
                one.line.name,
                one.line.status,
                one.received_input,
                one.output,
            )
            for one in details
            if one is not None
        )

    def verdict(self, trace_id: str) -> TraceVerdict | None:
        row = self.trace(trace_id)
        if row is None:
            return None
        found = self.diagnoses(trace_id)
        point = Resumable(trace_id, step_id(1), 2, 11, 900, 12.5, "high")
        return TraceVerdict(
            row.trace_id,
            row.task_id,
            row.name,
            row.status,
            row.steps,
            SOURCE,
            found,
            0 if found else None,
            point,
        )

    def diagnoses(self, trace_id: str) -> tuple[Diagnosis, ...]:
        row = self.trace(trace_id)
        if row is None or row.code is None:
            return ()
        failed, cause = step_id(self.count - 2), step_id(self.count - 3)
        evidence = (
            Evidence(failed, self.count - 1, "sent, no output, closed after 30 s" + self.word),
            Evidence(
                cause, self.count - 2, "raw text differs" + self.word, "$.input.amount", "9950" + self.word
            ),
        )
        return (
            Diagnosis(
                trace_id, failed, self.count - 1, cause, self.count - 2, CODE, 0.9,
                "timeout.no_answer/closed_by_exception", "The payment got no answer." + self.word, evidence,
                RetryAdvice.NONE,
            ),
        )  # fmt: skip

    def resumable(self, trace_id: str) -> Resumable | None:
        return None

    def groups(self) -> tuple[Group, ...]:
        hit = [row for row in self.trace_rows if row.code is not None]
        if not hit:
            return ()
        return (
            Group(
                "1f0c" * 4, CODE, "payment.refund" + self.word, "The payment got no answer." + self.word, len(hit),
                len(hit), len(hit) / len(self.trace_rows), 34_200.0, START, START, hit[0].trace_id,
            ),
        )  # fmt: skip

    def damage(self) -> tuple[BadLine, ...]:
        return (
            BadLine(
                "refunds.jsonl" + self.word, 7, 812, "not_json: cut" + self.word, '{"record"' + self.word
            ),
        )

    def sql(self, query: str, *, limit: int = 1000) -> Table:
        if "count(*) AS steps\nFROM steps s" in query:
            return Table(("status", "steps"), (("ok", 5), ("running", 1)), 2, 0.4)
        columns = ("trace_id", "step_id", "seq", "kind", "name", "status", "started_at", "duration_ms")
        row = self.trace_rows[0]
        values = (row.trace_id, step_id(1), 2, "tool", "order.query" + self.word, "ok", START, 12.0)
        return Table(columns, (values,), 1, 3.2)

    def close(self) -> None:
        self.closed = True


def step_id(position: int) -> str:
    return f"{position:016x}"


def with_status(row: TraceRow, status: str) -> TraceRow:
    return replace(row, status=status)
