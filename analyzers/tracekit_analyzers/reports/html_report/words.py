"""Values as a person reads them, and every text of a log as text inside HTML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

from tracekit_analyzers.reports.text import cut, visible


def esc(value: object) -> str:
    """*value* as text inside HTML, on one line, control and direction codes made visible."""
    return escape(visible(str(value)))


def shortened(value: object, columns: int) -> str:
    """The same in at most *columns*."""
    return escape(cut(visible(str(value)[: 4 * columns]), columns))


def block(value: str, most: int = 500) -> str:
    """A `<pre>` of at most *most* characters of *value*; says how many were left out."""
    lines = "\n".join(visible(line) for line in value[:most].splitlines())
    more = f" … {len(value) - most} more characters" if len(value) > most else ""
    return f"<pre>{escape(lines)}{more}</pre>"


def number(value: int) -> str:
    """*value* with commas between thousands."""
    return f"{value:,}"


def money(value: float) -> str:
    """A cost, in the currency of the log."""
    return f"{value:,.2f}" if value >= 1 else f"{value:.4f}"


def moment(at: datetime | None, *, seconds: bool = False) -> str:
    """A time in UTC to the minute or the second; a dash for none."""
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M:%S}" if seconds else f"{at:%Y-%m-%d %H:%M}"


def share(part: float, whole: float) -> str:
    """*part* of *whole* in per cent."""
    return f"{100 * part / whole:.1f}\N{NO-BREAK SPACE}%" if whole else "–"


def table(heads: Sequence[tuple[str, str]], rows: Sequence[str], *, caption: str, kind: str = "") -> str:
    """A table that scrolls sideways by itself; *heads* are name and CSS class, *rows* are made already."""
    cells = "".join(
        f'<th scope="col"{f" class={style!r}" if style else ""}>{name}</th>' for name, style in heads
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="{kind}"><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
