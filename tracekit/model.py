"""
The words of tracekit as frozen values; imports nothing of ours.

A *task* is what a user waits for; an *attempt* is one go at it by one process; a *step* is one model call,
tool call or named piece of work; an *effect* is a tool call that may change the outside world; a
*checkpoint* is the committed state at one of four points of a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

LOG_SCHEMA = "tracekit.log/1"
"""Version of the JSON Lines log; stands in every `process` line."""

ANALYSIS_SCHEMA = "tracekit.analysis/1"
"""Version of the JSON that `tracekit analyze --format json` prints."""


class StepKind(StrEnum):
    """What a step is; decides which OpenTelemetry operation names its span."""

    TASK = "task"
    AGENT = "agent"
    MODEL = "model"
    TOOL = "tool"
    STEP = "step"
    RETRY = "retry"


class StepStatus(StrEnum):
    """How a step stands; `running` in the last line of a step means that nobody saw it end."""

    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    UNKNOWN = "unknown"
    """It was sent and no answer came: it may have happened."""
    SKIPPED = "skipped"
    ABANDONED = "abandoned"
    """Its reader left before the end, as when a stream is closed early."""


class EffectRisk(StrEnum):
    """What a tool may do to the outside world, as declared by `@tracekit.tool(effect=...)`."""

    READ = "read"
    WRITE = "write"
    NOTIFY = "notify"
    PAYMENT = "payment"
    IRREVERSIBLE = "irreversible"


class EffectStatus(StrEnum):
    """State of one ledger row."""

    PENDING = "pending"
    """Booked, and its owner is still alive: the request may be on its way."""
    SUCCESS = "success"
    FAILED = "failed"
    """Proved not executed: refused, rejected or never sent."""
    EXECUTED_UNKNOWN = "executed_unknown"
    """No answer came, or the owner died while it was pending. Never retried by itself."""
    COMPENSATED = "compensated"
    SKIPPED = "skipped"


class Dispatch(StrEnum):
    """What became of one request: the four outcomes that recovery tells apart."""

    ANSWERED = "answered"
    REJECTED = "rejected"
    """Answered with an error: the service says that it did not do it."""
    NOT_SENT = "not_sent"
    NO_ANSWER = "no_answer"


class TaskStatus(StrEnum):
    """State of a task; `docs/recovery.md` draws the transitions."""

    QUEUED = "queued"
    RUNNING = "running"
    REQUIRES_REVIEW = "requires_review"
    ROLLING_BACK = "rolling_back"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether no process will touch the task again by itself."""
        return self in (TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED)


class RetryAdvice(StrEnum):
    """What another go at a failed step is worth; the `retry` field of a diagnosis."""

    BACKOFF = "backoff"
    """Worth trying again after a wait: nothing about the request was wrong."""
    REPROMPT = "reprompt"
    """Only a second inference that sees the error can help; counted apart from retries."""
    RESTORE = "restore"
    """Go back to the step that caused it; trying the failing step again changes nothing."""
    FIX_CODE = "fix_code"
    """The code between model and tool, or the tool itself, has to change first."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one step, summed over every billed attempt."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """In the currency of the user's price list; US dollars where the provider names none."""


@dataclass(frozen=True, slots=True)
class ContextRef:
    """The exact messages that a model call was sent, named by their digest."""

    digest: str
    """Digest over the hashes of all messages in order."""
    count: int
    base: str | None
    """Digest of an earlier context of the same file from which the first `keep` messages are taken."""
    keep: int
    hashes: tuple[str, ...]
    """Hashes of the messages that follow the first `keep` of `base`; all of them when `base` is null."""
    complete: bool = True
    """False when messages are known to be missing: never a guess."""
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that the model asked for."""

    call_id: str
    name: str
    arguments_raw: str
    """The model's exact text, before any parsing."""
