"""`tracekit checkpoints`: where a trace may go on, and why not later."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import orjson

from tracekit.cli.command import Command, Exit
from tracekit.model import ANALYSIS_SCHEMA
from tracekit_analyzers.commands.loading import add_paths, chosen, opened
from tracekit_analyzers.model import Resumable
from tracekit_analyzers.reports import as_json, text
from tracekit_analyzers.session import Session

_QUERY = (
    "select seq, step_id, kind, name, status, checkpoint, why from cleanliness "
    "where trace_id = '{trace}' and not wraps order by seq"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("trace", metavar="TRACE", help="trace id, its beginning, or a task id")
    add_paths(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table")


def run(options: argparse.Namespace) -> int:
    """Show each step with whether one may go on after it."""
    with opened(options.paths, options.reader) as session:
        row = chosen(session, options.trace)
        steps = points(session, row.trace_id)
        point = session.resumable(row.trace_id)
        if options.format == "json":
            made = {
                "schema": ANALYSIS_SCHEMA,
                "trace_id": row.trace_id,
                "status": row.status,
                "resumable": as_json.resumable(point),
                "steps": steps,
            }
            sys.stdout.write(orjson.dumps(made, option=orjson.OPT_INDENT_2).decode() + "\n")
        else:
            _show(steps, point)
        return Exit.DAMAGE if session.damage() else Exit.CLEAN


def points(session: Session, trace_id: str) -> list[dict[str, Any]]:
    """Each step that is no wrapper, with `clean` (it and all before it ended well) and `why` it is not."""
    table = session.sql(_QUERY.format(trace=trace_id.replace("'", "''")), limit=1_000_000)
    found = []
    unbroken = True
    for row in table.rows:
        step = dict(zip(table.columns, row, strict=True))
        unbroken = unbroken and step["why"] is None
        found.append({**step, "clean": unbroken})
    return found


def _show(steps: list[dict[str, Any]], point: Resumable | None) -> None:
    colours = text.colours_wanted(sys.stdout)
    for step in steps:
        mark = text.painted(
            "●" if step["clean"] else "○", text.GREEN if step["clean"] else text.RED, colours=colours
        )
        why = f"  {step['why']}" if step["why"] else ""
        reached = f"  [{step['checkpoint']}]" if step["checkpoint"] else ""
        print(
            f"{step['seq']:>5} {mark} {step['kind']:<5} {text.visible(step['name'])}{reached}{text.visible(why)}"
        )
    print("\n● this step and all before it ended well and are whole; ○ not")
    if point is None:
        print("nothing to go on from: the trace ended well, or nothing in it is clean")
    else:
        print(
            f"go on after step {point.seq}: keeps {text.kept(point)} against starting again; risk outside: {point.risk}"
        )
        for reason in text.not_later(point):
            print(f"  {reason}")


COMMAND = Command("checkpoints", "where a trace may go on", configure, run)
