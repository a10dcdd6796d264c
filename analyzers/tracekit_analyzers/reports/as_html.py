"""One HTML file that needs no network: sums, pictures, and every failed trace with its evidence."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import BinaryIO

from tracekit_analyzers.model import Diagnosis, TraceVerdict
from tracekit_analyzers.reports.result import Result, is_failed
from tracekit_analyzers.reports.text import visible

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}code,pre{font:13px/1.4 ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0;background:#f4f5f7;padding:.3rem .5rem;border-radius:4px}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .6rem .2rem 0;vertical-align:top}
details{border-top:1px solid #d9dde2;padding:.4rem 0}summary{cursor:pointer}.dim{color:#5d6670}
.bar{background:#c0392b;height:.8rem;border-radius:2px}.code{font-weight:600}.num{text-align:right}
@media(prefers-color-scheme:dark){body{color:#e4e7eb;background:#14171a}pre{background:#1f2429}.dim{color:#98a2ad}details{border-color:#333b44}}
"""

_HEAD = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>tracekit analysis</title><style>{_STYLE}</style></head><body>"""


def write(result: Result, out: BinaryIO) -> None:
    """The report."""
    parts = [
        _HEAD,
        "<h1>tracekit analysis</h1>",
        _sums(result),
        _bars(result),
        "<h2>Traces</h2>",
        *(_trace(trace) for trace in result.traces if is_failed(trace) or trace.diagnoses),
        _damage(result),
        "</body></html>\n",
    ]
    out.write("\n".join(parts).encode("utf-8", "replace"))


def _text(value: object) -> str:
    """*value* as text inside HTML, control codes made visible."""
    return escape(visible(str(value)))


def _sums(result: Result) -> str:
    _, _, recovered = result.counts()
    return (
        f"<p>{len(result.traces)} traces, {result.steps} steps. <b>{len(result.failed)} failed.</b> "
        f"{recovered} errors that the agent got over. {result.bad_count} bad pieces in {result.lines} lines.</p>"
    )


def _bars(result: Result) -> str:
    """How often each class was found, as bars."""
    counts = Counter(
        found.code for trace in result.traces for found in trace.diagnoses if not found.recovered
    )
    if not counts:
        return ""
    most = max(counts.values())
    rows = "".join(
        f"<tr><td><code>{_text(code)}</code></td><td class='num'>{count}</td>"
        f"<td style='width:60%'><div class='bar' style='width:{100 * count / most:.1f}%'></div></td></tr>"
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
    return f"<h2>What was found</h2><table>{rows}</table>"


def _trace(trace: TraceVerdict) -> str:
    head = f"{_text(trace.task_id or trace.name)} <code class='dim'>{_text(trace.trace_id)}</code>"
    found = trace.diagnoses[trace.primary] if trace.primary is not None else None
    code = f" <span class='code'>{_text(found.code)}</span> at step {found.failed_seq}" if found else ""
    body = "".join(_diagnosis(item, place == trace.primary) for place, item in enumerate(trace.diagnoses))
    where = (
        f"<p class='dim'>{_text(trace.source.file)}, run {trace.source.trace_index}, {trace.steps} steps</p>"
    )
    return f"<details><summary>{_text(trace.status)} · {head}{code}</summary>{where}{body}{_point(trace)}</details>"


def _diagnosis(found: Diagnosis, primary: bool) -> str:
    facts = "".join(
        f"<tr><td class='num dim'>{'' if item.seq is None else f'step {item.seq}'}</td><td>{_text(item.what)}"
        f"{f' <code>{_text(item.path)}</code>' if item.path else ''}"
        f"{f'<pre>{escape(item.value)}</pre>' if item.value else ''}</td></tr>"
        for item in found.evidence
    )
    marks = [name for name, holds in (("primary", primary), ("recovered", found.recovered)) if holds]
    cause = "" if found.cause_step == found.failed_step else f", caused by step {found.cause_seq}"
    return (
        f"<p><span class='code'>{_text(found.code)}</span> at step {found.failed_seq}{cause} "
        f"<span class='dim'>sure {found.confidence:.2f} {' '.join(marks)}</span><br>{_text(found.message)}</p>"
        f"<table>{facts}</table>"
    )


def _point(trace: TraceVerdict) -> str:
    point = trace.resumable
    if point is None:
        return ""
    return (
        f"<p>Can go on after step {point.seq}: keeps {point.kept_calls} calls, {point.kept_tokens} tokens, "
        f"{point.kept_seconds:.1f} s; risk outside: {_text(point.risk)}.</p>"
    )


def _damage(result: Result) -> str:
    if not result.bad:
        return ""
    rows = "".join(
        f"<tr><td>{_text(bad.file)}:{bad.line or ''}</td><td>{_text(bad.reason)}</td><td><code>{_text(bad.head)}</code></td></tr>"
        for bad in result.bad[:200]
    )
    return f"<h2>Damage</h2><table>{rows}</table>"
