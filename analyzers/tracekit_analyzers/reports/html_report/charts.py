"""Pictures as SVG whose lengths are shares of the room there is: bars in tables, and runs over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reports.html_report import words
from tracekit_analyzers.reports.result import is_failed
from tracekit_analyzers.reports.text import plural

_HEIGHT = 120
_MOST_BARS = 96
_STEPS = (
    ("minute", timedelta(minutes=1)),
    ("5 minutes", timedelta(minutes=5)),
    ("hour", timedelta(hours=1)),
    ("6 hours", timedelta(hours=6)),
    ("day", timedelta(days=1)),
    ("week", timedelta(days=7)),
    ("4 weeks", timedelta(days=28)),
    ("52 weeks", timedelta(days=364)),
    ("10 years", timedelta(days=3650)),
)
_START = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday, so that weeks begin on one."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Runs that began within one span of time."""

    began: datetime
    runs: int
    failed: int


def bar(value: float, most: float, kind: str = "bad") -> str:
    """A bar as long as *value* is of *most*; says nothing to a screen reader, the number stands beside it."""
    return (
        f'<svg width="100%" height="12" aria-hidden="true"><rect width="{100 * value / (most or 1):.1f}%" height="12" rx="2" '
        f'class="f-{kind}"/></svg>'
    )


def over_time(traces: Sequence[TraceVerdict]) -> tuple[str, list[Bucket]]:
    """Name of the span of a bucket, and all buckets from the first run to the last; none when no run tells its time."""
    times = [(trace.started_at, is_failed(trace)) for trace in traces if trace.started_at is not None]
    if not times:
        return "", []
    first, last = min(at for at, _ in times), max(at for at, _ in times)
    name, size = next((step for step in _STEPS if (last - first) / step[1] <= _MOST_BARS - 1), _STEPS[-1])
    runs: dict[int, list[int]] = {}
    for at, failed in times:
        counted = runs.setdefault((at - _START) // size, [0, 0])
        counted[0] += 1
        counted[1] += failed
    places = range(min(runs), max(runs) + 1)
    return name, [Bucket(_START + place * size, *runs.get(place, (0, 0))) for place in places]


def timeline(name: str, buckets: Sequence[Bucket]) -> str:
    """Runs in each bucket, the failed ones of them at the bottom in red."""
    most = max(bucket.runs for bucket in buckets)
    room = 100 / len(buckets)
    bars = "".join(_bucket(place * room, room, bucket, most) for place, bucket in enumerate(buckets))
    failed = sum(bucket.failed for bucket in buckets)
    runs = sum(bucket.runs for bucket in buckets)
    said = f"Runs for each {name}: {failed} of {runs} failed, at most {most} runs in one; the table below has the numbers."
    return (
        f'<svg width="100%" height="{_HEIGHT + 38}" role="img" aria-label="{escape(said)}">'
        f'<text x="0" y="11" class="t">{plural(most, "run")}</text>'
        f'<line x1="0" x2="100%" y1="16.5" y2="16.5" class="grid"/>'
        f'<line x1="0" x2="100%" y1="{_HEIGHT + 16.5}" y2="{_HEIGHT + 16.5}" class="grid"/>'
        f'<svg y="16" width="100%" height="{_HEIGHT}">{bars}</svg>{_axis(name, buckets)}</svg>'
    )


def _bucket(x: float, room: float, bucket: Bucket, most: int) -> str:
    if not bucket.runs:
        return ""
    whole, bad = _HEIGHT * bucket.runs / most, _HEIGHT * bucket.failed / most
    width = min(room * 0.84, 6.0)
    left = x + (room - width) / 2
    title = f"{words.moment(bucket.began)}: {bucket.failed} of {plural(bucket.runs, 'run')} failed"
    rects = (("ok", _HEIGHT - whole, whole - bad), ("bad", _HEIGHT - bad, bad))
    drawn = "".join(
        f'<rect x="{left:.2f}%" y="{y:.1f}" width="{width:.2f}%" height="{height:.1f}" class="f-{kind}"/>'
        for kind, y, height in rects
        if height > 0
    )
    return f"<g><title>{title}</title>{drawn}</g>"


def _axis(name: str, buckets: Sequence[Bucket]) -> str:
    small = "minute" in name or "hour" in name
    form = "%Y-%m-%d %H:%M" if small else "%Y-%m-%d"
    ends = [(0.0, "start", buckets[0].began)]
    if len(buckets) > 1:
        ends.append((100.0, "end", buckets[-1].began))
    return "".join(
        f'<text x="{x}%" y="{_HEIGHT + 32}" text-anchor="{anchor}" class="t">{at:{form}}</text>'
        for x, anchor, at in ends
    )
