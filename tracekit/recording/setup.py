"""`tracekit.init`: record from here on, beside whatever OpenTelemetry set-up is there already."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import signal
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from tracekit import config
from tracekit.config import Settings
from tracekit.recording import recorder as recording
from tracekit.recording.log import StepLog
from tracekit.recording.processor import ForeignSpans
from tracekit.recording.spans import Spans, scope_tracer
from tracekit.redaction import Redactor

_lock = threading.RLock()
_in_force: Settings | None = None
_at_exit_registered = False
_foreign_spans = ForeignSpans()
_joined: weakref.WeakSet[trace.TracerProvider] = weakref.WeakSet()
_made: TracerProvider | None = None


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
    exporter, sampler or instrumentation works beside it; a provider that is set later takes the place of that one.

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
        now = config.configure(service=service, home=_settled(home), store_url=store, **options)
        if now == _in_force and tracer_provider is None:
            return now
        if _in_force is not None:
            recording.recorder().log.close()
        provider = tracer_provider or _provider(now)
        _join(provider)
        log = StepLog(now, to_file=True, redact=_redactor(now))
        recording.install(recording.Recorder(log, Spans(scope_tracer(provider))))
        _in_force = now
        if not _at_exit_registered:
            atexit.register(_at_exit)
            _at_exit_registered = True
        return now


def _settled(home: str | Path | None) -> Path:
    """The home as an absolute path: when the agent changes its folder, its log, key and tasks stay where they are."""
    given = config.settings().home if home is None else home
    if not isinstance(given, str | os.PathLike):
        return given  # told by `configure`
    try:
        return Path(given).absolute()
    except OSError:  # the folder that the process is in was deleted
        return Path(given)


def shutdown() -> None:
    """Write the clean-exit line and go back to the state before `init`; for tests and long-lived hosts."""
    global _in_force
    with _lock:
        if _in_force is not None:
            recording.recorder().log.close()
        recording.install(None)
        _in_force = None


def _join(provider: trace.TracerProvider) -> None:
    """Add our span processor to *provider*, once; a provider that takes none simply has no foreign steps."""
    add = getattr(provider, "add_span_processor", None)
    if add is not None and provider not in _joined:
        _joined.add(provider)
        add(_foreign_spans)


def _redactor(options: Settings) -> Redactor | None:
    return Redactor(options.harmless_keys, options.secret_keys) if options.redact else None


def _provider(options: Settings) -> trace.TracerProvider:
    """The provider that is there, else a new one that becomes the global one."""
    global _made
    there = trace.get_tracer_provider()
    if not isinstance(there, trace.ProxyTracerProvider):
        return there
    made = TracerProvider(resource=Resource.create({"service.name": options.service}), shutdown_on_exit=False)
    trace.set_tracer_provider(made)
    _made = made
    _give_way()
    return made


def _give_way() -> None:
    """
    Let an application that sets a provider later have its way, and follow it there.

    OpenTelemetry takes the first provider for good: it would refuse that one, and its exporters would get nothing.
    """
    once = getattr(trace, "_TRACER_PROVIDER_SET_ONCE", None)
    if once is None:
        return  # an OpenTelemetry of another build: the order of calls matters there
    trace._TRACER_PROVIDER_SET_ONCE = type(once)()
    original = trace.set_tracer_provider

    @functools.wraps(original)
    def set_tracer_provider(tracer_provider: trace.TracerProvider) -> None:
        original(tracer_provider)
        _follow(tracer_provider)

    trace.set_tracer_provider = set_tracer_provider


def _follow(provider: trace.TracerProvider) -> None:
    """Record through *provider* from here on, if it is the one in force now."""
    with _lock:
        if _in_force is not None and trace.get_tracer_provider() is provider:
            _join(provider)
            recording.recorder().spans = Spans(scope_tracer(provider))


def _at_exit() -> None:
    log = recording.recorder().log
    try:
        log.close()
        if _made is not None:
            _shut_down(_made, log.options.exit_budget_s)
    except Exception as problem:
        # the exit code belongs to the agent
        log.trouble(problem)


def _shut_down(provider: TracerProvider, budget_s: float) -> None:
    """Let the exporters on our own provider send what they hold, but no longer than the budget."""
    worker = threading.Thread(target=provider.shutdown, name="tracekit-exit", daemon=True)
    try:
        worker.start()
    except RuntimeError:
        # Python 3.12 starts no thread this late.
        _interrupted(provider.shutdown, budget_s)
        return
    worker.join(budget_s)


class _OverBudget(BaseException):
    """Not an `Exception`, which an exporter's own loop would take for a failed batch and go on."""


def _interrupted(work: Callable[[], object], budget_s: float) -> None:
    """Run *work* in this thread, which is the main one at exit, until it is done or the budget is over."""

    def end(*_: object) -> None:
        raise _OverBudget

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(budget_s, 0.001))
    with contextlib.suppress(_OverBudget):
        try:
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
