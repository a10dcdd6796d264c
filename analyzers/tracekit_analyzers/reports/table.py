"""The table for a person at a terminal: one line for each trace that failed, then the sums."""

from __future__ import annotations

import io
import sys
from typing import BinaryIO

from tracekit_analyzers.model import Diagnosis, TraceVerdict
from tracekit_analyzers.reports import text
from tracekit_analyzers.reports.result import Result, primary

_HEADS = ("", "trace", "task or name", "steps", "failed step", "cause", "class", "sure", "what happened")
_MOST = (2, 10, 28, 6, 26, 7, 28, 4, 400)
GLYPHS = {"ok": "✓", "error": "✗", "killed": "✗", "running": "◐", "unknown": "?"}
_COLOURS = {
    "ok": text.GREEN,
    "error": text.RED,
    "killed": text.RED,
    "running": text.YELLOW,
    "unknown": text.YELLOW,
}
_SHOWN_BAD = 10
_SHOWN_GROUPS = 10
_MANY_TRACES = 50
"""From here on a person needs to see what is alike, not only each failure by itself."""


def write(result: Result, out: BinaryIO) -> None:
    """The table; clean traces are counted only."""
    target = io.TextIOWrapper(out, encoding="utf-8", errors="replace", write_through=True)
    try:
        _write(result, target)
    finally:
        target.detach()


def _write(result: Result, target: io.TextIOWrapper) -> None:
    colours = text.colours_wanted(sys.stdout)
    told = [trace for trace in result.traces if trace.primary is not None or trace.status not in ("ok",)]
    rows = [_row(trace) for trace in told]
    if rows:
        _grid(rows, [trace.status for trace in told], target, colours)
        target.write("\n")
    for line in (*_groups(result), *_sums(result)):
        target.write(line + "\n")


def _grid(rows: list[list[str]], states: list[str], target: io.TextIOWrapper, colours: bool) -> None:
    widths = text.columns_of(rows, _HEADS, _MOST)
    taken = sum(widths[:-1]) + 2 * (len(widths) - 1)
    widths[-1] = max(20, text.terminal_columns() - taken)
    head = "  ".join(text.padded(name, size) for name, size in zip(_HEADS, widths, strict=True))
    target.write(text.painted(head.rstrip(), text.BOLD, colours=colours) + "\n")
    for row, status in zip(rows, states, strict=True):
        cells = [text.padded(cell, size) for cell, size in zip(row, widths, strict=True)]
        cells[0] = text.painted(cells[0], _COLOURS.get(status, text.YELLOW), colours=colours)
        target.write("  ".join(cells).rstrip() + "\n")


def _row(trace: TraceVerdict) -> list[str]:
    found = primary(trace)
    cells = [
        GLYPHS.get(trace.status, "?") if found is None or trace.status != "ok" else "!",
        trace.trace_id[:8],
        trace.task_id or trace.name,
        str(trace.steps),
        *(
            _of_diagnosis(found)
            if found
            else ("", "", trace.status, "", "no verdict: the log holds no evidence of a cause")
        ),
    ]
    return [text.visible(cell) for cell in cells]


def _of_diagnosis(found: Diagnosis) -> tuple[str, str, str, str, str]:
    cause = "" if found.cause_step in (None, found.failed_step) else f"#{found.cause_seq}"
    failed = "" if found.failed_seq is None else f"#{found.failed_seq}"
    return (failed, cause, found.code, f"{found.confidence:.2f}", found.message)


def _groups(result: Result) -> list[str]:
    """What fails alike over many traces, or since a baseline."""
    if result.baseline is None and len(result.traces) < _MANY_TRACES:
        return []
    made = result.groups()
    shown = [group for group in made if group.is_new is not False]
    if not made:
        return []
    head = (
        "like failures" if result.baseline is None else f"new since the baseline: {len(shown)} of {len(made)}"
    )
    lines = [f"{head} (runs, share, class, tool, words; --format json has all)"] if shown else [head]
    for group in shown[:_SHOWN_GROUPS]:
        cells = (group.code, group.tool or "", group.wording)
        told = "  ".join(text.visible(cell) for cell in cells if cell)
        lines.append(f"  {group.traces:5d}  {100 * group.share:5.1f} %  {told}")
    if len(shown) > _SHOWN_GROUPS:
        lines.append(f"  {len(shown) - _SHOWN_GROUPS} more")
    return [*lines, ""]


def _sums(result: Result) -> list[str]:
    _, codes, recovered = result.counts()
    sums = f"{len(result.traces)} traces, {result.steps} steps; {len(result.failed)} failed"
    lines = [f"{sums}; {recovered} errors that the agent got over"]
    if codes:
        ordered = sorted(codes.items(), key=lambda item: (-item[1], item[0]))
        lines.append("found: " + ", ".join(f"{code} {count}" for code, count in ordered))
    if result.bad_count:
        lost = f"; {result.lost} lines were never written" if result.lost else ""
        lines.append(f"damage: {result.bad_count} bad pieces in {result.lines} lines{lost}")
        lines += [
            f"  {text.visible(bad.file)}:{bad.line or '?'}  {text.visible(bad.reason)}  {text.visible(bad.head)}"
            for bad in result.bad[:_SHOWN_BAD]
        ]
        if result.bad_count > _SHOWN_BAD:
            lines.append(f"  {result.bad_count - _SHOWN_BAD} more, all of them in --format json")
    if result.skipped:
        lines.append(
            f"not read, in no known format: {', '.join(text.visible(name) for name in result.skipped[:5])}"
        )
    return lines
