"""
What a screen or a report asks of an analysis, and the rows it gets: the seam between analysis and everything that shows it.

`Session` (session.py) is the only implementation. It may be called from any thread, answers by page, and never loads a
whole trace to answer about a part of it. Screens hold no SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tracekit_analyzers.model import BadLine, Diagnosis, Resumable, Source, TraceVerdict
from tracekit_analyzers.verdicts.alignment import AlignStep
from tracekit_analyzers.verdicts.groups import Group

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A slice of a list, with what is needed to say "x of y shown"."""

    rows: tuple[T, ...]
    offset: int
    total: int
    """Rows that match the filter."""
    unfiltered: int
    """Rows without the filter."""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One line of the list of traces."""

    trace_id: str
    task_id: str | None
    name: str
    status: str
    """`ok`, `error`, `running`, `killed`, `waiting` (for a person) or `unknown`."""
    steps: int
    finished_steps: int
    failed_step: str | None
    failed_seq: int | None
    failed_name: str | None
    code: str | None
    """Code of the primary diagnosis."""
    confidence: float | None
    cost: float | None
    tokens: int | None
    started_at: datetime | None
    """Aware, UTC."""
    duration_ms: float | None
    source: Source


@dataclass(frozen=True, slots=True)
class StepLine:
    """One line of the tree of a trace."""

    step_id: str
    parent_step_id: str | None
    seq: int
    depth: int
    """0 for a root; placeholders of missing parents count as a level."""
    has_children: bool
    kind: str
    name: str
    tool_name: str | None
    status: str
    code: str | None
    """Code of the diagnosis that names this step as failed."""
    cause_of: str | None
    """Code of a diagnosis that names this step as its cause."""
    started_at: datetime | None
    duration_ms: float | None
    start_share: float
    """Begin as a share of the trace's time, 0 to 1, for the waterfall."""
    end_share: float
    placeholder: bool = False
    """It stands for a parent that the log does not hold."""


@dataclass(frozen=True, slots=True)
class StepDetail:
    """Everything about one step; texts are whole and exactly as recorded."""

    line: StepLine
    trace_id: str
    agent: str | None
    call_id: str | None
    asked_arguments: str | None
    """What the model wrote for this call, its exact text."""
    received_input: str | None
    """What the tool really received, JSON text."""
    output: str | None
    raw: str | None
    model: str | None
    finish_reason: str | None
    effect: str | None
    """JSON of risk, key, status."""
    error_type: str | None
    error_message: str | None
    error_stack: str | None
    attributes: str
    """JSON text."""
    attempt: int
    tries: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    finished_at: datetime | None
    source: Source
    differences: tuple[Difference, ...]
    """Where `asked_arguments` and `received_input` differ in meaning."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One path at which two JSON values differ; None where that side has nothing."""

    path: str
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class MessageLine:
    """One message of the context that a model step was sent."""

    pos: int
    role: str
    agent: str | None
    text: str
    hash: str
    change: str
    """`kept`, `added` or `dropped` against the model step before it."""


@dataclass(frozen=True, slots=True)
class OriginLine:
    """Where one argument of a tool call came from."""

    path: str
    value: str
    origin_step: str | None
    origin_seq: int | None
    origin_side: str | None
    """`output`, `user`, `system`, `assistant`; None when the value was found nowhere."""
    origin_path: str | None
    newer_value: str | None
    """A later value at the same place, when there is one: the argument is stale."""


@dataclass(frozen=True, slots=True)
class Table:
    """Result of a free query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: int
    """Rows found, which may be more than shown."""
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far reading has come, told from a worker thread."""

    file: str
    done_bytes: int
    total_bytes: int
    stage: str
    """`rows` (the list of traces may be asked), `reading`, `relations`, `diagnosing` (all but verdicts) or `done`."""


class Analysis(Protocol):
    """What a screen may ask. Implemented by `tracekit_analyzers.session.Session`."""

    paths: Sequence[Path]

    @property
    def version(self) -> int:
        """Counts up whenever answers may differ from those before."""

    def load(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Read, relate and diagnose; idempotent, and reads only what is new when called again."""

    def traces(
        self,
        *,
        filter: str = "",
        sort: str = "-started_at",
        errors_only: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> Page[TraceRow]:
        """
        Traces by page.

        Args:
            filter: Words are searched in id, task, name; `code=timeout*`, `tool=pay*`, `status=error`, `cost>0.1`,
                `steps>10`, `age<2h`, `group=ID` narrow; a leading `!` turns one around. Raises `TracekitError("filter.syntax")`.
            sort: Column of `TraceRow`, `-` in front for descending.
        """

    def trace(self, trace_id: str) -> TraceRow | None:
        """One trace; a unique prefix of the id will do."""

    def steps(
        self, trace_id: str, *, errors_only: bool = False, offset: int = 0, limit: int = 200
    ) -> Page[StepLine]:
        """Steps in the order of the tree, depth first, siblings by start."""

    def step(self, trace_id: str, step_id: str) -> StepDetail | None: ...

    def context(self, trace_id: str, step_id: str, *, offset: int = 0, limit: int = 100) -> Page[MessageLine]:
        """Messages sent to a model step, those dropped since the model step before it included."""

    def lineage(self, trace_id: str, step_id: str) -> tuple[OriginLine, ...]:
        """Where each argument of a tool step came from."""

    def diff_steps(self, trace_id: str) -> tuple[AlignStep, ...]:
        """All steps of a trace, as two runs are compared (`alignment.align`)."""

    def verdict(self, trace_id: str) -> TraceVerdict | None: ...

    def diagnoses(self, trace_id: str) -> tuple[Diagnosis, ...]: ...

    def resumable(self, trace_id: str) -> Resumable | None: ...

    def groups(self) -> tuple[Group, ...]:
        """Like failures over all traces, those in most traces first; `group=ID` in a filter narrows to one."""

    def damage(self) -> tuple[BadLine, ...]: ...

    def sql(self, query: str, *, limit: int = 1000) -> Table:
        """Run one read-only statement over the relations. Raises `TracekitError("sql.*")` with the engine's words."""

    def close(self) -> None: ...
