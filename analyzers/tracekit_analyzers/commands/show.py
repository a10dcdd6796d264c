"""`tracekit show`: one trace, step by step."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import orjson

from tracekit.cli.command import Command, Exit, UsageError
from tracekit.model import ANALYSIS_SCHEMA
from tracekit_analyzers.commands.loading import add_paths, chosen, opened
from tracekit_analyzers.model import Diagnosis, Source
from tracekit_analyzers.reports import text
from tracekit_analyzers.session import Session
from tracekit_analyzers.views import StepDetail, StepLine, TraceRow

GLYPHS = {"ok": "✓", "error": "✗", "running": "◐", "unknown": "?", "skipped": "⊘", "abandoned": "⊘"}
_PAGE = 500
_FIELDS = (
    ("asked with", "asked_arguments"),
    ("received", "received_input"),
    ("answered", "output"),
    ("raw", "raw"),
    ("error", "error_message"),
    ("effect", "effect"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("trace", metavar="TRACE", help="trace id, its beginning, or a task id")
    add_paths(parser)
    parser.add_argument("--step", metavar="STEP", help="show this step whole: a step id, or its number")
    parser.add_argument("--format", choices=("table", "json"), default="table")


def run(options: argparse.Namespace) -> int:
    """Show the trace, or one step of it."""
    with opened(options.paths, options.reader) as session:
        row = chosen(session, options.trace)
        if options.step is not None:
            _show_step(session, row, options.step, options.format)
        elif options.format == "json":
            _print_json({**_plain(row), "steps": [_plain(line) for line in lines(session, row)]})
        else:
            _show_trace(session, row)
        return Exit.DAMAGE if session.damage() else Exit.CLEAN


def lines(session: Session, row: TraceRow) -> Iterator[StepLine]:
    """All lines of the tree, page by page."""
    offset = 0
    while (page := session.steps(row.trace_id, offset=offset, limit=_PAGE)).rows:
        yield from page.rows
        offset += _PAGE


def _show_trace(session: Session, row: TraceRow) -> None:
    colours = text.colours_wanted(sys.stdout)
    print(text.visible(f"{row.task_id or row.name}  {row.trace_id}  {row.status}, {row.steps} steps"))
    for line in lines(session, row):
        print(_line(line, colours))
    for place, found in enumerate(session.diagnoses(row.trace_id)):
        verdict = session.verdict(row.trace_id)
        _show_diagnosis(found, primary=verdict is not None and verdict.primary == place)
    point = session.resumable(row.trace_id)
    if point is not None:
        print(f"\ncan go on after step {point.seq}: keeps {text.kept(point)}; risk outside: {point.risk}")
        for reason in text.not_later(point):
            print(f"  {reason}")


def _line(line: StepLine, colours: bool) -> str:
    glyph = GLYPHS.get(line.status, "?")
    paint = text.RED if line.code or line.status == "error" else text.DIM if line.placeholder else text.GREEN
    marks = " ".join(
        mark for mark in (line.code or "", f"cause of {line.cause_of}" if line.cause_of else "") if mark
    )
    body = f"{line.kind:<5} {text.visible(line.name)}"
    number = f"{line.seq or '-':>5}"
    return f"{number} {'  ' * line.depth}{text.painted(glyph, paint, colours=colours)} {body}  {_took(line)}  {marks}".rstrip()


def _took(line: StepLine) -> str:
    if line.duration_ms is None:
        return ""
    return text.took(line.duration_ms) if line.duration_ms >= 0 else "0 ms (its end lies before its begin)"


def _show_diagnosis(found: Diagnosis, *, primary: bool) -> None:
    marks = ("primary" if primary else "") + (" recovered" if found.recovered else "")
    cause = "" if found.cause_step == found.failed_step else f", caused by step {found.cause_seq}"
    print(f"\n{found.code} at step {found.failed_seq}{cause}  sure {found.confidence:.2f}  {marks}".rstrip())
    print(f"  {text.visible(found.message)}")
    for item in found.evidence:
        where = f"step {item.seq}: " if item.seq is not None else ""
        value = f"  {text.visible(item.value)}" if item.value else ""
        print(f"  - {where}{text.visible(item.what)}{value}")


def _show_step(session: Session, row: TraceRow, name: str, form: str) -> None:
    step_id = name
    if name.isdigit() and len(name) < 16:
        step_id = next((line.step_id for line in lines(session, row) if line.seq == int(name)), name)
    detail = session.step(row.trace_id, step_id)
    if detail is None:
        raise UsageError(f"trace {row.trace_id} has no step {name!r}")
    origins = session.lineage(row.trace_id, step_id)
    if form == "json":
        _print_json({**_plain(detail), "lineage": [_plain(origin) for origin in origins]})
        return
    _print_detail(detail)
    for origin in origins:
        found = (
            "found nowhere before"
            if origin.origin_side is None
            else _origin(origin.origin_seq, origin.origin_path)
        )
        stale = f"; a later answer says {origin.newer_value}" if origin.newer_value is not None else ""
        print(text.visible(f"  {origin.path} = {origin.value}: {found}{stale}"))


def _origin(seq: int | None, path: str | None) -> str:
    return f"from step {seq} {path}"


def _print_detail(detail: StepDetail) -> None:
    line = detail.line
    print(text.visible(f"step {line.seq} {line.kind} {line.name}  {line.status}  {line.step_id}"))
    print(text.visible(f"  {_place(detail.source)}"))
    for title, field in _FIELDS:
        value = getattr(detail, field)
        if value is not None:
            print(f"  {title:<11} {text.visible(value)}")
    for difference in detail.differences:
        print(text.visible(f"  ≠ {difference.path}: asked {difference.left}, received {difference.right}"))


def _place(source: Source) -> str:
    """Where a step stands, as far as its format has runs, lines and messages; numbers as `Source` counts them."""
    run = f" run {source.trace_index}" if source.trace_index else ""
    line = "" if source.line is None else f" line {source.line}"
    message = "" if source.index is None else f" message {source.index}"
    return f"{source.file}{run}{line}{message}"


def _plain(value: Any) -> dict[str, Any]:
    return dataclasses.asdict(value)


def _print_json(value: dict[str, Any]) -> None:
    value.setdefault("schema", ANALYSIS_SCHEMA)
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode() + "\n")


COMMAND = Command("show", "one trace, step by step", configure, run)
