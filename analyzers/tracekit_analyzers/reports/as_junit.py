"""JUnit XML: a trace is a test case, so that a build server shows which runs failed and why."""

from __future__ import annotations

import re
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reports.result import Result, is_failed, primary

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(result: Result, out: BinaryIO) -> None:
    """One test suite; damage is a test case of its own that fails when there is any."""
    cases = [_case(trace) for trace in result.traces]
    failures = len(result.failed)
    if result.bad_count:
        told = "\n".join(f"{bad.file}:{bad.line}: {bad.reason}" for bad in result.bad[:50])
        cases.append(
            f'  <testcase classname="tracekit" name="log is whole">{_failure("damage", told)}</testcase>'
        )
        failures += 1
    skipped = len(result.waiting)
    head = (
        f'<testsuite name="tracekit analyze" tests="{len(cases)}" failures="{failures}" skipped="{skipped}">'
    )
    text = "\n".join(('<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>", ""))
    out.write(text.encode("utf-8"))


def _case(trace: TraceVerdict) -> str:
    name = quoteattr(_clean(f"{trace.task_id or trace.name} [{trace.trace_id}]"))
    place = quoteattr(_clean(trace.source.file))
    body = ""
    if is_failed(trace):
        found = primary(trace)
        kind, message = (found.code, found.message) if found else (trace.status, "no verdict")
        facts = (
            "\n".join(f"step {item.seq}: {item.what} {item.value or ''}" for item in found.evidence)
            if found
            else ""
        )
        body = _failure(kind, f"{message}\n{facts}")
    elif trace.status == "waiting":
        told = f"waits for a person at {trace.question}"
        body = f"<skipped message={quoteattr(_clean(told))}/>"
    return f"  <testcase classname={place} name={name}>{body}</testcase>"


def _failure(kind: str, told: str) -> str:
    first = told.partition("\n")[0]
    return f"<failure type={quoteattr(_clean(kind))} message={quoteattr(_clean(first))}>{escape(_clean(told))}</failure>"


def _clean(text: str) -> str:
    """*text* with what XML can't hold made visible."""
    return _NOT_XML.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
