"""`tracekit diff`: two traces side by side, and where they part."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tracekit.cli.command import Command, Exit, UsageError
from tracekit.model import ANALYSIS_SCHEMA
from tracekit_analyzers.commands.loading import add_paths, chosen, opened
from tracekit_analyzers.reports import text
from tracekit_analyzers.session import Session
from tracekit_analyzers.verdicts.alignment import AlignStep, Pair, align, first_divergence
from tracekit_analyzers.verdicts.compare import differences
from tracekit_analyzers.views import Difference, TraceRow

_SIGNS = {"same": "=", "input": "≠", "output": "≠", "status": "≠", "only_left": "<", "only_right": ">"}
_MOST_CHANGES = 5
_VALUE = 80


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs."""

    row: TraceRow
    steps: tuple[AlignStep, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("left", metavar="A", help="a trace id, a task id, or a file with one run")
    parser.add_argument("right", metavar="B", help="the other one")
    add_paths(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--all", action="store_true", help="show the steps that are the same, too")


def run(options: argparse.Namespace) -> int:
    """Show what differs; exit 0 whether or not it does."""
    left, right = _sides(options)
    pairs = align(left.steps, right.steps)
    parted = first_divergence(pairs)
    if options.format == "json":
        sys.stdout.write(
            orjson.dumps(_json(left, right, pairs, parted), option=orjson.OPT_INDENT_2).decode() + "\n"
        )
        return Exit.CLEAN
    for line in _lines(left, right, pairs, parted, everything=options.all):
        print(text.visible(line))
    return Exit.CLEAN


def _sides(options: argparse.Namespace) -> tuple[Side, Side]:
    """Both runs; where both are in the same place, it is read once."""
    names = (options.left, options.right)
    files = [Path(name).is_file() for name in names]
    if not any(files):
        with opened(options.paths, options.reader) as session:
            left, right = (_of(session, chosen(session, name)) for name in names)
            return left, right
    left, right = (_side(name, is_file, options) for name, is_file in zip(names, files, strict=True))
    return left, right


def _side(name: str, is_file: bool, options: argparse.Namespace) -> Side:
    if not is_file:
        with opened(options.paths, options.reader) as session:
            return _of(session, chosen(session, name))
    with opened([name], options.reader) as session:
        page = session.traces(limit=4)
        if page.total != 1:
            ids = ", ".join(row.trace_id[:12] for row in page.rows)
            raise UsageError(
                f"expected one run in {name}, found {page.total} ({ids}{' ...' if page.total > 4 else ''}): "
                f"name two of them and give the file last, as in `tracekit diff ID ID {text.told_path(name)}`"
            )
        return _of(session, page.rows[0])


def _of(session: Session, row: TraceRow) -> Side:
    return Side(row, session.diff_steps(row.trace_id))


def _lines(
    left: Side, right: Side, pairs: Sequence[Pair], parted: int | None, *, everything: bool
) -> Iterator[str]:
    yield f"A  {_head(left.row)}"
    yield f"B  {_head(right.row)}"
    yield ""
    if parted is None:
        yield f"the same {len(pairs)} steps in both"
        return
    yield "    A       B"
    for place, pair in enumerate(pairs):
        if place == parted:
            yield "── the runs part here ──"
        if everything or pair.change != "same":
            yield _line(pair)
            yield from _change_lines(pair)
    yield ""
    yield _sum(pairs)


def _head(row: TraceRow) -> str:
    name = f"{row.task_id or row.name}  {row.trace_id[:12]}"
    took = "" if row.duration_ms is None else f", {text.took(row.duration_ms)}"
    tokens = f", {row.tokens:,} tokens" if row.tokens else ""
    verdict = f"; {row.code} at step {row.failed_seq}" if row.code else ""
    return f"{name}  {row.status}, {row.steps} steps{took}{tokens}{verdict}  ({row.source.file})"


def _line(pair: Pair) -> str:
    step = pair.left or pair.right
    assert step is not None  # a pair has at least one side
    numbers = [f"{side.seq:>5}" if side else " " * 5 for side in (pair.left, pair.right)]
    what = {"same": "", "only_left": "  only in A", "only_right": "  only in B"}.get(
        pair.change, f"  {pair.change} differs"
    )
    return f"{numbers[0]} {_SIGNS[pair.change]} {numbers[1]}  {step.kind:<5} {step.name}{what}"


def _changes(pair: Pair) -> Iterator[tuple[str, Difference]]:
    """Where the two sides of *pair* differ: `status`, `input`, `output`."""
    if pair.left is None or pair.right is None:
        return
    if pair.left.status != pair.right.status:
        yield "status", Difference("$", pair.left.status, pair.right.status)
    for side, left, right in (
        ("input", pair.left.input, pair.right.input),
        ("output", pair.left.output, pair.right.output),
    ):
        if (left is None) != (right is None):
            yield side, Difference("$", left, right)
        yield from ((side, found) for found in differences(left, right))


def _change_lines(pair: Pair) -> Iterator[str]:
    by_side: dict[str, list[Difference]] = {}
    for side, change in _changes(pair):
        by_side.setdefault(side, []).append(change)
    for side, changes in by_side.items():
        for change in changes[:_MOST_CHANGES]:
            path = "" if change.path == "$" else f" {change.path}"
            left, right = text.apart(change.left or "nothing", change.right or "nothing", _VALUE)
            yield f"{' ' * 15}{side}{path}: {left} -> {right}"
        if len(changes) > _MOST_CHANGES:
            yield f"{' ' * 15}{side}: {len(changes) - _MOST_CHANGES} more places, all of them in --format json"


def _sum(pairs: Sequence[Pair]) -> str:
    counts = _counts(pairs)
    told = ", ".join(
        f"{counts[change]} {words}"
        for change, words in (
            ("input", "with another input"),
            ("output", "with another output"),
            ("status", "with another status"),
            ("only_left", "only in A"),
            ("only_right", "only in B"),
        )
        if counts[change]
    )
    return f"{counts['same']} of {len(pairs)} steps are the same; {told}"


def _counts(pairs: Sequence[Pair]) -> Counter[str]:
    return Counter(pair.change for pair in pairs)


def _json(left: Side, right: Side, pairs: Sequence[Pair], parted: int | None) -> dict[str, Any]:
    return {
        "schema": ANALYSIS_SCHEMA,
        "left": _run(left.row),
        "right": _run(right.row),
        "first_divergence": parted,
        "counts": dict(sorted(_counts(pairs).items())),
        "pairs": [_plain(pair) for pair in pairs],
    }


def _run(row: TraceRow) -> dict[str, Any]:
    return {
        "trace_id": row.trace_id,
        "task_id": row.task_id,
        "status": row.status,
        "steps": row.steps,
        "duration_ms": row.duration_ms,
        "tokens": row.tokens,
        "cost": row.cost,
        "code": row.code,
        "failed_seq": row.failed_seq,
        "file": row.source.file,
    }


def _plain(pair: Pair) -> dict[str, Any]:
    sides = {
        side: None if step is None else {"step": step.step_id, "seq": step.seq, "status": step.status}
        for side, step in (("left", pair.left), ("right", pair.right))
    }
    step = pair.left or pair.right
    assert step is not None  # a pair has at least one side
    changes = [
        {"side": side, "path": found.path, "left": found.left, "right": found.right}
        for side, found in _changes(pair)
    ]
    return {**sides, "kind": step.kind, "name": step.name, "change": pair.change, "changes": changes}


COMMAND = Command("diff", "two traces side by side", configure, run)
