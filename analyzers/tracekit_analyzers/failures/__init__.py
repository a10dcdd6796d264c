"""
The failure classes, in the order in which they are documented.

A class is a module with `code`, `title`, `retry` and `sql` (see `FailureClass` in model.py). To run them on one DuckDB
connection that holds the relations: execute every statement of `PRELUDE` once, then the `sql` of each class. The rows of
a class are `trace_id, failed_step, cause_step, confidence, rule, message, evidence`; evidence is a list of
`{step, what, path, value}`. `verdict.judge` then says which diagnosis of a trace is the primary one.
"""

from __future__ import annotations

from tracekit_analyzers.failures import (
    context_dangling,
    context_missing_result,
    context_overflow,
    context_overwritten,
    context_stale_value,
    context_truncated,
    orchestration_conflict,
    orchestration_dependency,
    orchestration_limit,
    orchestration_loop,
    orchestration_unanswered,
    output_empty,
    output_missing_field,
    output_refused,
    output_unfounded,
    output_unknown_tool,
    output_unparseable,
    parameter_altered,
    parameter_generated,
    parameter_truncated,
    parameter_unknown_reference,
    parameter_wrong_value,
    process_cancelled,
    process_exception,
    process_killed,
    timeout_no_answer,
    timeout_rate_limited,
    timeout_slow,
    timeout_unavailable,
    tool_error,
    tool_exit_code,
    tool_hidden_error,
    tool_not_found,
    tool_permission,
    tool_rejected,
    tool_schema_changed,
)
from tracekit_analyzers.failures._load import prelude
from tracekit_analyzers.model import FailureClass
from tracekit_analyzers.reading import plugins

PRELUDE: tuple[str, ...] = prelude()

CLASSES: tuple[FailureClass, ...] = (
    timeout_no_answer,
    timeout_unavailable,
    timeout_rate_limited,
    timeout_slow,
    parameter_generated,
    parameter_altered,
    parameter_unknown_reference,
    parameter_truncated,
    parameter_wrong_value,
    context_truncated,
    context_overwritten,
    context_stale_value,
    context_missing_result,
    context_dangling,
    context_overflow,
    output_unparseable,
    output_missing_field,
    output_unknown_tool,
    output_refused,
    output_empty,
    output_unfounded,
    tool_rejected,
    tool_permission,
    tool_not_found,
    tool_error,
    tool_schema_changed,
    tool_hidden_error,
    tool_exit_code,
    orchestration_loop,
    orchestration_dependency,
    orchestration_conflict,
    orchestration_limit,
    orchestration_unanswered,
    process_killed,
    process_exception,
    process_cancelled,
)
"""Ours."""


def classes() -> tuple[FailureClass, ...]:
    """Ours, then those that other packages add through the entry-point group `tracekit.classes`."""
    return (*CLASSES, *plugins.classes(frozenset(kind.code for kind in CLASSES)))
