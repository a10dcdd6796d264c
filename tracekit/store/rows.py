"""
What every store keeps, as frozen values: one class a table, the lease, and the whole picture of a task.

Bodies (arguments, results, raw texts) are named by their content hash. Times are milliseconds since the epoch, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracekit.model import EffectRisk, EffectStatus, StepKind, StepStatus, TaskStatus


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task: admission is durable before any work, so an accepted task can't vanish."""

    task_id: str
    trace_id: str
    """32 hexadecimal digits, kept over all attempts."""
    root_step_id: str
    """Step id of the first attempt's task step; later attempts hang below it."""
    function: str
    """Where the task function is found again: `package.module:qualified_name`."""
    arguments: str
    """Blob hash of the canonical JSON of `{"args": [...], "kwargs": {...}}`."""
    status: TaskStatus = TaskStatus.QUEUED
    goal: str = ""
    plan: str | None = None
    """JSON: list of `{"name", "depends_on", "critical"}`."""
    current_step: str | None = None
    """Place of the step that was begun last."""
    code_version: str = ""
    tool_schema_hash: str = ""
    limits: str = "{}"
    """JSON of the limits in force when the task was created."""
    owner: str | None = None
    fence: int = 0
    lease_until_ms: int = 0
    next_seq: int = 1
    attempt: int = 0
    """Number of the go at the task that is running or ran last; 0 before the first."""
    recoveries: int = 0
    max_recoveries: int = 5
    tokens_used: int = 0
    cost_used: float = 0.0
    result: str | None = None
    """Blob hash of the task's result."""
    error: str | None = None
    priority: int = 0
    parent_task: str | None = None
    """The task this one was forked from."""
    created_ms: int = 0
    updated_ms: int = 0


@dataclass(frozen=True, slots=True)
class StepRow:
    """One place in a task's journal: what was called there, and how it ended."""

    task_id: str
    place: str
    """Where in the task: `3` is the third call of the main scope, `2.1/3` the third of its second branch's first..."""
    step_id: str
    ord: int
    """Order of beginning within the task; starts at 1."""
    kind: StepKind
    name: str
    status: StepStatus
    critical: bool = True
    depends_on: tuple[str, ...] = ()
    args_digest: str = ""
    context_digest: str | None = None
    input: str | None = None
    """Blob hash."""
    raw: str | None = None
    """Blob hash of the model's exact text."""
    result: str | None = None
    """Blob hash of the result; null with status `ok` means that the result was not storable (see `error`)."""
    tries: int = 1
    reinfers: int = 0
    infra_failures: int = 0
    failure_class: str | None = None
    context_complete: bool = True
    tokens: int = 0
    cost: float = 0.0
    error: str | None = None
    """JSON: `{"type", "message", "path"?}`."""
    started_ms: int = 0
    finished_ms: int | None = None


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One ledger row, booked before the request is dispatched."""

    key: str
    task_id: str
    place: str
    call_no: int
    tool: str
    risk: EffectRisk
    idempotent: bool
    args_hash: str
    args: str
    """Blob hash of the canonical arguments."""
    status: EffectStatus
    attempt: int = 1
    """How often it was dispatched, counted before each dispatch."""
    fence: int = 0
    approval_id: str | None = None
    """The decision that allowed a dispatch which the rules alone forbid."""
    intent_ms: int = 0
    outcome_ms: int | None = None
    probe_count: int = 0
    probe_verdict: str | None = None
    server_ref: str | None = None
    result: str | None = None
    """Blob hash of the answer."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A question to a person: single use, tied to the arguments that they saw."""

    review_id: str
    task_id: str
    place: str | None
    effect_key: str | None
    reason: str
    """Stable code of why it waits, such as `effect.unknown` or `limit.recoveries`."""
    panel: str
    """JSON: `{"goal", "break_point", "reason", "recommendation", "options", ...}`."""
    args_digest: str
    status: str = "open"
    """`open`, `decided`, `used` or `expired`."""
    decision: str | None = None
    """`retry`, `skip`, `done`, `edit`, `rollback` or `abort`."""
    payload: str | None = None
    """Blob hash of what goes with the decision: the result or the edited arguments."""
    decided_by: str | None = None
    decided_ms: int | None = None
    expires_ms: int | None = None
    version: int = 0
    created_ms: int = 0


@dataclass(frozen=True, slots=True)
class CompensationRow:
    """One step of an undo; stored as a whole before the first one runs."""

    task_id: str
    ord: int
    effect_key: str
    tool: str
    args: str
    """Blob hash of the canonical arguments."""
    key: str
    """Own ledger key, so that an undo is dispatched at most once too."""
    status: EffectStatus = EffectStatus.PENDING
    attempt: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """Why recovery did what it did: every automatic choice can be read back."""

    task_id: str
    place: str | None
    failure_class: str
    risk: str
    work_done: float
    """Share of the planned or usual steps that were finished, 0 to 1."""
    action: str
    rule_id: str
    evidence: str = "{}"
    ts_ms: int = 0


@dataclass(frozen=True, slots=True)
class EventRow:
    """One line of a task's append-only history; the four checkpoints are events."""

    task_id: str
    seq: int
    fence: int
    ts_ms: int
    kind: str
    place: str | None
    body: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A process that may own tasks, and where its liveness lock is found."""

    worker_id: str
    host: str
    boot_id: str
    pid: int
    started_ms: int
    heartbeat_ms: int


@dataclass(frozen=True, slots=True)
class Lease:
    """Proof of ownership; every write carries it and is refused when the fence has moved on."""

    task_id: str
    owner: str
    fence: int
    lease_until_ms: int


@dataclass(frozen=True, slots=True)
class TaskState:
    """The whole picture of a task at one moment, read in one transaction."""

    task: TaskRow
    steps: tuple[StepRow, ...]
    """In the order of `ord`."""
    effects: tuple[EffectRow, ...]
    reviews: tuple[ReviewRow, ...]
    compensations: tuple[CompensationRow, ...]
    decisions: tuple[DecisionRow, ...]
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    """Bodies that the rows name, by hash; those of steps only when asked for."""
