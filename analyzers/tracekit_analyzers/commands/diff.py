"""`tracekit diff`: two traces side by side, and where they part."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import orjson

from tracekit.cli.command import Command, Exit, UsageError
from tracekit_analyzers.alignment import AlignStep, Pair, align, first_divergence
from tracekit_analyzers.commands.loading import add_paths, chosen, opened
from tracekit_analyzers.compare import differences
from tracekit_analyzers.reports import text
from tracekit_analyzers.session import Session

_QUERY = (
    "select step_id, seq, kind, coalesce(tool_name, name), status, cast(input as varchar), cast(output as varchar) "
    "from log.steps where trace_id = '{trace}' order by seq"
)
_SIGNS = {"same": " ", "input": "≠", "output": "≠", "status": "≠", "only_left": "<", "only_right": ">"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("left", metavar="A", help="a trace id, a task id, or a file with one run")
    parser.add_argument("right", metavar="B", help="the other one")
    add_paths(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--all", action="store_true", help="show the steps that are the same, too")


def run(options: argparse.Namespace) -> int:
    """Show what differs; exit 0 whether or not it does."""
    pairs = align(_steps(options.left, options), _steps(options.right, options))
    parted = first_divergence(pairs)
    if options.format == "json":
        made = {"first_divergence": parted, "pairs": [_plain(pair) for pair in pairs]}
        sys.stdout.write(orjson.dumps(made, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        _show(pairs, parted, everything=options.all)
    return Exit.CLEAN


def _steps(name: str, options: argparse.Namespace) -> list[AlignStep]:
    if Path(name).is_file():
        with opened([name], options.reader) as session:
            page = session.traces(limit=2)
            if page.total != 1:
                raise UsageError(
                    f"expected one run in {name}, found {page.total}: name a trace id and give the file last"
                )
            return _of(session, page.rows[0].trace_id)
    with opened(options.paths, options.reader) as session:
        return _of(session, chosen(session, name).trace_id)


def _of(session: Session, trace_id: str) -> list[AlignStep]:
    table = session.sql(_QUERY.format(trace=trace_id.replace("'", "''")), limit=1_000_000)
    return [AlignStep(*row) for row in table.rows]


def _show(pairs: list[Pair], parted: int | None, *, everything: bool) -> None:
    for place, pair in enumerate(pairs):
        if place == parted:
            print("── the runs part here ──")
        if everything or pair.change != "same":
            print(_line(pair))
            for line in _changes(pair):
                print(text.visible(line))
    same = sum(pair.change == "same" for pair in pairs)
    print(f"\n{same} of {len(pairs)} steps are the same")


def _line(pair: Pair) -> str:
    step = pair.left or pair.right
    assert step is not None  # a pair has at least one side
    left = f"{pair.left.seq:>5}" if pair.left else " " * 5
    right = f"{pair.right.seq:>5}" if pair.right else " " * 5
    what = "" if pair.change in ("same", "only_left", "only_right") else f"  {pair.change} differs"
    return text.visible(f"{left} {_SIGNS[pair.change]} {right}  {step.kind:<5} {step.name}{what}")


def _changes(pair: Pair) -> list[str]:
    if pair.left is None or pair.right is None:
        return []
    found = []
    for side, left, right in (
        ("input", pair.left.input, pair.right.input),
        ("output", pair.left.output, pair.right.output),
    ):
        for change in differences(left, right)[:5]:
            found.append(
                f"             {side} {change.path}: {_short(change.left)} -> {_short(change.right)}"
            )
    return found


def _short(value: str | None) -> str:
    return "nothing" if value is None else text.cut(value, 80)


def _plain(pair: Pair) -> dict[str, Any]:
    sides = {
        side: None if step is None else {"step": step.step_id, "seq": step.seq, "status": step.status}
        for side, step in (("left", pair.left), ("right", pair.right))
    }
    step = pair.left or pair.right
    assert step is not None  # a pair has at least one side
    return {**sides, "kind": step.kind, "name": step.name, "change": pair.change}


COMMAND = Command("diff", "two traces side by side", configure, run)
