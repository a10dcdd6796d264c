"""The table for a person at a terminal: one line for each trace that failed, then what is alike, the sums, and where to look."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from tracekit_analyzers.model import Diagnosis, TraceVerdict
from tracekit_analyzers.reports import text
from tracekit_analyzers.reports.result import Result, primary, without_verdict
from tracekit_analyzers.verdicts.groups import Group

_HEADS = ("", "trace", "task or name", "steps", "failed step", "cause", "class", "sure", "what happened")
_RIGHT = (3,)
_WHOLE = (1, 3, 4, 5, 6, 7)
"""Columns that are not cut: a class or a number in part says nothing."""
_LONGEST_NAME = 40
_ROOM_FOR_WORDS = 40
"""With less room than that beside the other columns, what happened stands on a line of its own."""
GLYPHS = {"ok": "✓", "error": "✗", "killed": "✗", "running": "◐", "waiting": "?", "unknown": "?"}
_FAILED_WELL = "!"
_COLOURS = {
    "ok": text.GREEN,
    "error": text.RED,
    "killed": text.RED,
    "running": text.YELLOW,
    "waiting": text.YELLOW,
    "unknown": text.YELLOW,
}
_SHOWN_BAD = 10
_SHOWN_GROUPS = 10
_SHOWN_WAITING = 10
_SHOWN_RUNS = 200
"""Lines of runs on a terminal; what is piped on is whole."""
_MANY_TRACES = 50
"""From here on a person needs to see what is alike, not only each failure by itself."""


def write(result: Result, out: BinaryIO) -> None:
    """The table; clean traces are counted only."""
    target = io.TextIOWrapper(out, encoding="utf-8", errors="replace", write_through=True)
    try:
        room, colours = text.terminal_columns(out), text.colours_wanted(out)
        for line in _lines(result, room, colours=colours):
            target.write(line + "\n")
    finally:
        target.detach()


def _lines(result: Result, room: int | None, *, colours: bool) -> Iterator[str]:
    told = [trace for trace in result.traces if trace.primary is not None or trace.status != "ok"]
    if told:
        length = text.unique_length(trace.trace_id for trace in result.traces)
        shown = told if room is None else told[:_SHOWN_RUNS]
        rows = [_row(trace, length) for trace in shown]
        yield from _grid(rows, [trace.status for trace in shown], room, colours=colours)
        if len(told) > len(shown):
            yield f"{len(told) - len(shown):,} more runs: --table runs"
        if any(row[0] == _FAILED_WELL for row in rows):
            yield f"{_FAILED_WELL} ended well, and something in it was wrong"
        yield ""
    yield from _groups(result, room)
    yield from _sums(result)
    if told:
        path = text.visible(text.told_path(told[0].source.file))
        yield f"look closer: tracekit show {text.visible(told[0].trace_id[:length])} {path}"


def _grid(
    rows: Sequence[Sequence[str]], states: Sequence[str], room: int | None, *, colours: bool
) -> Iterator[str]:
    heads = _HEADS[:-1]
    natural = [
        max(text.width(cell) for cell in column)
        for column in zip(heads, *(row[:-1] for row in rows), strict=True)
    ]
    widths = text.fitted(natural, room, keep=_WHOLE)
    taken = sum(widths) + 2 * len(widths)
    beside = room is None or room - taken >= _ROOM_FOR_WORDS
    yield text.painted(_cells(_HEADS if beside else heads, widths), text.BOLD, colours=colours)
    for row, status in zip(rows, states, strict=True):
        mark = text.painted(row[0], _COLOURS.get(status, text.YELLOW), colours=colours)
        rest = _cells(("", *row[1:-1]), widths)[widths[0] :]
        if beside:
            words = row[-1] if room is None else text.cut(row[-1], room - taken)
            yield f"{mark}{text.filled(rest, taken - widths[0])}{words}".rstrip()
        else:
            yield f"{mark}{rest}".rstrip()
            yield "   " + (row[-1] if room is None else text.cut(row[-1], max(20, room - 3)))


def _cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    """*cells* in columns; one more than there are *widths* is the last and as wide as it is."""
    made = [
        text.padded(cell, size, right=place in _RIGHT)
        for place, (cell, size) in enumerate(zip(cells, widths, strict=False))
    ]
    return "  ".join([*made, *cells[len(widths) :]]).rstrip()


def _row(trace: TraceVerdict, length: int) -> list[str]:
    found = primary(trace)
    cells = [
        GLYPHS.get(trace.status, "?") if found is None or trace.status != "ok" else _FAILED_WELL,
        trace.trace_id[:length],
        text.cut(text.visible(trace.task_id or trace.name), _LONGEST_NAME),
        str(trace.steps),
        *(
            _of_diagnosis(found)
            if found
            else (
                "",
                "",
                trace.status,
                "",
                "waits for a person, see below" if trace.status == "waiting" else without_verdict(trace),
            )
        ),
    ]
    return [text.visible(cell) for cell in cells]


def _of_diagnosis(found: Diagnosis) -> tuple[str, str, str, str, str]:
    cause = "" if found.cause_step in (None, found.failed_step) else f"#{found.cause_seq}"
    failed = "" if found.failed_seq is None else f"#{found.failed_seq}"
    return (failed, cause, found.code, f"{found.confidence:.2f}", found.message)


def _groups(result: Result, room: int | None) -> list[str]:
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
    lines = [head]
    if shown:
        lines += [f"  {line}" for line in _group_lines(shown[:_SHOWN_GROUPS], room)]
    if len(shown) > _SHOWN_GROUPS:
        lines.append(f"  {len(shown) - _SHOWN_GROUPS} more: --table groups")
    return [*lines, ""]


def _group_lines(groups: Sequence[Group], room: int | None) -> Iterator[str]:
    rows = [
        [
            str(group.traces),
            f"{100 * group.share:.1f} %",
            group.code,
            text.visible(group.tool or ""),
            text.visible(group.wording),
        ]
        for group in groups
    ]
    lines = text.grid(
        ("runs", "share", "class", "tool", "in words"),
        rows,
        right=(0, 1),
        room=None if room is None else room - 2,
    )
    return (line for place, line in enumerate(lines) if place != 1)


def _waiting(result: Result) -> Iterator[str]:
    if result.waiting:
        yield f"waiting for a person: {len(result.waiting)}"
    for trace in result.waiting[:_SHOWN_WAITING]:
        yield f"  {text.visible(trace.task_id or trace.name)}  {text.visible(trace.question or '')}"
    if len(result.waiting) > _SHOWN_WAITING:
        yield f"  {len(result.waiting) - _SHOWN_WAITING} more, all of them in --format json"


def _sums(result: Result) -> Iterator[str]:
    _, codes, recovered = result.counts()
    failed, total = len(result.failed), len(result.traces)
    share = f" ({100 * failed / total:.1f} %)" if failed else ""
    read = f"{text.plural(total, 'trace')}, {text.plural(result.steps, 'step')}"
    yield f"{read}; {failed:,} failed{share}; {text.plural(recovered, 'error')} that the agent got over"
    yield from _waiting(result)
    if codes:
        ordered = sorted(codes.items(), key=lambda item: (-item[1], item[0]))
        yield "found and not got over: " + ", ".join(f"{code} {count}" for code, count in ordered)
    yield from _damage(result)
    if result.skipped:
        named = ", ".join(text.visible(name) for name in result.skipped[:5])
        more = f" and {len(result.skipped) - 5} more" if len(result.skipped) > 5 else ""
        yield f"not read, in no known format: {named}{more}"


def _damage(result: Result) -> Iterator[str]:
    if not result.bad_count:
        return
    lost = f"; {result.lost} lines were never written" if result.lost else ""
    yield f"damage: {text.plural(result.bad_count, 'bad piece')} in {text.plural(result.lines, 'line')}{lost}"
    for bad in result.bad[:_SHOWN_BAD]:
        place = f"{bad.file}:{bad.line}" if bad.line else bad.file
        line = f"{place}  {bad.reason}  {bad.head}"
        yield f"  {text.visible(line)}"
    if result.bad_count > _SHOWN_BAD:
        yield f"  {result.bad_count - _SHOWN_BAD} more: --table damage"
