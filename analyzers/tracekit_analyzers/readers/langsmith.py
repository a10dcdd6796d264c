"""
LangSmith runs: batches `{"post": [run], "patch": [run]}` as the SDK posts them, lists of runs, JSON Lines of runs.

A run is split: inputs and start in `post`, outputs and end in `patch`. A run whose patch is missing has not ended.
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
from tracekit_analyzers.readers._time import epoch_ns, iso_ns

_KINDS = {"llm": "LLM", "chat": "LLM", "tool": "TOOL", "retriever": "RETRIEVER", "embedding": "EMBEDDING"}


class LangSmithReader:
    """Reads batches and exports of runs."""

    name = "langsmith"
    title = "LangSmith runs"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 for a batch with post and patch, 85 for runs with a `run_type`."""
        top = peek(file.head)
        if isinstance(top, Mapping) and ("post" in top or "patch" in top) and _is_run(_first(top)):
            return 90
        first = top[0] if isinstance(top, list) and top else top
        return 85 if _is_run(first) or any(_is_run(line) for line in peek_lines(file.head)[:1]) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the runs in the order in which they were begun."""
        found: dict[str, dict[str, Any]] = {}
        for value in held(items(file, damage), file, damage):
            batch = value if isinstance(value, Mapping) else {}
            both = (
                [*(batch.get("post") or ()), *(batch.get("patch") or ())] if not _is_run(batch) else [batch]
            )
            for run in both:
                if isinstance(run, Mapping):
                    known = found.setdefault(_id(run), {})
                    known.update({key: item for key, item in run.items() if item not in (None, {}, [])})
        runs, key = SpanRuns(file), file_key(file)
        yield from runs.whole(_span(run, _id(run), f"{key}:{n}") for n, run in enumerate(found.values()))


def _first(batch: Mapping[str, Any]) -> Any:
    both = [*(batch.get("post") or ()), *(batch.get("patch") or ())]
    return both[0] if both else None


def _is_run(value: Any) -> bool:
    return isinstance(value, Mapping) and ("run_type" in value or "dotted_order" in value)


def _id(run: Mapping[str, Any]) -> str:
    """The run's id; patches of older SDKs have it only as the last part of `dotted_order`."""
    if run.get("id"):
        return str(run["id"])
    return str(run.get("dotted_order") or "").rpartition(".")[2].partition("Z")[2]


def _span(run: Mapping[str, Any], run_id: str, fallback: str) -> ForeignSpan:
    kind = str(run.get("run_type") or "chain")
    outputs, error = run.get("outputs"), run.get("error")
    extra = run.get("extra") or {}
    metadata = extra.get("metadata") or {}
    attributes = {
        "openinference.span.kind": _KINDS.get(kind, "CHAIN"),
        "input.value": run.get("inputs"),
        "output.value": outputs,
        "tool.name": run.get("name") if kind == "tool" else None,
        "tool_call.id": _call_id(outputs),
        "llm.model_name": _model(outputs) or metadata.get("ls_model_name"),
        "langsmith.metadata": metadata or None,
        **_usage(outputs),
    }
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(run.get("name") or kind),
        start_ns=_time(run.get("start_time")),
        end_ns=_time(run.get("end_time")),
        status_code="error" if error else "unset",
        status_message=str(error) if error else None,
        attributes={key: value for key, value in attributes.items() if value is not None},
    )
    order = str(run.get("dotted_order") or "").split(".")
    above = order[-2].partition("Z")[2] if len(order) > 1 else None
    trace = str(run.get("trace_id") or order[0].partition("Z")[2] or run_id)
    return with_plain_ids(
        span,
        trace=trace.replace("-", ""),
        own=run_id,
        parent=run.get("parent_run_id") or above,
        fallback=fallback,
    )


def _time(value: Any) -> int | None:
    return iso_ns(value) if isinstance(value, str) else epoch_ns(value, per_second=1000)


def _model(outputs: Any) -> Any:
    return outputs.get("model") if isinstance(outputs, Mapping) else None


def _call_id(outputs: Any) -> Any:
    """The id of the call that a tool's output answers, where it is LangChain's tool message."""
    message = outputs.get("output") if isinstance(outputs, Mapping) else None
    return message.get("tool_call_id") if isinstance(message, Mapping) else None


def _usage(outputs: Any) -> dict[str, Any]:
    if not isinstance(outputs, Mapping):
        return {}
    told = (
        outputs.get("usage_metadata"),
        outputs.get("usage"),
        (outputs.get("llm_output") or {}).get("token_usage"),
    )
    used = next((found for found in map(usage_of, told) if found is not None), None)
    if used is None:
        return {}
    return {"llm.token_count.prompt": used.input_tokens, "llm.token_count.completion": used.output_tokens}


READER = LangSmithReader()
