"""`tracekit review list | show ID | claim ID | decide ID DECISION`: questions that wait for a person."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tracekit import clock
from tracekit.cli._store import (
    above_zero,
    add_format,
    add_store,
    inline,
    print_json,
    print_table,
    say,
    visible,
)
from tracekit.cli.command import Command, Exit, UsageError
from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from tracekit.store.claims import ClaimRow
    from tracekit.store.contract import Store
    from tracekit.store.rows import ReviewRow


_BY = "who you are; default TRACEKIT_PERSON, else the user of this process"


def _configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="questions that wait, oldest first")
    listing.add_argument("--all", action="store_true", help="decided and used ones too")
    show = verbs.add_parser("show", help="one question: goal, break point, reason, recommendation")
    show.add_argument("review", help="review id")
    claim = verbs.add_parser(
        "claim", help="say that you look at a question: a note for the others, never a lock"
    )
    claim.add_argument("review", help="review id")
    claim.add_argument("--by", metavar="NAME", help=_BY)
    claim.add_argument(
        "--minutes",
        type=above_zero,
        metavar="N",
        help="how long it stands before it ends by itself; default TRACEKIT_CLAIM_S, else 15",
    )
    claim.add_argument("--take-over", metavar="NAME", help="take it over from NAME, who has it now")
    claim.add_argument("--back", action="store_true", help="take your claim back")
    decide = verbs.add_parser("decide", help="answer a question; takes effect when the task is resumed")
    decide.add_argument("review", help="review id")
    decide.add_argument("decision", help="one of the options that `show` lists")
    decide.add_argument(
        "--result", metavar="JSON", help="with `done`: what the step is taken to have answered"
    )
    decide.add_argument("--arguments", metavar="JSON", help="with `edit`: the new arguments by name")
    decide.add_argument("--by", metavar="NAME", help=_BY)
    decide.add_argument(
        "--seen", metavar="DIGEST", help="digest of the arguments that you saw, as `show` prints it"
    )
    for each in (listing, show, claim, decide):
        add_store(each)
        add_format(each)


def _run(options: argparse.Namespace) -> int:
    return {"list": _list, "show": _show, "claim": _claim, "decide": _decide}[options.verb](options)


def _list(options: argparse.Namespace) -> int:
    from tracekit.durable.owning import existing_store

    damaged: list[TracekitError] = []
    store = existing_store(options.store)
    rows = store.reviews(open_only=not options.all, damaged=damaged.append)
    claims = _standing(store)
    for error in damaged:
        say(f"tracekit: {error}")
    if options.format == "json":
        print_json([_fields(row, claims) for row in rows])
    else:
        head = ("review", "task", "reason", "break point", "status", "claimed by")
        print_table(
            head,
            [
                (
                    r.review_id,
                    r.task_id,
                    r.reason,
                    _panel(r)["break_point"],
                    _status(r),
                    _who_has(r, claims) or "–",
                )
                for r in rows
            ],
        )
    if any(row.status == "open" for row in rows):
        return Exit.WAITING
    return Exit.DAMAGE if damaged else Exit.CLEAN


def _show(options: argparse.Namespace) -> int:
    from tracekit.durable.api import review_of
    from tracekit.durable.owning import existing_store
    from tracekit.durable.reviewing import is_open

    store = existing_store(options.store)
    row = review_of(store, options.review)
    claims = _standing(store)
    if options.format == "json":
        print_json(_fields(row, claims))
        return Exit.CLEAN
    panel = _panel(row)
    facts = [
        (name.replace("_", " "), panel[name]) for name in ("goal", "break_point", "reason", "recommendation")
    ]
    facts += [("task", row.task_id), ("options", ", ".join(panel["options"])), ("status", _status(row))]
    facts += [("answers", ", ".join(panel["answers"]))] if panel.get("answers") else []
    facts += [("seen", row.args_digest)] if row.args_digest else []
    facts += [(name, inline(value)) for name, value in panel["details"].items()]
    facts += _sent(store, row)
    facts += [("claimed by", who)] if (who := _who_has(row, claims)) else []
    facts += [("decided", f"{row.decision} by {row.decided_by}")] if row.decision else []
    facts.append(("look closer", _look_closer(store, row)))
    print_table(("review", row.review_id), facts)
    if is_open(row):
        _print_answers(store, row, panel)
    elif row.status == "open":
        print(f"\nnobody answered in time; {_what_goes_on(store, row, worker=False)} asks anew")
    return Exit.CLEAN


def _look_closer(store: Store, row: ReviewRow) -> str:
    """Where the whole task is seen; its log lies on the machines that ran it."""
    from tracekit.durable.next_commands import store_option

    task = shlex.quote(row.task_id)
    return f"`tracekit plan {task}{store_option(store)}`; each step where its log is: `tracekit show {task}`"


def _status(row: ReviewRow) -> str:
    """How the question stands, in a word; one that nobody answered in time takes no answer any more."""
    from tracekit.durable.reviewing import is_open

    return "expired" if row.status == "open" and not is_open(row) else row.status


def _sent(store: Store, row: ReviewRow) -> list[tuple[str, str]]:
    """By what the service behind an effect can find the request: its key, and when it was first sent."""
    state = store.load(row.task_id) if row.effect_key else None
    effects = state.effects if state is not None else ()
    return [
        fact
        for effect in effects
        if effect.key == row.effect_key
        for fact in (
            ("key sent", effect.key),
            ("first sent", f"{clock.rfc3339(effect.intent_ms * 1_000_000)}, {effect.attempt} time(s) in all"),
        )
    ]


def _print_answers(store: Store, row: ReviewRow, panel: Mapping[str, Any]) -> None:
    """What may be decided, what each does, and the line that decides it."""
    from tracekit.durable.next_commands import store_option
    from tracekit.durable.reviewing import MEANINGS

    needs = {"done": " --result JSON", "edit": " --arguments JSON"}
    print(f"\ndecide, then {_what_goes_on(store, row)} carries it out:")
    answers = [(name, "your answer to the question") for name in panel.get("answers", ())]
    options = [
        (f"{name}{needs.get(name, '')}", MEANINGS.get(name, ""))
        for name in panel["options"]
        if not (answers and name == "done")
    ]
    lines = [
        (f"  tracekit review decide {row.review_id} {words}{store_option(store)}", means)
        for words, means in answers + options
    ]
    width = max(len(command) for command, _ in lines)
    for command, means in lines:
        print(f"{visible(command):{width}}  {means}")


def _what_goes_on(store: Store, row: ReviewRow, *, worker: bool = True) -> str:
    from tracekit.durable.ids import SCOPE_FUNCTION
    from tracekit.durable.next_commands import what_goes_on

    try:
        state = store.load(row.task_id)
    except TracekitError:
        state = None  # a damaged row, which may be what the question is about
    is_scope = state is not None and state.task.function == SCOPE_FUNCTION
    return visible(what_goes_on(store, row.task_id, is_scope=is_scope, worker=worker))


def _claim(options: argparse.Namespace) -> int:
    from tracekit.config import settings
    from tracekit.durable.api import person
    from tracekit.durable.owning import existing_store

    store, who = existing_store(options.store), options.by or person()
    if options.back:
        given_back = store.unclaim_review(options.review, by=who)
        print(f"{options.review}: {'claimed by nobody' if given_back else f'{who} has no claim on it'}")
        return Exit.CLEAN
    for_s = settings().claim_s if options.minutes is None else options.minutes * 60
    row = store.claim_review(options.review, by=who, for_s=for_s, instead_of=options.take_over)
    if options.format == "json":
        print_json(asdict(row))
    else:
        print(
            f"{row.review_id}: claimed by {row.claimed_by} for {for_s / 60:g} min; others see it and may still decide"
        )
    return Exit.CLEAN


def _decide(options: argparse.Namespace) -> int:
    from tracekit.durable.api import decide, person
    from tracekit.durable.owning import existing_store

    decision, result = _answer(options)
    if decision == "done" and result is None and options.result is None:
        raise UsageError(
            "`done` needs --result JSON, what the call would have answered: it can't be changed later, and what comes "
            "next is told it; `--result null` where there is nothing to say"
        )
    claim = _standing(existing_store(options.store)).get(options.review)
    row = decide(
        options.review,
        decision,
        by=options.by,
        result=result,
        arguments=_json(options.arguments, "--arguments"),
        args_digest=options.seen,
        store=options.store,
    )
    if claim is not None and claim.claimed_by != (options.by or person()):
        say(f"tracekit: {claim.claimed_by} had claimed this question; tell them that it is decided")
    if options.format == "json":
        print_json(_fields(row, {}))
    else:
        by = _what_goes_on(existing_store(options.store), row)
        print(visible(f"{row.review_id}: {row.decision} by {row.decided_by}; {by} carries it out"))
    return Exit.CLEAN


def _answer(options: argparse.Namespace) -> tuple[str, Any]:
    """Decision and result; one of the answers that a question of the agent offers may be given as it is."""
    from tracekit.durable.api import review_of
    from tracekit.durable.owning import existing_store

    result = _json(options.result, "--result")
    row = review_of(existing_store(options.store), options.review)
    if result is None and options.decision in _panel(row).get("answers", ()):
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


def _standing(store: Store) -> dict[str, ClaimRow]:
    """Claims that are not over, by review id."""
    now_ms = clock.now_ms()
    return {claim.review_id: claim for claim in store.claims() if claim.stands(now_ms)}


def _who_has(row: ReviewRow, claims: Mapping[str, ClaimRow]) -> str | None:
    """Who has claimed the question, since how many minutes, and how many are left."""
    claim = claims.get(row.review_id)
    if claim is None:
        return None
    now_ms = clock.now_ms()
    since, left = max(0, now_ms - claim.claimed_ms) // 60_000, -(-(claim.until_ms - now_ms) // 60_000)
    return f"{claim.claimed_by}, since {since} min, {left} min left"


def _fields(row: ReviewRow, claims: Mapping[str, ClaimRow]) -> dict[str, Any]:
    claim = claims.get(row.review_id)
    return {**asdict(row), "panel": _panel(row), "claim": None if claim is None else asdict(claim)}


COMMAND = Command("review", "questions that wait for a person: list, show, claim, decide", _configure, _run)
