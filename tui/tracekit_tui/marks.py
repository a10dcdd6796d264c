"""How a state, a time, an age, an amount looks: one statement for all screens. State shows by glyph and by ink."""

from __future__ import annotations

from datetime import UTC, datetime

from tracekit.clock import now_ns as clock_ns
from tracekit_tui.text import Ink, Run

_GLYPHS: dict[str, Run] = {
    "ok": ("✓", "ok"),
    "ok_but_failed": ("!", "error"),
    "done": ("✓", "ok"),
    "success": ("✓", "ok"),
    "error": ("✗", "error"),
    "failed": ("✗", "error"),
    "killed": ("☠", "error"),
    "left_behind": ("☠", "error"),
    "running": ("◐", "accent"),
    "queued": ("○", "dim"),
    "unknown": ("?", "warn"),
    "requires_review": ("!", "warn"),
    "decided": ("◔", "accent"),
    "waiting": ("?", "warn"),
    "rolling_back": ("↶", "warn"),
    "cancelled": ("⊘", "dim"),
    "skipped": ("⊘", "dim"),
    "abandoned": ("⊘", "dim"),
}


def glyph(status: str) -> Run:
    """The sign of a state and its ink."""
    return _GLYPHS.get(status, ("·", "dim"))


def run_state(status: str, code: str | None) -> str:
    """The state of a run by its *status* and the class of its verdict: one that ended well may have failed all the same."""
    return "ok_but_failed" if status == "ok" and code is not None else status


_WORDS = {
    "ok_but_failed": "ended well, and something in it was wrong",
    "pending": "no answer recorded",
    "executed_unknown": "outcome unknown",
    "ok": "ended well",
    "error": "ended with an error",
    "running": "still running",
    "killed": "left behind by a killed process",
    "left_behind": "left behind: its process has ended",
    "unknown": "how it ended is not in the log",
    "queued": "waits to be started",
    "requires_review": "waits for a person",
    "decided": "is answered, and waits for its worker",
    "waiting": "waits for a person",
    "rolling_back": "is being rolled back",
    "done": "done",
    "failed": "failed",
    "cancelled": "was given up",
}


def state_words(status: str) -> str:
    """The state of a task, a trace or an effect as a person says it."""
    return _WORDS.get(status, status.replace("_", " "))


def ink_of(status: str) -> Ink:
    """The ink in which the name of something in this state is written."""
    sign, ink = glyph(status)
    return "plain" if sign == "✓" else ink


def duration(ms: float | None) -> str:
    """`0.21s`, `34.2s`, `2m04s`, `3h12m`; `–` when unknown."""
    if ms is None:
        return "–"
    seconds = ms / 1000
    if seconds < 1:
        return f"{ms:.0f}ms" if ms >= 1 else f"{ms:.1f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m{int(seconds % 60):02d}s"
    return f"{int(seconds // 3600)}h{int(seconds % 3600 // 60):02d}m"


def clock_now() -> datetime:
    """Now, by the clock that tests can set."""
    return datetime.fromtimestamp(clock_ns() / 1e9, UTC)


def age(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago *moment* was, in one unit: `9s`, `2m`, `1h`, `12d`."""
    if moment is None:
        return "–"
    return span(((now or clock_now()) - moment).total_seconds() * 1000)


def span(ms: float) -> str:
    """A time in one unit: `9s`, `2m`, `1h`, `12d`."""
    seconds = max(0.0, ms / 1000)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def money(amount: float | None) -> str:
    """`$0.41`; `–` when unknown. Small amounts keep their digits."""
    if amount is None:
        return "–"
    return f"${amount:.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"


def moment(when: datetime | None) -> str:
    """`2026-11-30 08:21:03.112Z`; UTC everywhere."""
    if when is None:
        return "–"
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03d}Z"


def clock(when: datetime | None) -> str:
    """`08:21:03.112`, UTC."""
    return "–" if when is None else f"{when.astimezone(UTC):%H:%M:%S}.{when.microsecond // 1000:03d}"


def shown(count: int, total: int, unfiltered: int | None = None) -> str:
    """`100 of 212 shown`, with the number before filtering where they differ."""
    text = f"{count:,} of {total:,} shown"
    return text if unfiltered is None or unfiltered == total else f"{text} · {unfiltered:,} unfiltered"


def confidence(share: float | None) -> str:
    """`high`, `medium` or `low`, with its number."""
    if share is None:
        return "–"
    word = "high" if share >= 0.85 else "medium" if share >= 0.6 else "low"
    return f"{word} ({share:.2f})"


def counted(count: int, word: str) -> str:
    """`1 trace`, `4,310 traces`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def megabytes(count: int) -> str:
    """Bytes as `312 MB`, or with one decimal below ten."""
    size = count / 1_000_000
    return f"{size:.0f}" if size >= 10 else f"{size:.1f}"
