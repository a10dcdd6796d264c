"""
Opik exports: spans as its SDK and REST API give them out, alone, as JSON Lines, or beside their traces.

A span has `type` (general, llm, tool, guardrail), `input`, `output`, `usage` and `error_info`; its trace is the root. The
TypeScript SDK gives the same names in camel case; a page of the REST API holds them under `content`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign import ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._openai import usage_of
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import held, items, never_silent, odd_is_not_ours, peek, peek_lines
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import iso_ns

_KINDS = {"llm": "LLM", "tool": "TOOL", "guardrail": "GUARDRAIL", "general": "CHAIN"}

_LOOKED_AT = 5
"""A trace alone looks like many things: a span among the first objects tells."""
_CAMEL = {
    "traceId": "trace_id", "parentSpanId": "parent_span_id", "startTime": "start_time", "endTime": "end_time",
    "errorInfo": "error_info", "totalEstimatedCost": "total_estimated_cost", "exceptionType": "exception_type",
}  # fmt: skip
"""Names of the TypeScript SDK to those of all the rest."""


class OpikReader:
    """Reads spans and traces."""

    name = "opik"
    title = "Opik spans and traces"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """80 when one of the first objects is an Opik span or holds one."""
        top = peek(file.head)
        first = top[:_LOOKED_AT] if isinstance(top, list) else [top]
        return 80 if any(map(_known, (*first, *peek_lines(file.head)[:_LOOKED_AT]))) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of traces as roots and of their spans, in the file's order."""
        found: list[Mapping[str, Any]] = []
        for value in held(items(file, damage), file, damage):
            found += _all(value) if isinstance(value, Mapping) else []
        roots = {str(raw.get("id")) for raw in found if _is_trace(raw)}
        runs, key = SpanRuns(file), file_key(file)
        yield from runs.whole(_span(raw, roots, f"{key}:{number}") for number, raw in enumerate(found))


def _is_span(value: Any) -> bool:
    return (
        isinstance(value, Mapping) and "trace_id" in value and "id" in value and value.get("type") in _KINDS
    )


def _is_trace(value: Any) -> bool:
    told = {"id", "start_time"} <= value.keys() if isinstance(value, Mapping) else False
    return told and "trace_id" not in value and ("input" in value or "output" in value)


def _known(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return any(_is_span(raw) for raw in _all(value))


def _all(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The traces and spans in *value*, or itself."""
    value = _snake(value)
    if _is_span(value) or _is_trace(value):
        inner = value.get("spans")
        return (
            [value, *(raw for raw in map(_snake, inner) if _is_span(raw))]
            if isinstance(inner, list)
            else [value]
        )
    lists = (found for key in ("traces", "spans", "content") if isinstance(found := value.get(key), list))
    listed = map(_snake, [value.get("trace"), *(raw for found in lists for raw in found)])
    return [raw for raw in listed if _is_span(raw) or _is_trace(raw)]


def _snake(raw: Any) -> Any:
    """*raw* under the names of the Python SDK and the REST API."""
    if not isinstance(raw, Mapping) or not (_CAMEL.keys() & raw.keys()):
        return raw
    error = raw.get("errorInfo")
    named = {_CAMEL.get(key, key): value for key, value in raw.items()}
    return {**named, "error_info": _snake(error)} if error is not None else named


def _span(raw: Mapping[str, Any], roots: set[str], fallback: str) -> ForeignSpan:
    is_root = _is_trace(raw)
    kind, error, used = str(raw.get("type") or "general"), raw.get("error_info"), usage_of(raw.get("usage"))
    attributes = {
        "openinference.span.kind": "AGENT" if is_root else _KINDS[kind],
        "input.value": raw.get("input"),
        "output.value": raw.get("output"),
        "tool.name": raw.get("name") if kind == "tool" else None,
        "llm.model_name": raw.get("model"),
        "llm.token_count.prompt": used.input_tokens if used else None,
        "llm.token_count.completion": used.output_tokens if used else None,
        "llm.cost.total": raw.get("total_estimated_cost"),
        "opik.metadata": raw.get("metadata") or None,
        "opik.tags": raw.get("tags") or None,
    }
    if isinstance(error, Mapping):
        attributes |= {
            "exception.type": error.get("exception_type"),
            "exception.message": error.get("message"),
        }
        attributes |= {"exception.stacktrace": error.get("traceback")}
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("name") or kind),
        start_ns=iso_ns(raw.get("start_time")),
        end_ns=iso_ns(raw.get("end_time")),
        status_code="error" if error else "unset",
        status_message=error.get("message") if isinstance(error, Mapping) else None,
        attributes={key: value for key, value in attributes.items() if value is not None},
    )
    trace = str(raw.get("id") if is_root else raw.get("trace_id"))
    parent = raw.get("parent_span_id") or (trace if not is_root and trace in roots else None)
    return with_plain_ids(
        span, trace=trace.replace("-", ""), own=raw.get("id"), parent=parent, fallback=fallback
    )


READER = OpikReader()
