"""JUnit XML: a trace is a test case, so that a build server shows which runs failed and why."""

from __future__ import annotations

import re
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

from tracekit_analyzers.model import Diagnosis, TraceVerdict
from tracekit_analyzers.reports.result import Result, is_failed, primary, without_verdict
from tracekit_analyzers.reports.text import told_path

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(result: Result, out: BinaryIO) -> None:
    """One test suite; damage is a test case of its own that fails when there is any."""
    cases = [_case(trace) for trace in result.traces]
    failures = len(result.failed)
    if result.bad_count:
        told = "\n".join(f"{bad.file}:{bad.line}: {bad.reason}" for bad in result.bad[:50])
        cases.append(
            f'  <testcase classname="tracekit" name="log is whole" time="0">{_failure("damage", told)}</testcase>'
        )
        failures += 1
    skipped = len(result.waiting)
    took_ms = sum(trace.duration_ms or 0 for trace in result.traces)
    head = (
        f'<testsuite name="tracekit analyze" tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
        f" {_time(took_ms)}>"
    )
    text = "\n".join(('<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>", ""))
    out.write(text.encode("utf-8"))


def _case(trace: TraceVerdict) -> str:
    name = quoteattr(_clean(f"{trace.task_id or trace.name} [{trace.trace_id}]"))
    place = quoteattr(_clean(trace.source.file))
    body = ""
    if is_failed(trace):
        found = primary(trace)
        body = _failure(trace.status, without_verdict(trace)) if found is None else _told(trace, found)
    elif trace.status == "waiting":
        body = f"<skipped message={quoteattr(_clean(without_verdict(trace)))}/>"
    return f"  <testcase classname={place} name={name} {_time(trace.duration_ms or 0)}>{body}</testcase>"


def _time(ms: float) -> str:
    return f'time="{ms / 1000:.3f}"'


def _told(trace: TraceVerdict, found: Diagnosis) -> str:
    """The verdict with its evidence, and how to look closer: who reads it sees a build server, and not the log."""
    cause = "" if found.cause_step in (None, found.failed_step) else f", caused by step {found.cause_seq}"
    lines = [found.message, f"failed at step {found.failed_seq}{cause}"]
    for item in found.evidence:
        where = "" if item.seq is None else f"step {item.seq}: "
        lines.append(f"{where}{item.what} {item.value or ''}".rstrip())
    lines += [f"look closer: tracekit show {trace.trace_id} {told_path(trace.source.file)}"]
    return _failure(found.code, "\n".join(lines))


def _failure(kind: str, told: str) -> str:
    first = told.partition("\n")[0]
    return f"<failure type={quoteattr(_clean(kind))} message={quoteattr(_clean(first))}>{escape(_clean(told))}</failure>"


def _clean(text: str) -> str:
    """*text* with what XML can't hold made visible."""
    return _NOT_XML.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
