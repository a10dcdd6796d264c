"""Steps as OpenTelemetry spans: OTLP/JSON with the GenAI names and ours, as the SDK's own spans have them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import Any

import duckdb
import orjson

from tracekit.model import StepKind
from tracekit.recording import semconv
from tracekit_analyzers.asking.rows import context_names
from tracekit_analyzers.relations import statement

Row = dict[str, Any]
_ERROR, _UNSET = 2, 0
_INTERNAL, _CLIENT = 1, 3
_KINDS = {str(kind): kind for kind in StepKind}
KILLED = {"tracekit.ended_by": "killed"}
"""Attribute of a step that was open when its process was killed: in the converted log nothing else tells of the process."""
_STEPS = "select * from log.steps where trace_id = ? order by seq"


def traces(con: duckdb.DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    """One `TracesData` object for each trace, in the order of the log."""
    killed = set(con.execute(statement("killed_steps")).fetchall())
    for trace_id, task_id in con.execute(
        "select trace_id, task_id from log.traces order by first_n"
    ).fetchall():
        cursor = con.cursor()
        found = cursor.execute(_STEPS, [trace_id])
        names = [column[0] for column in found.description or ()]
        steps = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        spans = [_span(step, con, killed=(trace_id, step["step_id"]) in killed) for step in steps]
        resource = {"attributes": _attributes({"service.name": task_id or "agent"})}
        yield {
            "resourceSpans": [
                {"resource": resource, "scopeSpans": [{"scope": {"name": semconv.SCOPE}, "spans": spans}]}
            ]
        }


def _span(step: Row, con: duckdb.DuckDBPyConnection, *, killed: bool) -> dict[str, Any]:
    kind = _KINDS.get(step["kind"], StepKind.STEP)
    failed = step["status"] in ("error", "unknown")
    span = {
        "traceId": step["trace_id"],
        "spanId": step["step_id"],
        "parentSpanId": step["parent_step_id"] or "",
        "name": semconv.span_name(kind, step["name"], step["tool_name"], step["model"]),
        "kind": _CLIENT if kind is StepKind.MODEL else _INTERNAL,
        "startTimeUnixNano": _nanoseconds(step["started_at"]),
        "endTimeUnixNano": _nanoseconds(step["finished_at"]),
        "attributes": _attributes(_told(step, kind) | _content(step, kind, con) | (KILLED if killed else {})),
        "status": {"code": _ERROR, "message": step["error_message"] or ""} if failed else {"code": _UNSET},
    }
    return {name: value for name, value in span.items() if value is not None}


def _nanoseconds(moment: Any) -> str | None:
    if moment is None:
        return None
    seconds, micro = int(moment.replace(tzinfo=UTC, microsecond=0).timestamp()), moment.microsecond
    return str(seconds * 1_000_000_000 + micro * 1000)


def _told(step: Row, kind: StepKind) -> dict[str, Any]:
    """Ids and figures."""
    return {
        semconv.NAME: step["name"],
        semconv.KIND: str(kind),
        semconv.OPERATION: semconv.OPERATIONS.get(kind),
        semconv.REQUEST_MODEL: step["model"],
        semconv.TOOL_NAME: step["tool_name"],
        semconv.TOOL_CALL_ID: step["call_id"],
        semconv.AGENT_NAME: step["agent"],
        semconv.TASK_ID: step["task_id"],
        semconv.ATTEMPT: step["attempt"],
        semconv.SEQ: step["seq"],
        semconv.STATUS: step["status"],
        semconv.TRIES: step["tries"],
        semconv.REINFERS: step["reinfers"] or None,
        semconv.CHECKPOINT: step["checkpoint"],
        semconv.DEPENDS_ON: step["depends_on"],
        semconv.EFFECT + "risk": step["effect_risk"],
        semconv.EFFECT + "key": step["effect_key"],
        semconv.EFFECT + "status": step["effect_status"],
        semconv.EFFECT + "idempotent": step["effect_idempotent"],
        semconv.INPUT_TOKENS: step["input_tokens"],
        semconv.OUTPUT_TOKENS: step["output_tokens"],
        semconv.COST: step["cost"],
        semconv.FINISH_REASONS: [step["finish_reason"]] if step["finish_reason"] else None,
        semconv.CONTEXT_DIGEST: step["context_digest"],
        semconv.CONTEXT_COUNT: step["context_count"],
        semconv.CONTEXT_COMPLETE: step["context_complete"],
        semconv.ERROR_TYPE: step["error_type"],
    }


def _content(step: Row, kind: StepKind, con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Inputs, outputs, raw text and messages."""
    raw_name = semconv.ASKED_RAW if kind is StepKind.TOOL else semconv.RAW_OUTPUT
    told = {
        semconv.TOOL_ARGUMENTS if kind is StepKind.TOOL else semconv.INPUT: step["input"],
        semconv.OUTPUT: step["output"],
        raw_name: step["raw"],
        semconv.ASKED: step["asked"],
    }
    if step["context_digest"] is not None:
        told[semconv.INPUT_MESSAGES] = _messages(step, con)
    return told


def _messages(step: Row, con: duckdb.DuckDBPyConnection) -> str:
    def ask(sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        return con.cursor().execute(sql, parameters).fetchall()

    names = [
        name for name, change in context_names(ask, step["trace_id"], step["step_id"]) if change != "dropped"
    ]
    known = dict(
        ask(
            "select hash, cast(message as varchar) from messages where trace_id = ? and hash in (select unnest(?))",
            [step["trace_id"], names],
        )
    )
    return orjson.dumps([orjson.Fragment(known[name]) for name in names if known.get(name)]).decode()


def _attributes(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in told.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}
