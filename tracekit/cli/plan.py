"""`tracekit plan TASK`: what recovering it would do; changes nothing."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from tracekit.cli._forking import effect_text, show_plan
from tracekit.cli._store import add_format, add_store, counted, print_json, print_table, typed_again, visible
from tracekit.cli.command import Command, Exit

if TYPE_CHECKING:
    from tracekit.durable.plan import AtRisk, Plan


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", help="task id")
    parser.add_argument(
        "--from",
        dest="at",
        metavar="STEP",
        help="what going back to before this call (its number in the task, or a step id of the log) would do",
    )
    parser.add_argument(
        "--failure",
        metavar="CLASS",
        help="with --from: class of the failure that the step caused, as `analyze` names it",
    )
    add_store(parser, app=True)
    add_format(parser)


def _run(options: argparse.Namespace) -> int:
    from tracekit.durable.api import plan

    if options.at is not None:
        return show_plan(options)
    option = typed_again(options)  # before the app is loaded, whose `init` may name another home
    found = plan(options.task, store=options.store, app=options.app)
    if options.format == "json":
        print_json({"schema": "tracekit.plan/1", **asdict(found)})
    else:
        _print(found, option)
    return Exit.WAITING if found.is_waiting else Exit.CLEAN


def _print(found: Plan, option: str) -> None:
    kept = (
        f"{counted(found.kept_calls, 'call')} ({found.kept_model_calls} of the model), "
        f"{counted(found.kept_tokens, 'token')}, {found.kept_seconds:g} s"
    )
    print_table(
        ("task", visible(found.task_id)),
        [
            ("status", f"{found.status}, attempt {found.attempt}, {found.recoveries_left} recoveries left"),
            ("goal", found.goal),
            ("break point", found.break_point),
            ("reason", found.reason),
            (
                "recommended",
                found.recommendation
                if found.action in ("none", "wait")
                else f"{found.action}: {found.recommendation}",
            ),
            ("rule", found.rule_id),
            ("kept", kept),
            *(("done", each) for each in found.done_effects),
            *(("at risk", _risk(each)) for each in found.at_risk),
            *(("review", f"{each}  (tracekit review show {each}{option})") for each in found.reviews),
            *(("changed", f"{each} changed since the task began") for each in found.code_changed),
            *([("code", f"not loaded: {found.code_missing}")] if found.code_missing else []),
            *(("to do", each) for each in found.todo),
        ],
    )
    if not found.at_risk:
        print("at risk      nothing: no effect of unknown outcome")


def _risk(each: AtRisk) -> str:
    return f"{effect_text(each)}: {each.next_move}"


COMMAND = Command("plan", "what recovering a task would do; changes nothing", _configure, _run)
