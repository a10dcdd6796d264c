"""Spans as native records: what every span format needs after it has made `ForeignSpan`s out of its own shape."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tracekit.model import StepKind
from tracekit.recording.foreign import ForeignSpan, demoted, kind_of, talk_of, translate
from tracekit_analyzers.model import InputFile, NativeRecord
from tracekit_analyzers.readers._run import Run, hex_id

_HEX = re.compile(r"(?:0x)?([0-9A-Fa-f]+)\Z")


def span_ids(value: Any, digits: int) -> str | None:
    """
    *value* as an id of *digits* hexadecimal digits; None for an empty one or one of zeros.

    Base64 of that many bytes is read too (Tempo), and any other name gives digits made from it, always the same.
    """
    text = value.strip() if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    if not text.strip("0x"):
        return None
    match = _HEX.match(text)
    if match and len(match.group(1)) <= digits and (len(match.group(1)) == digits or text.startswith("0x")):
        return match.group(1).lower().zfill(digits)
    if len(text) % 4 == 0 and text.endswith("="):
        try:
            raw = b64decode(text, validate=True)
        except Base64Error:
            raw = b""
        if len(raw) * 2 == digits:
            return raw.hex()
    return hex_id(digits, text)


_CONTENT = frozenset({"model_raw_output", "asked"})
"""What a model step says; by it the fuller of two spans of one call is told."""


@dataclass(frozen=True, slots=True)
class PlacedSpan:
    """A span and where it stands in its file."""

    span: ForeignSpan
    index: int
    line: int | None = None


class SpanRuns:
    """The runs (traces) of a file of spans; holds ids and hashes of each, never a span."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._runs: dict[str, Run] = {}
        self._counts: dict[str, int] = {}
        self._inner: dict[str, dict[str, frozenset[str]]] = {}

    def place(self, span: ForeignSpan, line: int | None = None) -> PlacedSpan:
        """*span* with its position among the spans of its trace."""
        index = self._counts.get(span.trace_id, 0)
        self._counts[span.trace_id] = index + 1
        return PlacedSpan(span, index, line)

    def whole(self, spans: Iterable[ForeignSpan]) -> Iterator[NativeRecord]:
        """Records of spans that are all there, where an outer span may stand before the inner one."""
        placed = [self.place(span) for span in spans]
        for item in placed:
            self.announce(item)
        for item in placed:
            yield from self.records(item)

    def announce(self, placed: PlacedSpan) -> None:
        """Let the span around this one know of it, when its own records come later."""
        span = placed.span
        if span.parent_span_id and kind_of(span) is StepKind.MODEL:
            self._wrapped(translate(span), span.trace_id, span.parent_span_id)

    def records(self, placed: PlacedSpan) -> Iterator[NativeRecord]:
        """The `message` records that the span's step needs, then the step."""
        span = placed.span
        run = self._runs.get(span.trace_id)
        if run is None:
            run = self._runs[span.trace_id] = Run(self._file, len(self._runs), trace_id=span.trace_id)
        fields = translate(span)
        if fields["kind"] == StepKind.MODEL:
            fields = self._counted_once(fields, span.trace_id)
            if span.parent_span_id:
                self._wrapped(fields, span.trace_id, span.parent_span_id)
        yield from self._with_context(run, fields, placed)

    def _wrapped(self, fields: dict[str, Any], trace_id: str, parent: str) -> None:
        """Note what the model call *fields* says, for the span around it."""
        inner = self._inner.setdefault(trace_id, {})
        inner[parent] = inner.get(parent, frozenset()) | (_CONTENT & fields.keys())

    def _counted_once(self, fields: dict[str, Any], trace_id: str) -> dict[str, Any]:
        """*fields*, made a plain step when a model call inside it says as much, and only without usage when it says less."""
        inner = self._inner.get(trace_id, {}).get(fields["step_id"])
        if inner is None:
            return fields
        if (_CONTENT & fields.keys()) <= inner:
            return demoted(fields)
        return {key: value for key, value in fields.items() if key != "usage"}

    def _with_context(self, run: Run, fields: dict[str, Any], placed: PlacedSpan) -> Iterator[NativeRecord]:
        sent, said, complete = talk_of(fields)
        hashes: list[str] = []
        for message in sent:
            name, records = run.message(message, role=message["role"], index=placed.index, line=placed.line)
            hashes.append(name)
            yield from records
        if sent:
            fields["context"] = run.context(hashes, complete=complete)
        source = {"trace_index": run.trace_index, "line": placed.line, "index": placed.index}
        yield {"record": "step", **fields, "source": source}
        for message in said:
            agent = fields.get("agent")
            yield from run.message(
                message, role="assistant", index=placed.index, line=placed.line, agent=agent
            )[1]


def with_plain_ids(span: ForeignSpan, *, trace: Any, own: Any, parent: Any, fallback: str) -> ForeignSpan:
    """
    *span* with native ids for the ones that its format has; names that are no ids stay among its attributes.

    Args:
        fallback: Stands for an id that is missing: the same each time for the same place of the same file.
    """
    trace_id = span_ids(trace, 32) or hex_id(32, fallback)
    span_id = span_ids(own, 16) or hex_id(16, fallback, "span")
    parent_id = span_ids(parent, 16)
    kept = {
        f"original.{name}": said
        for name, said, made in (
            ("trace_id", trace, trace_id),
            ("span_id", own, span_id),
            ("parent_id", parent, parent_id),
        )
        if isinstance(said, str) and said and made == hex_id(32 if name == "trace_id" else 16, said.strip())
    }
    attributes = {**span.attributes, **kept}
    return replace(span, trace_id=trace_id, span_id=span_id, parent_span_id=parent_id, attributes=attributes)
