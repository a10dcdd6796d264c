"""
The words of analysis as frozen values: where a line came from, what was damaged, what failed and why.

Readers make *native records* (the line format of docs/log-format.md, plus `source`), DuckDB holds them as
relations (`relations/*.sql`), failure classes turn relations into `Diagnosis` values. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from tracekit.model import RetryAdvice

NativeRecord = dict[str, Any]
"""One line of the native log as a dict, with `source` beside its own fields (docs/log-format.md)."""


@dataclass(frozen=True, slots=True)
class Source:
    """The place in a file where a person finds a step again."""

    file: str
    """Path as it was given, never made absolute."""
    trace_index: int = 0
    """0-based position of the run in a file that holds several."""
    line: int | None = None
    """1-based line, in a line file."""
    index: int | None = None
    """
    0-based position, within its run, of the message or record that holds the step's outcome: for a tool call its
    result; if none ever came, the record that asked.
    """


@dataclass(frozen=True, slots=True)
class BadLine:
    """A piece of a file that could not be kept, or was kept only in part."""

    file: str
    line: int | None
    """1-based."""
    offset: int | None
    """Bytes from the start of the (unpacked) file."""
    reason: str
    """Stable code, then words: `not_json: ...`, `cut`, `glued`, `not_object`, `wrong_type duration_ms: ...`."""
    head: str
    """First 80 characters of it, control codes made visible."""
    lost: int = 0
    """Lines that the recorder could not write before this one."""


class DamageReport(Protocol):
    """Where readers tell what they could not keep."""

    def bad(self, *, file: str, line: int | None, offset: int | None, reason: str, data: bytes | str) -> None:
        """Record a bad piece; never raises."""

    def counted(self, lines: int) -> None:
        """Add to the number of lines (or records, where a file has no lines) that were looked at."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read: its path, its name for reports, and its first bytes (already unpacked)."""

    path: Path
    name: str
    head: bytes
    """First 64 KiB, after gz or zst unpacking."""
    first_line: int = 0
    """Lines that stand before this one in the file of which it is a piece."""
    first_byte: int = 0
    """Bytes that stand before it there."""


class Reader(Protocol):
    """
    A translator from one foreign format to native records; one file each under `readers/`, listed in the registry.

    It translates and never judges; labels inside a file (`mistake_step`, `info.reward`) are not read.
    """

    name: str
    """What `--reader` takes, such as `openai_chat`."""
    title: str
    """What a person calls the format."""

    def sniff(self, file: InputFile) -> int:
        """How sure it is that *file* is in its format: 0 no, 50 looks like it, 90 unmistakable."""

    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """
        Native records in the file's order: `message` records before the steps that name them.

        Every record carries `source` = `{"trace_index", "line", "index"}`. Ids that the format does not have are made
        from the file's name and positions, so that the same file gives the same ids each time.
        """


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact behind a diagnosis, tied to the step where a person can see it."""

    step: str | None
    """Step id."""
    seq: int | None
    what: str
    """What was seen, in words: `raw text says 99.50, the tool received 9950`."""
    path: str | None = None
    """JSON path inside the step's input, output or raw text, such as `$.input.amount`."""
    value: str | None = None
    """The value itself, as JSON or text, at most 500 characters; the step has it whole."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What failed and why: a value with evidence, never an exception."""

    trace_id: str
    failed_step: str | None
    failed_seq: int | None
    cause_step: str | None
    """The step that caused it, often an earlier one; the failed step itself when nothing points further back."""
    cause_seq: int | None
    code: str
    """One of the codes of docs/failures.md, such as `timeout.no_answer`."""
    confidence: float
    """0 to 1: share of such verdicts that are right, as the benchmark measures it."""
    rule: str
    """Id of the rule that fired, such as `timeout.no_answer/closed_by_exception`."""
    message: str
    """One sentence for a person."""
    evidence: tuple[Evidence, ...]
    retry: RetryAdvice
    recovered: bool = False
    """The agent saw it and got over it: listed, never primary."""
    source: Source | None = None
    cause_source: Source | None = None
    tool: str | None = None
    """Tool of the failed step."""

    @property
    def family(self) -> str:
        """The part of the code before the dot."""
        return self.code.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Resumable:
    """Where a failed trace may go on, and what that saves."""

    trace_id: str
    step: str
    seq: int
    """The last clean step: everything before it ended well."""
    kept_calls: int
    kept_tokens: int
    kept_seconds: float
    risk: str
    """`none`, `low` or `high`: what may have happened outside after this step."""
    why_not_later: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceVerdict:
    """Everything that analysis says about one trace."""

    trace_id: str
    task_id: str | None
    name: str
    status: str
    """`ok`, `error`, `running`, `killed`, `waiting` (for a person) or `unknown`."""
    steps: int
    source: Source
    diagnoses: tuple[Diagnosis, ...]
    primary: int | None
    """Index into `diagnoses` of the verdict that says which step failed and which one caused it."""
    resumable: Resumable | None
    started_at: datetime | None = None
    """Aware, UTC."""
    duration_ms: float | None = None
    tokens: int | None = None
    """Of all its model calls, in and out; None where the log tells none."""
    cost: float | None = None
    question: str | None = None
    """What a run that is `waiting` asks a person, and where the answer can be given."""


class FailureClass(Protocol):
    """
    One failure class: its code, what to do about it, and the SQL that finds it.

    Ours are modules `failures/<family>_<name>.py` with their SQL beside them under the same name. The docstring of a module
    shows a bad trace, the evidence and what to do, in that order; the docs page is made of it.
    """

    code: str
    title: str
    retry: RetryAdvice
    sql: str
    """
    Text of the `.sql` file. Each row is one diagnosis: `trace_id, failed_step, cause_step, confidence, rule, message,
    evidence`, where evidence is a list of `{step, what, path, value}`.
    """


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What the log itself (or the app) says about a tool: learned from all traces, handed to every bucket."""

    tool_name: str
    calls: int
    good_calls: int
    median_ms: float | None = None
    mad_ms: float | None = None
    """Median absolute deviation of the good calls' time."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of the arguments, declared or learned."""
