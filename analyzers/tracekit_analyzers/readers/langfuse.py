"""
Langfuse exports: `{"trace", "observations"}`; input, output and metadata are JSON texts, some of them twice over.

Observations stand there twice, inside `trace` without values and on top with them; the ones on top are read. Where the
metadata holds attributes of a span, they say what an observation of type SPAN really is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.recording.foreign import ForeignSpan
from tracekit.recording.foreign_messages import json_value
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._openai import text_of
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import iso_ns
from tracekit_analyzers.readers.phoenix import flat

_REPEATED = (
    "input.value",
    "output.value",
    "langfuse.observation.",
    "gen_ai.prompt",
    "gen_ai.completion",
    "llm.",
)
"""Attributes of the metadata that say again what the observation says itself."""


class LangfuseReader:
    """Reads trace exports, one trace an object."""

    name = "langfuse"
    title = "Langfuse trace export"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the top object has a `trace` of Langfuse's shape, with `observations` beside it or in it."""
        top = peek(file.head)
        top = top[0] if isinstance(top, list) and top else top
        if not isinstance(top, Mapping):
            return 0
        trace = top.get("trace")
        inner = trace if isinstance(trace, Mapping) else top
        listed = isinstance(top.get("observations", inner.get("observations")), list)
        return (
            90
            if (listed or isinstance(trace, Mapping)) and ("projectId" in inner or "htmlPath" in inner)
            else 0
        )

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records trace by trace, observations in the file's order."""
        runs, key = SpanRuns(file), file_key(file)
        for number, export in enumerate(items(file, damage)):
            trace = export.get("trace") if isinstance(export.get("trace"), Mapping) else export
            found = export.get("observations") or trace.get("observations") or ()
            observations = [item for item in found if isinstance(item, Mapping)]
            yield from runs.whole(
                _span(raw, trace, fallback=f"{key}:{number}:{place}")
                for place, raw in enumerate(observations)
            )


def _span(raw: Mapping[str, Any], trace: Mapping[str, Any], *, fallback: str) -> ForeignSpan:
    start, end = iso_ns(raw.get("startTime")), iso_ns(raw.get("endTime"))
    kind = str(raw.get("type") or "SPAN").lower()
    given, output = value_of(raw.get("input")), value_of(raw.get("output"))
    attributes = {**_metadata(raw.get("metadata")), "langfuse.observation.type": kind}
    answer = _tool_message(output) if kind == "span" else None
    if answer is not None:
        attributes |= {"langfuse.observation.type": "tool", "gen_ai.tool.call.id": answer.get("tool_call_id")}
        output = answer.get("content")
    failed = raw.get("level") == "ERROR" or (answer is not None and answer.get("status") == "error")
    if kind in ("tool", "generation", "agent"):
        attributes.pop("openinference.span.kind", None)
        attributes.pop("gen_ai.operation.name", None)
    usage, cost = (
        raw.get("usageDetails") or raw.get("usage") or {},
        raw.get("totalCost", raw.get("calculatedTotalCost")),
    )
    attributes |= {
        "langfuse.observation.input": given,
        "langfuse.observation.output": output,
        "langfuse.observation.model.name": raw.get("model"),
        "langfuse.observation.level": raw.get("level"),
        "gen_ai.usage.input_tokens": usage.get("input"),
        "gen_ai.usage.output_tokens": usage.get("output"),
        "gen_ai.usage.cost": cost or None,
    }
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("name") or kind),
        start_ns=start,
        end_ns=end if end is not None or kind != "event" else start,
        status_code="error" if failed else "unset",
        status_message=raw.get("statusMessage") or (text_of(output) if failed else None),
        attributes={key: value for key, value in attributes.items() if value is not None},
    )
    return with_plain_ids(
        span,
        trace=raw.get("traceId") or trace.get("id"),
        own=raw.get("id"),
        parent=raw.get("parentObservationId"),
        fallback=fallback,
    )


def _tool_message(output: Any) -> Mapping[str, Any] | None:
    """LangChain's tool message, plain or as its constructor: older exports have no other sign of a tool."""
    if not isinstance(output, Mapping):
        return None
    fields = output.get("kwargs") if "lc" in output else output
    return fields if isinstance(fields, Mapping) and "tool_call_id" in fields else None


def value_of(value: Any) -> Any:
    """*value* unpacked from its JSON text, also where the text holds a JSON text again."""
    if isinstance(value, str) and value[:1] == '"':
        import orjson

        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return json_value(value)


def _metadata(value: Any) -> dict[str, Any]:
    """Attributes of the span behind the observation, and the rest of its metadata under `langfuse.metadata`."""
    metadata = value_of(value)
    if not isinstance(metadata, Mapping):
        return {}
    attributes = metadata.get("attributes")
    found = flat(attributes) if isinstance(attributes, Mapping) else {}
    kept = {key: item for key, item in found.items() if not key.startswith(_REPEATED)}
    rest = {
        key: item
        for key, item in metadata.items()
        if key not in ("attributes", "resourceAttributes", "scope")
    }
    return {**kept, **({"langfuse.metadata": rest} if rest else {})}


READER = LangfuseReader()
