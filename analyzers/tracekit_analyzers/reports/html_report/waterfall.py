"""The steps of one run as bars over time, with the step that failed and the one that caused it marked in words and colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reports.html_report import words
from tracekit_analyzers.reports.result import primary
from tracekit_analyzers.reports.steps import DrawnStep
from tracekit_analyzers.reports.text import plural, took, visible

_ROW = 19
_NAMES = 38
"""Share of the width that the names of the steps take."""
_GLYPHS = {"error": "✗", "running": "◐", "unknown": "?", "skipped": "⊘", "abandoned": "⊘"}
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """How times become shares of the width."""

    first_us: int
    last_us: int

    def x(self, at_us: int) -> float:
        """Share of the width at *at_us*, within 0 to 100."""
        span = self.last_us - self.first_us
        return min(100.0, max(0.0, 100 * (at_us - self.first_us) / span)) if span > 0 else 0.0


def scale(steps: Sequence[DrawnStep]) -> Scale | None:
    """The span of *steps*, wrappers left aside; None when less than half of them tell a time, or all the same one."""
    parents = {step.parent_step_id for step in steps}
    inner = [step for step in steps if step.step_id not in parents] or list(steps)
    begun = [step.started_us for step in inner if step.started_us is not None]
    if len(begun) * 2 < len(inner):
        return None
    ends = [_end(step) for step in inner if step.started_us is not None]
    found = Scale(min(begun), max(ends))
    return found if found.last_us > found.first_us else None


def _end(step: DrawnStep) -> int:
    return (step.started_us or 0) + round(1000 * (step.duration_ms or 0.0))


def _is_open(step: DrawnStep) -> bool:
    """Whether nobody saw it end: it is drawn to where the log ends."""
    return step.status == "running" and step.duration_ms is None


def picture(trace: TraceVerdict, steps: Sequence[DrawnStep]) -> str:
    """The waterfall of *trace*; empty without steps."""
    if not steps:
        return ""
    found = primary(trace)
    failed = found.failed_step if found else None
    cause = found.cause_step if found and found.cause_step != failed else None
    spans = scale(steps)
    depths = _depths(steps)
    names, bars, gaps, before = [], [], 0, 0
    for place, step in enumerate(steps):
        if step.seq > before + 1:
            names.append(_gap(place + gaps, step.seq - before - 1))
            gaps += 1
        before = step.seq
        mark = "bad" if step.step_id == failed else "cause" if step.step_id == cause else ""
        names.append(_name(place + gaps, step, depths[step.step_id], mark))
        bars.append(_bar(place + gaps, step, mark, spans, place / len(steps), len(steps)))
    height = _ROW * (len(steps) + gaps)
    backs = "".join(
        f'<rect y="{row * _ROW}" width="100%" height="{_ROW}" class="f-row"/>'
        for row in range(1, len(steps) + gaps, 2)
    )
    shown = "" if len(steps) == trace.steps else f"{len(steps)} of {trace.steps:,} steps drawn. "
    return (
        f'<svg width="100%" height="{height + 18}" role="img" aria-label="{escape(_said(trace, failed, cause, steps))}">'
        f'{backs}<svg width="{_NAMES}%" height="{height}">{"".join(names)}</svg>'
        f'<svg x="{_NAMES + 1}%" width="{99 - _NAMES}%" height="{height + 18}">{_grid(height, spans)}{"".join(bars)}</svg></svg>'
        f'<p class="dim">{shown}{"" if spans else "The log tells no times: steps in their order."}</p>'
    )


def _said(trace: TraceVerdict, failed: str | None, cause: str | None, steps: Sequence[DrawnStep]) -> str:
    by_id = {step.step_id: step for step in steps}
    said = f"Waterfall of {len(steps)} of {plural(trace.steps, 'step')}."
    if failed in by_id:
        said += f" Step {by_id[failed].seq}, {visible(by_id[failed].name)[:60]}, failed."
    if cause in by_id:
        said += f" Step {by_id[cause].seq}, {visible(by_id[cause].name)[:60]}, caused it."
    return said


def _depths(steps: Sequence[DrawnStep]) -> dict[str, int]:
    """How deep each step stands below those that are drawn; a parent begins before its children."""
    depths: dict[str, int] = {}
    for step in steps:
        above = depths.get(step.parent_step_id or "")
        depths[step.step_id] = 0 if above is None else min(_DEEPEST, above + 1)
    return depths


def _name(row: int, step: DrawnStep, depth: int, mark: str) -> str:
    glyph = {"bad": "✗ ", "cause": "◆ "}.get(mark) or (
        f"{_GLYPHS[step.status]} " if step.status in _GLYPHS else ""
    )
    title = f"{step.seq} {step.kind} {step.name}: {step.status}, {took(step.duration_ms)}"
    kind = f' class="x-{mark}"' if mark else ""
    return (
        f"<g><title>{words.shortened(title, 200)}</title>"
        f'<text x="{2 + 9 * depth}" y="{row * _ROW + 14}"{kind}>{step.seq} {glyph}{words.shortened(step.name, 60)}</text></g>'
    )


def _gap(row: int, left_out: int) -> str:
    return f'<text x="2" y="{row * _ROW + 14}" class="t">⋯ {plural(left_out, "step")} not drawn</text>'


def _bar(row: int, step: DrawnStep, mark: str, spans: Scale | None, order: float, count: int) -> str:
    if spans is None:
        left, right = 100 * order, 100 * order + 100 / count
    elif step.started_us is None:
        return ""
    else:
        left, right = spans.x(step.started_us), 100.0 if _is_open(step) else spans.x(_end(step))
    kind = mark or (step.kind if step.kind in ("model", "tool") else "other")
    top = row * _ROW + 4
    # At least as wide as a hair, so that a quick step is seen.
    rect = f'<rect x="{min(left, 99.5):.2f}%" y="{top}" width="{max(right - left, 0.5):.2f}%" height="11" rx="2" class="f-{kind}{" open" if _is_open(step) else ""}"/>'
    if spans is None or not step.duration_ms:
        return rect
    at, anchor, away = (right, "start", 5) if right < 82 else (left, "end", -5)
    if right >= 82 and left < 18:
        # It fills its row: the name tells the time of it.
        return rect
    return f'{rect}<text x="{at:.2f}%" y="{top + 10}" dx="{away}" text-anchor="{anchor}" class="t">{took(step.duration_ms)}</text>'


def _grid(height: int, spans: Scale | None) -> str:
    lines = "".join(
        f'<line x1="{x}%" x2="{x}%" y1="0" y2="{height}" class="grid"/>' for x in (0, 25, 50, 75, 100)
    )
    if spans is None:
        return lines
    total = (spans.last_us - spans.first_us) / 1000
    return (
        f'{lines}<text x="0" y="{height + 13}" class="t">0</text><text x="50%" y="{height + 13}" text-anchor="middle" class="t">'
        f'{took(total / 2)}</text><text x="100%" y="{height + 13}" text-anchor="end" class="t">{took(total)}</text>'
    )
