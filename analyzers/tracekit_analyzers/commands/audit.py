"""`tracekit audit`: is this log fit for diagnosis and recovery, and does it hold secrets."""

from __future__ import annotations

import argparse
import sys

import orjson

from tracekit.cli.command import Command, Exit
from tracekit_analyzers import auditing
from tracekit_analyzers.commands.loading import add_paths, opened
from tracekit_analyzers.reports import text

_MARKS = {"yes": "✓", "partly": "◐", "no": "✗", "unknown": "?"}
_COLOURS = {"yes": text.GREEN, "partly": text.YELLOW, "no": text.RED, "unknown": text.DIM}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_paths(parser)
    parser.add_argument(
        "--secrets",
        action="store_true",
        help="search for secrets, below a folder in every file, the store too; exit 1 when there are any",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")


def run(options: argparse.Namespace) -> int:
    """Answer the five questions, or search for secrets."""
    with opened(options.paths, options.reader) as session:
        if options.secrets:
            return _secrets(auditing.secrets(session), options.format)
        answers = auditing.questions(session)
        if options.format == "json":
            made = [
                {
                    "question": item.question,
                    "answer": item.answer,
                    "facts": list(item.facts),
                    "advice": list(item.advice),
                }
                for item in answers
            ]
            sys.stdout.write(orjson.dumps(made, option=orjson.OPT_INDENT_2).decode() + "\n")
        else:
            for item in answers:
                _show(item)
        return Exit.DAMAGE if session.damage() else Exit.CLEAN


def _show(item: auditing.Answer) -> None:
    colours = text.colours_wanted(sys.stdout)
    print(f"{text.painted(_MARKS[item.answer], _COLOURS[item.answer], colours=colours)} {item.question}")
    for fact in item.facts:
        print(f"    {text.visible(fact)}")
    for advice in item.advice:
        print(f"  → {text.visible(advice)}")


def _secrets(found: list[auditing.Secret], form: str) -> int:
    if form == "json":
        made = [
            {"trace_id": item.trace_id, "step": item.step_id, "where": item.where, "path": item.path}
            for item in found
        ]
        sys.stdout.write(orjson.dumps(made, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        # The value itself is never shown: this output goes into tickets and build logs.
        for item in found:
            step = f"{item.trace_id[:12]} {item.step_id or 'message'}  " if item.trace_id else ""
            print(text.visible(f"{step}{item.where}: {item.path}"))
        print(f"{len(found)} places look like secrets" if found else "no secrets found")
    return Exit.FAILURES if found else Exit.CLEAN


COMMAND = Command("audit", "is this log fit for diagnosis and recovery; does it hold secrets", configure, run)
