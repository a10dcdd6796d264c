"""`tracekit.init`: record from here on, beside whatever OpenTelemetry set-up is there already."""

from __future__ import annotations

import atexit
import threading
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from tracekit import config
from tracekit.config import Settings
from tracekit.recording import recorder as recording
from tracekit.recording.log import StepLog
from tracekit.recording.spans import Spans, scope_tracer
from tracekit.redaction import Redactor
from tracekit.snapshot import Redact

_lock = threading.RLock()
_in_force: Settings | None = None
_at_exit_registered = False


def init(
    *,
    service: str | None = None,
    home: str | Path | None = None,
    store: str | None = None,
    tracer_provider: trace.TracerProvider | None = None,
    **options: Any,
) -> Settings:
    """
    Start recording into `HOME/traces/` and return the settings in force; a second call with the same does nothing.

    Joins the TracerProvider that is there (or *tracer_provider*) and makes one only where there is none, so any
    exporter, sampler or instrumentation works beside it.

    Args:
        service: Names the agent in the log; default is the name of the program.
        home: Folder of logs, blobs, key and default store; default `.tracekit`, or `TRACEKIT_HOME`.
        store: Where tasks are kept: `sqlite:PATH`, `postgresql://...`, `memory:NAME`; default `HOME/state.db`.
        options: Any other field of `tracekit.config.Settings`, such as `content_on_spans=True`.

    Raises:
        TracekitError: an option is unknown, or its value can't be used.
    """
    global _in_force, _at_exit_registered
    with _lock:
        now = config.configure(service=service, home=home, store_url=store, **options)
        if now == _in_force and tracer_provider is None:
            return now
        if _in_force is not None:
            recording.recorder().log.close()
        provider = tracer_provider or _provider(now)
        log = StepLog(now, to_file=True, redact=_redactor(now))
        recording.install(recording.Recorder(log, Spans(scope_tracer(provider))))
        _in_force = now
        if not _at_exit_registered:
            atexit.register(_at_exit)
            _at_exit_registered = True
        return now


def shutdown() -> None:
    """Write the clean-exit line and go back to the state before `init`; for tests and long-lived hosts."""
    global _in_force
    with _lock:
        if _in_force is not None:
            recording.recorder().log.close()
        recording.install(None)
        _in_force = None


def _redactor(options: Settings) -> Redact | None:
    return Redactor(options.harmless_keys, options.secret_keys) if options.redact else None


def _provider(options: Settings) -> trace.TracerProvider:
    """The provider that is there, else a new one that becomes the global one."""
    there = trace.get_tracer_provider()
    if not isinstance(there, trace.ProxyTracerProvider):
        return there
    made = TracerProvider(resource=Resource.create({"service.name": options.service}), shutdown_on_exit=False)
    trace.set_tracer_provider(made)
    return made


def _at_exit() -> None:
    try:
        recording.recorder().log.close()
    except Exception as problem:
        # the exit code belongs to the agent
        recording.recorder().log.trouble(problem)
