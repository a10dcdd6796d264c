"""
MLflow traces: `{"info", "data": {"spans": [...]}}`, one, a list, JSON Lines, or the `traces.json` with spans alone.

MLflow 2 writes ids under `context` as `0x...` and times as `start_time`; MLflow 3 writes `start_time_unix_nano` and base64 ids,
later ones hexadecimal with `otel_trace_id`, where `trace_id` is `tr-...` or `trace:/PLACE/...`. Each attribute is a JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tracekit.recording.foreign import ForeignEvent, ForeignSpan
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._run import file_key
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek, peek_lines
from tracekit_analyzers.readers._spans import SpanRuns, with_plain_ids
from tracekit_analyzers.readers._time import epoch_ns

_NAMED = ("tr-", "trace:/")
"""How a trace id begins that MLflow made a name of."""


class MlflowReader:
    """Reads exported traces."""

    name = "mlflow"
    title = "MLflow traces"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when spans carry MLflow's attributes, or a trace has MLflow's info."""
        top = peek(file.head)
        first = top[0] if isinstance(top, list) and top else top
        return 90 if _is_trace(first) or any(_is_trace(line) for line in peek_lines(file.head)[:1]) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records trace by trace, spans in the file's order."""
        runs, key = SpanRuns(file), file_key(file)
        for number, trace in enumerate(items(file, damage)):
            spans = [span for span in _spans(trace) if isinstance(span, Mapping)]
            yield from runs.whole(_span(raw, f"{key}:{number}:{place}") for place, raw in enumerate(spans))


def _spans(trace: Any) -> list[Any]:
    if not isinstance(trace, Mapping):
        return []
    data = trace.get("data")
    found = (data if isinstance(data, Mapping) else trace).get("spans")
    return found if isinstance(found, list) else []


def _is_trace(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    info = value.get("info")
    if (
        isinstance(info, Mapping)
        and {"request_id", "trace_id", "experiment_id", "trace_location"} & info.keys()
    ):
        return True
    spans = _spans(value)
    attributes = spans[0].get("attributes") if spans and isinstance(spans[0], Mapping) else None
    return isinstance(attributes, Mapping) and any(str(key).startswith("mlflow.") for key in attributes)


def _span(raw: Mapping[str, Any], fallback: str) -> ForeignSpan:
    told, context = raw.get("status"), raw.get("context") or {}
    status: Mapping[str, Any] = told if isinstance(told, Mapping) else {"code": told}
    attributes = {key: _plain(value) for key, value in (raw.get("attributes") or {}).items()}
    tokens = attributes.pop("mlflow.chat.tokenUsage", None)
    if isinstance(tokens, Mapping):
        attributes["gen_ai.usage.input_tokens"] = tokens.get("input_tokens")
        attributes["gen_ai.usage.output_tokens"] = tokens.get("output_tokens")
    spent = attributes.pop("mlflow.llm.cost", None)
    attributes["gen_ai.usage.cost"] = spent.get("total_cost") if isinstance(spent, Mapping) else spent
    span = ForeignSpan(
        trace_id="",
        span_id="",
        parent_span_id=None,
        name=str(raw.get("name") or ""),
        start_ns=_time(raw, "start_time"),
        end_ns=_time(raw, "end_time"),
        status_code=str(status.get("code") or raw.get("status_code") or "unset"),
        status_message=status.get("message")
        or status.get("description")
        or raw.get("status_message")
        or None,
        attributes={key: value for key, value in attributes.items() if value is not None},
        events=tuple(_event(event) for event in raw.get("events") or () if isinstance(event, Mapping)),
    )
    trace = (
        raw.get("otel_trace_id")
        or raw.get("trace_id")
        or context.get("trace_id")
        or attributes.get("mlflow.traceRequestId")
    )
    return with_plain_ids(
        span,
        trace=str(trace).rpartition("/")[2].removeprefix("tr-") if str(trace).startswith(_NAMED) else trace,
        own=raw.get("span_id") or context.get("span_id"),
        parent=raw.get("parent_span_id") or raw.get("parent_id"),
        fallback=fallback,
    )


def _plain(value: Any) -> Any:
    """An attribute's value out of its JSON text; one that is none stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _time(raw: Mapping[str, Any], name: str) -> int | None:
    found = next(
        (raw[key] for key in (f"{name}_unix_nano", f"{name}_ns", name) if raw.get(key) is not None), None
    )
    return epoch_ns(found, per_second=1_000_000_000)


def _event(raw: Mapping[str, Any]) -> ForeignEvent:
    attributes = {key: _plain(value) for key, value in (raw.get("attributes") or {}).items()}
    return ForeignEvent(str(raw.get("name") or ""), None, attributes)


READER = MlflowReader()
