"""One HTML file that needs no network, no script and no other file: what failed, what is alike, and for each run why."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reports.html_report import overview, runs
from tracekit_analyzers.reports.html_report.words import esc, moment, share
from tracekit_analyzers.reports.result import Result, primary
from tracekit_analyzers.reports.text import plural
from tracekit_analyzers.verdicts.judging import RULE

MOST_LISTED = 5_000
"""Failed runs that are listed at all."""
MOST_BYTES = 4_000_000
"""What the runs shown in full may take together; at least one of each group of like failures is among them."""
_AT_ONCE = 50
_COLOURS = (
    ("model", "model call"),
    ("tool", "tool call"),
    ("other", "other step"),
    ("bad", "✗ failed"),
    ("cause", "◆ caused it"),
)


def write(result: Result, out: BinaryIO) -> None:
    """The report; the same result gives the same bytes."""
    titles = class_titles()
    made = result.groups()
    listed = (*result.failed, *result.waiting)[:MOST_LISTED]
    places = {trace.trace_id: place for place, trace in enumerate(listed)}
    full = _in_full(result, listed, places, [group.example for group in made], titles)
    parts = [
        *_head(result),
        '<main id="main">',
        overview.cards(result),
        overview.groups(made, places),
        overview.over_time(result),
        f'<div class="two">{overview.by_class(result, titles)}{overview.by_tool(result)}</div>',
        *_list(result, listed, full, titles),
        overview.damage(result),
        f"</main><script>{_beside('page.js')}</script></body></html>",
    ]
    for part in parts:
        out.write(part.encode("utf-8", "replace") + b"\n")


def class_titles() -> Mapping[str, str]:
    """Code of each failure class to its name for people."""
    from tracekit_analyzers.failures import classes

    return {kind.code: kind.title for kind in classes()}


@cache
def _beside(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def _head(result: Result) -> Iterator[str]:
    """Up to the headline; the policy lets in this style and this script and nothing else whatever a log holds."""
    style, script = _beside("page.css"), _beside("page.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    failed, total = len(result.failed), len(result.traces)
    headline = f"{failed:,} of {plural(total, 'run')} failed"
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="referrer" content="no-referrer">'
        f"<title>{headline} – tracekit analysis</title><style>{style}</style></head><body>"
    )
    times = [trace.started_at for trace in result.traces if trace.started_at is not None]
    period = f" Runs from {moment(min(times))} to {moment(max(times))} UTC." if times else ""
    files = len({trace.source.file for trace in result.traces})
    yield (
        '<a class="skip" href="#runs">Go to the failed runs</a>'
        f'<header><h1>{headline} <span class="dim">({share(failed, total)})</span></h1>'
        f'<p class="dim">tracekit analysis of {plural(files, "file")}.{period} {_source(result)}</p></header>'
    )


def _source(result: Result) -> str:
    """Where the verdicts come from."""
    if any(found.rule.startswith(RULE) for trace in result.traces for found in trace.diagnoses):
        return f"What begins with {RULE} says a judge of the user's own; every other verdict is a rule with evidence from the log."
    return "Every verdict is a rule with evidence from the log."


def _in_full(
    result: Result,
    listed: Sequence[TraceVerdict],
    places: Mapping[str, int],
    examples: Sequence[str],
    titles: Mapping[str, str],
) -> dict[str, str]:
    """By trace id, the runs that are shown in full: examples of all groups first, as far as there is room."""
    first = dict.fromkeys(name for name in examples if name in places)
    order = [listed[places[name]] for name in first]
    order += [trace for trace in listed if trace.trace_id not in first]
    made: dict[str, str] = {}
    room = MOST_BYTES
    for begin in range(0, len(order), _AT_ONCE):
        for trace, shown in _with_steps(result, order[begin : begin + _AT_ONCE]):
            text = runs.folded(places[trace.trace_id], trace, shown, titles)
            room -= len(text.encode("utf-8", "replace"))
            if room < 0:
                return made
            made[trace.trace_id] = text
    return made


def _with_steps(result: Result, some: Sequence[TraceVerdict]) -> Iterator[tuple[TraceVerdict, runs.Shown]]:
    if result.report_steps is None:
        yield from ((trace, runs.Shown((), {})) for trace in some)
        return
    drawn = result.report_steps.drawn(some)
    wanted = [
        (trace.trace_id, step)
        for trace in some
        if (found := primary(trace)) is not None
        for step in (found.failed_step, found.cause_step)
        if step is not None
    ]
    texts = result.report_steps.texts(wanted)
    yield from ((trace, runs.Shown(drawn.get(trace.trace_id, ()), texts)) for trace in some)


def _key_of(colour: tuple[str, str]) -> str:
    return f"<span>{overview.key(colour[0])}{colour[1]}</span>"


def _list(
    result: Result, listed: Sequence[TraceVerdict], full: Mapping[str, str], titles: Mapping[str, str]
) -> Iterator[str]:
    """The failed runs in the order of the log, and then those that wait for a person."""
    yield f'<h2 id="runs">{"Failed and waiting runs" if result.waiting else "Failed runs"}</h2>'
    if not listed:
        yield f"<p>None: all {plural(len(result.traces), 'run')} ended well, and no rule found anything wrong in them.</p>"
        return
    codes = sorted({found.code if (found := primary(trace)) else trace.status for trace in listed})
    options = "".join(f'<option value="{esc(code)}">{esc(code)}</option>' for code in codes)
    yield (
        '<p class="keys dim"><span>✗ ended in an error or was killed</span><span>? waits for a person, or how it ended is not known</span>'
        "<span>! ended well, and something in it was wrong</span></p>"
        f'<p class="keys dim">in the pictures: {"".join(map(_key_of, _COLOURS))}</p>'
        '<div class="tools" id="tools" hidden><label>words<input id="words" type="search" placeholder="task, tool, message"></label>'
        f'<label>class<select id="kind"><option value="">all</option>{options}</select></label>'
        '<button type="button" id="fold">fold all</button><span id="told" class="dim" role="status"></span></div>'
        '<div id="runs-list">'
    )
    for place, trace in enumerate(listed):
        yield full.get(trace.trace_id) or runs.short(place, trace, titles)
    yield "</div>"
    notes = []
    if len(full) < len(listed):
        notes.append(
            f"{len(full):,} of {len(listed):,} runs are shown in full, at least one of each kind where there was room; "
            "<code>tracekit show TRACE PATH</code> shows any other."
        )
    more = len(result.failed) + len(result.waiting) - len(listed)
    if more:
        notes.append(
            f"{more:,} {'failed or waiting' if result.waiting else 'failed'} runs more are not listed; "
            "<code>--format csv</code> has all."
        )
    if result.report_steps is None:
        notes.append(
            "The steps of the runs are not in this report: it was made on Spark, which brings back verdicts only."
        )
    if notes:
        yield f'<p class="note">{"<br>".join(notes)}</p>'
