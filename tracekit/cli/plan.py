"""`tracekit plan TASK`: what recovering it would do; changes nothing."""

from __future__ import annotations

import argparse

from tracekit.cli._forking import effect_text, show_plan
from tracekit.cli._store import add_format, add_store, print_json, print_table, visible
from tracekit.cli.command import Command, Exit


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
    found = plan(options.task, store=options.store, app=options.app)
    if options.format == "json":
        print_json({"schema": "tracekit.plan/1", **_fields(found)})
    else:
        _print(found)
    return Exit.WAITING if found.is_waiting else Exit.CLEAN


def _fields(found: object) -> dict[str, object]:
    from dataclasses import asdict, is_dataclass

    assert is_dataclass(found)
    assert not isinstance(found, type)
    return asdict(found)


def _print(found: object) -> None:
    from tracekit.durable.plan import Plan

    assert isinstance(found, Plan)
    kept = f"{found.kept_calls} calls ({found.kept_model_calls} of the model), {found.kept_tokens} tokens, "
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
            ("kept", f"{kept}{found.kept_seconds:g} s"),
            *(("done", each) for each in found.done_effects),
            *(("at risk", _risk(each)) for each in found.at_risk),
            *(("review", f"{each}  (tracekit review show {each})") for each in found.reviews),
            *(("changed", f"{each} changed since the task began") for each in found.code_changed),
            *([("code", f"not loaded: {found.code_missing}")] if found.code_missing else []),
            *(("to do", each) for each in found.todo),
        ],
    )
    if not found.at_risk:
        print("at risk      nothing: no effect of unknown outcome")


def _risk(each: object) -> str:
    from tracekit.durable.plan import AtRisk

    assert isinstance(each, AtRisk)
    return f"{effect_text(each)}: {each.next_move}"


COMMAND = Command("plan", "what recovering a task would do; changes nothing", _configure, _run)
