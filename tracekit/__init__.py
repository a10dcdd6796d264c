"""
tracekit: record every step of an agent, say which one failed and why, go on without doing anything twice.

Names are resolved on first use, so that `import tracekit` stays about as light as OpenTelemetry itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tracekit.durable.api import plan, resume
    from tracekit.durable.run import Run
    from tracekit.durable.scope import task_scope
    from tracekit.durable.task import task
    from tracekit.durable.typed_run import AsyncRun, SyncRun
    from tracekit.errors import NotExecuted, OutcomeUnknown, Rejected, RequiresReview, TracekitError
    from tracekit.recording.carry import carry
    from tracekit.recording.observe import step
    from tracekit.recording.setup import init, shutdown
    from tracekit.tools import Retry, idempotency_key, tool

_HOMES = {
    "AsyncRun": "tracekit.durable.typed_run",
    "NotExecuted": "tracekit.errors",
    "OutcomeUnknown": "tracekit.errors",
    "Rejected": "tracekit.errors",
    "RequiresReview": "tracekit.errors",
    "Retry": "tracekit.tools",
    "Run": "tracekit.durable.run",
    "SyncRun": "tracekit.durable.typed_run",
    "TracekitError": "tracekit.errors",
    "carry": "tracekit.recording.carry",
    "idempotency_key": "tracekit.tools",
    "init": "tracekit.recording.setup",
    "plan": "tracekit.durable.api",
    "resume": "tracekit.durable.api",
    "shutdown": "tracekit.recording.setup",
    "step": "tracekit.recording.observe",
    "task": "tracekit.durable.task",
    "task_scope": "tracekit.durable.scope",
    "tool": "tracekit.tools",
}

__all__ = [  # noqa: RUF022  sorted as the table above, version last
    "AsyncRun",
    "NotExecuted",
    "OutcomeUnknown",
    "Rejected",
    "RequiresReview",
    "Retry",
    "Run",
    "SyncRun",
    "TracekitError",
    "carry",
    "idempotency_key",
    "init",
    "plan",
    "resume",
    "shutdown",
    "step",
    "task",
    "task_scope",
    "tool",
    "__version__",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tracekit' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
