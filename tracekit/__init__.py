"""
tracekit: record every step of an agent, say which one failed and why, go on without doing anything twice.

Names are resolved on first use, so that `import tracekit` stays about as light as OpenTelemetry itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tracekit.durable.api import decide, pending_reviews, plan, resume, resume_async
    from tracekit.durable.declare import task
    from tracekit.durable.plan import Plan
    from tracekit.durable.reply import Reply
    from tracekit.durable.run import Run
    from tracekit.durable.scope import task_scope
    from tracekit.durable.task import Task
    from tracekit.durable.typed_run import AsyncRun, SyncRun
    from tracekit.errors import NotExecuted, OutcomeUnknown, Rejected, RequiresReview, TracekitError
    from tracekit.policy import Retry
    from tracekit.recording.carry import carry
    from tracekit.recording.observe import step
    from tracekit.recording.setup import init, shutdown
    from tracekit.tools import Tool, idempotency_key, tool
else:
    from tracekit.lazy import lazily

    __getattr__, __dir__ = lazily(
        __name__,
        {
            "AsyncRun": "tracekit.durable.typed_run",
            "NotExecuted": "tracekit.errors",
            "OutcomeUnknown": "tracekit.errors",
            "Plan": "tracekit.durable.plan",
            "Rejected": "tracekit.errors",
            "Reply": "tracekit.durable.reply",
            "RequiresReview": "tracekit.errors",
            "Retry": "tracekit.policy",
            "Run": "tracekit.durable.run",
            "SyncRun": "tracekit.durable.typed_run",
            "Task": "tracekit.durable.task",
            "Tool": "tracekit.tools",
            "TracekitError": "tracekit.errors",
            "carry": "tracekit.recording.carry",
            "decide": "tracekit.durable.api",
            "idempotency_key": "tracekit.tools",
            "init": "tracekit.recording.setup",
            "pending_reviews": "tracekit.durable.api",
            "plan": "tracekit.durable.api",
            "resume": "tracekit.durable.api",
            "resume_async": "tracekit.durable.api",
            "shutdown": "tracekit.recording.setup",
            "step": "tracekit.recording.observe",
            "task": "tracekit.durable.declare",
            "task_scope": "tracekit.durable.scope",
            "tool": "tracekit.tools",
        },
    )

__all__ = [  # noqa: RUF022  sorted as the table above, version last
    "AsyncRun",
    "NotExecuted",
    "OutcomeUnknown",
    "Plan",
    "Rejected",
    "Reply",
    "RequiresReview",
    "Retry",
    "Run",
    "SyncRun",
    "Task",
    "Tool",
    "TracekitError",
    "carry",
    "decide",
    "idempotency_key",
    "init",
    "pending_reviews",
    "plan",
    "resume",
    "resume_async",
    "shutdown",
    "step",
    "task",
    "task_scope",
    "tool",
    "__version__",
]
