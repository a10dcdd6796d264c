"""`tracekit review list | show ID | decide ID DECISION`: questions that wait for a person."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tracekit.cli._store import add_format, add_store, inline, print_json, print_table, say
from tracekit.cli.command import Command, Exit, UsageError
from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from tracekit.store.contract import ReviewRow


def _configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="questions that wait, oldest first")
    listing.add_argument("--all", action="store_true", help="decided and used ones too")
    show = verbs.add_parser("show", help="one question: goal, break point, reason, recommendation")
    show.add_argument("review", help="review id")
    decide = verbs.add_parser("decide", help="answer a question; takes effect when the task is resumed")
    decide.add_argument("review", help="review id")
    decide.add_argument("decision", help="one of the options that `show` lists")
    decide.add_argument(
        "--result", metavar="JSON", help="with `done`: what the step is taken to have answered"
    )
    decide.add_argument("--arguments", metavar="JSON", help="with `edit`: the new arguments by name")
    decide.add_argument("--by", metavar="NAME", help="who decides; default the user of this process")
    decide.add_argument(
        "--seen", metavar="DIGEST", help="digest of the arguments that you saw, as `show` prints it"
    )
    for each in (listing, show, decide):
        add_store(each)
        add_format(each)


def _run(options: argparse.Namespace) -> int:
    return {"list": _list, "show": _show, "decide": _decide}[options.verb](options)


def _list(options: argparse.Namespace) -> int:
    from tracekit.durable.owning import existing_store

    damaged: list[TracekitError] = []
    rows = existing_store(options.store).reviews(open_only=not options.all, damaged=damaged.append)
    for error in damaged:
        say(f"tracekit: {error}")
    if options.format == "json":
        print_json([_fields(row) for row in rows])
    else:
        head = ("review", "task", "reason", "break point", "status")
        print_table(
            head, [(r.review_id, r.task_id, r.reason, _panel(r)["break_point"], r.status) for r in rows]
        )
    if any(row.status == "open" for row in rows):
        return Exit.WAITING
    return Exit.DAMAGE if damaged else Exit.CLEAN


def _show(options: argparse.Namespace) -> int:
    from tracekit.durable.owning import existing_store

    rows = existing_store(options.store).reviews(open_only=False, limit=100_000)
    row = next((each for each in rows if each.review_id == options.review), None)
    if row is None:
        raise UsageError(f"there is no review {options.review!r}; `tracekit review list --all` shows them")
    if options.format == "json":
        print_json(_fields(row))
        return Exit.CLEAN
    panel = _panel(row)
    facts = [
        (name.replace("_", " "), panel[name]) for name in ("goal", "break_point", "reason", "recommendation")
    ]
    facts += [("task", row.task_id), ("options", ", ".join(panel["options"])), ("status", row.status)]
    facts += [("answers", ", ".join(panel["answers"]))] if panel.get("answers") else []
    facts += [("seen", row.args_digest)] if row.args_digest else []
    facts += [(name, inline(value)) for name, value in panel["details"].items()]
    facts += [("decided", f"{row.decision} by {row.decided_by}")] if row.decision else []
    print_table(("review", row.review_id), facts)
    return Exit.CLEAN


def _decide(options: argparse.Namespace) -> int:
    from tracekit.durable.api import decide

    decision, result = _answer(options)
    row = decide(
        options.review,
        decision,
        by=options.by,
        result=result,
        arguments=_json(options.arguments, "--arguments"),
        args_digest=options.seen,
        store=options.store,
    )
    if options.format == "json":
        print_json(_fields(row))
    else:
        print(
            f"{row.review_id}: {row.decision} by {row.decided_by}; `tracekit resume {row.task_id}` carries it out"
        )
    return Exit.CLEAN


def _answer(options: argparse.Namespace) -> tuple[str, Any]:
    """Decision and result; one of the answers that a question of the agent offers may be given as it is."""
    from tracekit.durable.owning import existing_store

    result = _json(options.result, "--result")
    rows = existing_store(options.store).reviews(open_only=False, limit=100_000)
    row = next((each for each in rows if each.review_id == options.review), None)
    if result is None and row is not None and options.decision in _panel(row).get("answers", ()):
        return "done", options.decision
    return options.decision, result


def _json(text: str | None, option: str) -> Any:
    import orjson

    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{option} is not JSON: {error}; texts need quotes, such as '\"yes\"'") from error


def _panel(row: ReviewRow) -> dict[str, Any]:
    from tracekit.durable.api import panel_of

    return panel_of(row)


def _fields(row: ReviewRow) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(row), "panel": _panel(row)}


COMMAND = Command("review", "questions that wait for a person: list, show, decide", _configure, _run)
