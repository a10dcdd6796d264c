"""What `fork`, `resume --from` and `plan --from` share: showing what was done after the cut, and asking about it."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from tracekit.cli._store import inline, print_json, print_table, say, typed_again, visible
from tracekit.cli.command import Exit

if TYPE_CHECKING:
    from tracekit.durable.fork import RestorePlan
    from tracekit.durable.plan import AtRisk


def add_effects(parser: argparse.ArgumentParser) -> None:
    """Add `--effects keep|repeat` and `--by`."""
    parser.add_argument(
        "--effects",
        choices=("keep", "repeat"),
        help="what was done outside after the step: keep it (the same call gets its result, another one asks), or let "
        "it be done again",
    )
    parser.add_argument("--by", metavar="NAME", help="who decides; default the user of this process")


def effects_choice(options: argparse.Namespace, at: str) -> str | None:
    """`keep` or `repeat` for a cut before *at*; None when a person has to say which and nobody is there to ask."""
    from tracekit.durable.finding import load_app
    from tracekit.durable.fork import plan_restore

    if options.app:
        load_app(options.app)
    found = plan_restore(options.task, at=at, store=options.store)
    if options.effects or not found.effects:
        return options.effects or "keep"
    say(f"tracekit: from call {found.place} on this was done outside, and is not undone:")
    for each in found.effects:
        say(f"  {effect_text(each)}")
    say("  keep    the same call gets the recorded result; another call of the same tool asks first")
    say("  repeat  it may be done a second time")
    if not sys.stdin.isatty():
        say("tracekit: say which by --effects keep or --effects repeat")
        return None
    while (answer := _ask()) not in ("keep", "repeat"):
        if answer is None:
            return None
    return answer


def _ask() -> str | None:
    print("keep or repeat? ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    return line.strip().lower() if line else None


def effect_text(each: AtRisk) -> str:
    """One effect on one line."""
    from tracekit.durable.places import named_call

    call = named_call(each.place, each.tool)
    text = f"{call}, {each.risk}, {each.status}, arguments {inline(each.arguments)}"
    return visible(text)


def show_plan(options: argparse.Namespace) -> int:
    """`tracekit plan TASK --from STEP`."""
    from tracekit.durable.finding import load_app
    from tracekit.durable.fork import plan_restore

    if options.app:
        load_app(options.app)
    found = plan_restore(
        options.task, at=options.at, failure_class=options.failure or "", store=options.store
    )
    if options.format == "json":
        print_json({"schema": "tracekit.restore_plan/1", **asdict(found)})
    else:
        _print(found, typed_again(options))
    return Exit.WAITING if found.action == "review" else Exit.CLEAN


def _print(found: RestorePlan, option: str) -> None:
    from tracekit.durable.fork_words import restore_words
    from tracekit.durable.places import named_call

    command = f"tracekit resume {shlex.quote(found.task_id)} --from {found.place}{option}"
    rows = [
        ("cut before", named_call(found.place, found.name)),
        ("recommended", f"{found.action}: {command}" if found.action == "restore" else found.action),
        ("rule", found.rule_id),
        *restore_words(found, f"{found.task_id}-fork-…"),
    ]
    print_table(("task", visible(found.task_id)), rows)
