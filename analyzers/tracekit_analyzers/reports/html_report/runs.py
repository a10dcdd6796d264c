"""One run of the report: a line that says what failed, and folded below it everything that shows why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.model import RetryAdvice
from tracekit_analyzers.model import Diagnosis, Evidence, TraceVerdict
from tracekit_analyzers.reports.html_report import waterfall
from tracekit_analyzers.reports.html_report.words import block, esc, moment, shortened
from tracekit_analyzers.reports.result import primary, without_verdict
from tracekit_analyzers.reports.steps import DrawnStep, StepTexts
from tracekit_analyzers.reports.text import kept, plural, took

GLYPHS = {"error": "✗", "killed": "✗", "running": "◐", "waiting": "?", "unknown": "?"}
_MOST_MESSAGE = 240
_MOST_FACTS = 12
_ADVICE = {
    RetryAdvice.BACKOFF: "worth trying again after a wait",
    RetryAdvice.REPROMPT: "ask the model again and show it the error",
    RetryAdvice.RESTORE: "go on from before the step that caused it",
    RetryAdvice.FIX_CODE: "the code between model and tool has to change first",
    RetryAdvice.NONE: "another try is worth nothing",
}
_MOST_OTHERS = 12
_MOST_SEQS = 6
_MOST_DIFFERENCES = 12
_GOT_OVER = ' <span class="tag">got over</span>'


@dataclass(frozen=True, slots=True)
class Shown:
    """What the report knows of the steps of one run."""

    drawn: Sequence[DrawnStep]
    texts: Mapping[tuple[str, str], StepTexts]


def line(trace: TraceVerdict, titles: Mapping[str, str]) -> str:
    """The cells of a run: how it ended, which it is, the class, what happened."""
    found = primary(trace)
    glyph = GLYPHS.get(trace.status, "!" if found else "?")
    facts = [plural(trace.steps, "step")]
    if trace.started_at is not None:
        facts = [moment(trace.started_at), *facts, took(trace.duration_ms)]
    what = shortened(found.message if found else without_verdict(trace), _MOST_MESSAGE)
    if found and trace.status == "waiting":
        what += f'<br><span class="dim">{shortened(without_verdict(trace), _MOST_MESSAGE)}</span>'
    return (
        f'<span class="bad" title="{esc(trace.status)}"><span aria-hidden="true">{glyph}</span></span>'
        f'<span class="who"><span class="strong">{shortened(trace.task_id or trace.name, 60)}</span> '
        f'<span class="dim mono">{esc(trace.trace_id[:8])}</span><br><span class="dim">{", ".join(facts)}</span></span>'
        f'<span class="code">{_class(found, titles) if found else esc(trace.status)}</span><span class="what">{what}</span>'
    )


def _class(found: Diagnosis, titles: Mapping[str, str]) -> str:
    cause = (
        ""
        if found.cause_step in (None, found.failed_step)
        else f', <span class="cause">caused by {found.cause_seq}</span>'
    )
    where = (
        ""
        if found.failed_seq is None
        else f'<br><span class="dim">failed at step {found.failed_seq}{cause}</span>'
    )
    return f'<code class="strong" title="{esc(titles.get(found.code, ""))}">{esc(found.code)}</code>{where}'


def folded(place: int, trace: TraceVerdict, shown: Shown, titles: Mapping[str, str]) -> str:
    """The run with everything that shows why it failed."""
    found = primary(trace)
    parts = [
        _verdict(found, titles) if found else "",
        f"<h3>Steps</h3>{waterfall.picture(trace, shown.drawn)}" if shown.drawn else "",
        _evidence(found.evidence) if found else "",
        _texts(trace, found, shown),
        _others(trace),
        _point(trace),
        _where(trace, found),
    ]
    return (
        f'<details class="run" id="run-{place}" data-code="{esc(found.code if found else trace.status)}">'
        f'<summary>{line(trace, titles)}</summary><div class="body">{"".join(parts)}</div></details>'
    )


def short(place: int, trace: TraceVerdict, titles: Mapping[str, str]) -> str:
    """The run as its line alone."""
    found = primary(trace)
    return f'<div class="row" id="run-{place}" data-code="{esc(found.code if found else trace.status)}">{line(trace, titles)}</div>'


def _verdict(found: Diagnosis, titles: Mapping[str, str]) -> str:
    title = titles.get(found.code)
    sure = f"sure {found.confidence:.2f}" if found.confidence else ""
    head = " · ".join(part for part in (esc(title) if title else "", sure, _ADVICE[found.retry]) if part)
    # The line above it holds a short message whole.
    whole = block(found.message, 2_000) if len(found.message) > _MOST_MESSAGE else ""
    return f'<p class="dim">{head}</p>{whole}'


def _evidence(evidence: Sequence[Evidence]) -> str:
    if not evidence:
        return ""
    rows = "".join(_fact(item) for item in evidence[:_MOST_FACTS])
    more = len(evidence) - _MOST_FACTS
    left = f'<p class="dim">{plural(more, "more fact")} in the JSON report.</p>' if more > 0 else ""
    return f'<h3>Evidence</h3><table class="facts"><tbody>{rows}</tbody></table>{left}'


def _fact(item: Evidence) -> str:
    seq = "" if item.seq is None else f"step {item.seq}"
    path = f" <code>{shortened(item.path, 200)}</code>" if item.path else ""
    value = block(item.value) if item.value else ""
    return f'<tr><td class="num dim">{seq}</td><td>{shortened(item.what, 400)}{path}{value}</td></tr>'


def _texts(trace: TraceVerdict, found: Diagnosis | None, shown: Shown) -> str:
    """What went into and came out of the failed step, and of the one that caused it."""
    if found is None:
        return ""
    steps = {found.failed_step: ("failed", found.failed_seq), found.cause_step: ("cause", found.cause_seq)}
    if found.failed_step == found.cause_step:
        steps = {found.failed_step: ("failed", found.failed_seq)}
    return "".join(
        _step(role, seq, shown.texts[trace.trace_id, step])
        for step, (role, seq) in steps.items()
        if step is not None and (trace.trace_id, step) in shown.texts
    )


def _step(role: str, seq: int | None, texts: StepTexts) -> str:
    differences = texts.differences
    title = "The step that failed" if role == "failed" else "The step that caused it"
    fields = [
        ("received", texts.received),
        # An error often repeats what was answered.
        ("answered", None if texts.output and texts.error and texts.output in texts.error else texts.output),
        ("error", texts.error),
    ]
    if texts.kind == "model":
        fields = [("wrote", texts.raw if texts.raw is not None else texts.output), ("error", texts.error)]
    elif differences or texts.received is None:
        fields.insert(0, ("the model wrote", texts.raw))
    rows = "".join(f"<dt>{name}</dt><dd>{block(value, 700)}</dd>" for name, value in fields if value)
    if not rows:
        return ""
    changed = "".join(
        f"<tr><td><code>{shortened(item.path, 120)}</code></td><td>{_value(item.left)}</td><td>{_value(item.right)}</td></tr>"
        for item in differences[:_MOST_DIFFERENCES]
    )
    table = (
        f'<p class="bad">What the tool received is not what the model wrote:</p><table class="facts"><thead><tr>'
        f'<th scope="col">where</th><th scope="col">written</th><th scope="col">received</th></tr></thead><tbody>{changed}</tbody></table>'
        if changed
        else ""
    )
    return f"<h3>{title}: {seq}</h3>{table}<dl>{rows}</dl>"


def _value(value: str | None) -> str:
    return '<span class="dim">nothing</span>' if value is None else f"<code>{shortened(value, 120)}</code>"


def _others(trace: TraceVerdict) -> str:
    """Findings besides the primary one, those in the same words in one row, those that the agent got over last."""
    alike: dict[tuple[bool, str, str], list[int]] = {}
    for place, found in enumerate(trace.diagnoses):
        if place != trace.primary:
            seqs = alike.setdefault((found.recovered, found.code, found.message), [])
            seqs += [found.failed_seq] if found.failed_seq is not None else []
    if not alike:
        return ""
    rows = "".join(_other(*key, seqs) for key, seqs in sorted(alike.items(), key=_by_recovery)[:_MOST_OTHERS])
    more = len(alike) - _MOST_OTHERS
    left = f'<p class="dim">{plural(more, "more finding")} in the JSON report.</p>' if more > 0 else ""
    return f'<h3>Also found</h3><div class="scroll"><table class="facts"><tbody>{rows}</tbody></table></div>{left}'


def _by_recovery(item: tuple[tuple[bool, str, str], list[int]]) -> tuple[bool, int]:
    return item[0][0], min(item[1], default=0)


def _other(recovered: bool, code: str, message: str, seqs: Sequence[int]) -> str:
    named = ", ".join(map(str, seqs[:_MOST_SEQS])) + (" …" if len(seqs) > _MOST_SEQS else "")
    where = f"step{'' if len(seqs) == 1 else 's'} {named}" if seqs else ""
    return (
        f'<tr><td class="dim">{where}</td><td><code class="name">{esc(code)}</code></td>'
        f"<td>{shortened(message, 200)}{_GOT_OVER if recovered else ''}</td></tr>"
    )


def _point(trace: TraceVerdict) -> str:
    point = trace.resumable
    if point is None:
        return ""
    why = "; ".join(f"step {item.seq}: {shortened(item.what, 160)}" for item in point.why_not_later[:3])
    risk = "nothing" if point.risk == "none" else f"{esc(point.risk)} risk"
    later = f'<br><span class="dim">Not later, because of {why}.</span>' if why else ""
    return (
        f'<p class="note point"><span class="strong">Can go on after step {point.seq}</span>: against starting again that keeps '
        f"{kept(point)}. What may have happened outside since then: {risk}.{later}</p>"
    )


def _where(trace: TraceVerdict, found: Diagnosis | None) -> str:
    file, line_number = trace.source.file, None
    if found is not None and found.source is not None:
        file, line_number = found.source.file, found.source.line
    place = f", line {line_number}" if line_number is not None else ""
    run = f", run {trace.source.trace_index}" if trace.source.trace_index else ""
    return (
        f'<p class="dim">In <code>{shortened(file, 200)}</code>{place}{run}. Look closer: '
        f"<code>tracekit show {esc(trace.trace_id[:32])} {shortened(trace.source.file, 200)}</code></p>"
    )
