"""`tracekit.analysis/1`, the contract of docs/analysis-json.md: one object, or one line for each trace."""

from __future__ import annotations

from datetime import datetime
from typing import Any, BinaryIO

import orjson

from tracekit.model import ANALYSIS_SCHEMA
from tracekit_analyzers.model import BadLine, Diagnosis, Evidence, Resumable, Source, TraceVerdict
from tracekit_analyzers.reports.result import Result
from tracekit_analyzers.verdicts.groups import Group


def write(result: Result, out: BinaryIO) -> None:
    """One JSON object; a trace is on a line of its own, so that large reports stream and differences read well."""
    out.write(
        b'{"schema":' + orjson.dumps(ANALYSIS_SCHEMA) + b',\n"summary":' + orjson.dumps(summary(result))
    )
    out.write(b',\n"traces":[')
    for place, verdict in enumerate(result.traces):
        out.write((b",\n" if place else b"\n") + orjson.dumps(trace(verdict)))
    out.write(b"\n]}\n")


def write_lines(result: Result, out: BinaryIO) -> None:
    """The summary on the first line, then a line for each trace."""
    out.write(orjson.dumps({"schema": ANALYSIS_SCHEMA, "summary": summary(result)}) + b"\n")
    for verdict in result.traces:
        out.write(orjson.dumps(trace(verdict)) + b"\n")


def summary(result: Result) -> dict[str, Any]:
    """The sums over all traces."""
    families, codes, recovered = result.counts()
    return {
        "traces": len(result.traces),
        "steps": result.steps,
        "failed_traces": len(result.failed),
        "by_family": families,
        "by_code": codes,
        "recovered": recovered,
        "groups": [group(found) for found in result.groups()],
        "damage": {
            "lines": result.lines,
            "lost": result.lost,
            "bad_count": result.bad_count,
            "bad": [bad_line(bad) for bad in result.bad],
        },
        "skipped_files": list(result.skipped),
    }


def group(found: Group) -> dict[str, Any]:
    """Like failures over all traces."""
    told = {
        "id": found.id,
        "code": found.code,
        "tool": found.tool,
        "wording": found.wording,
        "failures": found.failures,
        "traces": found.traces,
        "share": found.share,
        "lost_ms": found.lost_ms,
        "first_seen": _time(found.first_seen),
        "last_seen": _time(found.last_seen),
        "example": found.example,
    }
    return told if found.is_new is None else {**told, "new": found.is_new}


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def bad_line(bad: BadLine) -> dict[str, Any]:
    """A bad piece of a file."""
    return {"file": bad.file, "line": bad.line, "offset": bad.offset, "reason": bad.reason, "head": bad.head}


def trace(verdict: TraceVerdict) -> dict[str, Any]:
    """One trace with all its diagnoses."""
    return {
        "trace_id": verdict.trace_id,
        "task_id": verdict.task_id,
        "name": verdict.name,
        "status": verdict.status,
        "steps": verdict.steps,
        "started_at": _time(verdict.started_at),
        "duration_ms": verdict.duration_ms,
        "tokens": verdict.tokens,
        "cost": verdict.cost,
        "source": {"file": verdict.source.file, "trace_index": verdict.source.trace_index},
        "question": verdict.question,
        "primary": verdict.primary,
        "diagnoses": [diagnosis(found) for found in verdict.diagnoses],
        "resumable": resumable(verdict.resumable),
    }


def diagnosis(found: Diagnosis) -> dict[str, Any]:
    """One diagnosis."""
    return {
        "failed_step": found.failed_step,
        "failed_seq": found.failed_seq,
        "cause_step": found.cause_step,
        "cause_seq": found.cause_seq,
        "family": found.family,
        "code": found.code,
        "confidence": found.confidence,
        "recovered": found.recovered,
        "tool": found.tool,
        "retry": str(found.retry),
        "rule": found.rule,
        "evidence": [evidence(item) for item in found.evidence],
        "message": found.message,
        "source": place(found.source),
        "cause_source": place(found.cause_source),
    }


def evidence(item: Evidence) -> dict[str, Any]:
    """One fact behind a diagnosis."""
    return {"step": item.step, "seq": item.seq, "what": item.what, "path": item.path, "value": item.value}


def place(source: Source | None) -> dict[str, Any] | None:
    """Where a person finds a step again."""
    return None if source is None else {"file": source.file, "line": source.line, "index": source.index}


def resumable(point: Resumable | None) -> dict[str, Any] | None:
    """Where a failed trace may go on."""
    if point is None:
        return None
    return {
        "step": point.step,
        "seq": point.seq,
        "kept_calls": point.kept_calls,
        "kept_tokens": point.kept_tokens,
        "kept_seconds": point.kept_seconds,
        "risk": point.risk,
        "why_not_later": [evidence(item) for item in point.why_not_later],
    }
