"""Rows of the database made into the values that screens get."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tracekit.errors import TracekitError
from tracekit_analyzers.asking.tree import Place, ordered
from tracekit_analyzers.model import Source
from tracekit_analyzers.relations import statement
from tracekit_analyzers.relations.contexts import Ask, Contexts
from tracekit_analyzers.verdicts.compare import differences
from tracekit_analyzers.views import MessageLine, StepDetail, StepLine, TraceRow

Row = tuple[Any, ...]

NOT_IN_LOG = "(this message is not in the log)"
TRACE_COLUMNS = (
    "t.trace_id, t.task_id, t.name, t.status, t.steps, t.finished_steps, t.failed_step, t.failed_seq, t.failed_name, "
    "t.code, t.confidence, t.cost, t.tokens, t.started_at, t.duration_ms, t.file, t.trace_index"
)
_TRACE_FIELDS = tuple(column.removeprefix("t.") for column in TRACE_COLUMNS.split(", "))
_SORTABLE = frozenset(_TRACE_FIELDS) - {"file", "trace_index"}


def order(sort: str) -> str:
    """The `order by` for a column of `TraceRow`, `-` in front for descending; raises `TracekitError("filter.syntax")`."""
    column = sort.removeprefix("-")
    if column not in _SORTABLE:
        raise TracekitError(
            "filter.syntax", f"can't sort by {column!r}; columns are {', '.join(sorted(_SORTABLE))}"
        )
    return f"t.{column} {'desc' if sort.startswith('-') else 'asc'} nulls last"


def trace_row(row: Row) -> TraceRow:
    """One line of the list of traces."""
    values = dict(zip(_TRACE_FIELDS, row, strict=True))
    source = Source(values.pop("file"), values.pop("trace_index"))
    return TraceRow(**{**values, "started_at": aware(values["started_at"])}, source=source)


def aware(moment: datetime | None) -> datetime | None:
    """*moment*, which the database keeps without a zone, as UTC."""
    return None if moment is None else moment.replace(tzinfo=UTC)


def places(ask: Ask, trace_id: str, *, errors_only: bool) -> tuple[Place, ...]:
    """The lines of the tree of a trace, or only those that failed or caused a failure."""
    narrow = ask(
        "select step_id, parent_step_id, seq from log.steps where trace_id = ? order by seq", (trace_id,)
    )
    whole = ordered(narrow)
    if not errors_only:
        return whole
    bad = {
        row[0]
        for row in ask(
            "select step_id from log.steps where trace_id = ? and status in ('error', 'unknown', 'running') "
            "union select failed_step from diagnoses where trace_id = ? "
            "union select cause_step from diagnoses where trace_id = ?",
            (trace_id, trace_id, trace_id),
        )
    }
    return tuple(place for place in whole if place.step_id in bad)


def step_lines(ask: Ask, trace_id: str, shown: Sequence[Place]) -> tuple[StepLine, ...]:
    """The lines at the places *shown*."""
    wanted = [place.step_id for place in shown]
    found = ask(statement("step_lines"), {"trace": trace_id, "steps": wanted}) if wanted else []
    by_id = {row[0]: row for row in found}
    return tuple(step_line(place, by_id.get(place.step_id)) for place in shown)


def step_line(place: Place, row: Row | None) -> StepLine:
    """One line of the tree; a placeholder has no row."""
    if row is None:
        return StepLine(
            step_id=place.step_id,
            parent_step_id=None,
            seq=place.seq,
            depth=place.depth,
            has_children=place.has_children,
            kind="step",
            name="(not in the log)",
            tool_name=None,
            status="unknown",
            code=None,
            cause_of=None,
            started_at=None,
            duration_ms=None,
            start_share=0.0,
            end_share=0.0,
            placeholder=True,
        )
    step_id, kind, name, tool_name, status, started_at, duration_ms, code, cause_of, start, end = row
    begin = min(1.0, max(0.0, start))
    return StepLine(
        step_id=step_id,
        parent_step_id=place.parent_step_id,
        seq=place.seq,
        depth=place.depth,
        has_children=place.has_children,
        kind=kind,
        name=name,
        tool_name=tool_name,
        status=status,
        code=code,
        cause_of=cause_of,
        started_at=aware(started_at),
        duration_ms=duration_ms,
        start_share=begin,
        end_share=min(1.0, max(begin, end)),
    )


def step_detail(line: StepLine, row: Row) -> StepDetail:
    """Everything about a step, from a row of `step_detail.sql`."""
    (trace_id, agent, call_id, asked, received, output, raw, model, finish_reason, effect, error_type, error_message,
     error_stack, attributes, attempt, tries, input_tokens, output_tokens, cost, finished_at, file, trace_index, number,
     index) = row  # fmt: skip
    return StepDetail(
        line=line,
        trace_id=trace_id,
        agent=agent,
        call_id=call_id,
        asked_arguments=asked,
        received_input=received,
        output=output,
        raw=raw,
        model=model,
        finish_reason=finish_reason,
        effect=effect,
        error_type=error_type,
        error_message=error_message,
        error_stack=error_stack,
        attributes=attributes,
        attempt=attempt,
        tries=tries,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=cost,
        finished_at=aware(finished_at),
        source=Source(file, trace_index, number, index),
        differences=differences(asked, received) if line.kind == "tool" else (),
    )


def context_names(ask: Ask, trace_id: str, step_id: str) -> list[tuple[str, str]]:
    """Hash and change (`kept`, `added`, `dropped`) of each message of a model step's context, dropped ones first."""
    found = ask(
        "select context_digest from log.steps where trace_id = ? and step_id = ?", (trace_id, step_id)
    )
    if not found or found[0][0] is None:
        return []
    changed = ask(
        "select previous_step is not null, added, dropped from context_changes where trace_id = ? and step_id = ?",
        (trace_id, step_id),
    )
    had_before, added, dropped = changed[0] if changed else (False, [], [])
    new = set(added) if had_before else set()
    names = [(name, "added" if name in new else "kept") for name in Contexts().follow(found[0][0], ask)]
    return [*((name, "dropped") for name in dropped), *names]


def messages_named(ask: Ask, trace_id: str, names: list[str]) -> dict[str, Row]:
    """Role, agent and text of messages by hash."""
    if not names:
        return {}
    found = ask(
        "select hash, role, agent, case when text <> '' then text else cast(message as varchar) end "
        "from messages where trace_id = ? and hash in (select unnest(?))",
        (trace_id, names),
    )
    return {row[0]: row for row in found}


def message_line(
    position: int, name: str, change: str, row: Row | None, *, missing: str = NOT_IN_LOG
) -> MessageLine:
    """One message of a context; one that the log does not hold says so."""
    if row is None:
        return MessageLine(position, "unknown", None, missing, name, change)
    return MessageLine(position, row[1] or "unknown", row[2], row[3] or "", name, change)
