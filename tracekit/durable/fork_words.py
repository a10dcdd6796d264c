"""What going back to a step does, in words: the same before it is asked in the explorer and in `tracekit plan --from`."""

from __future__ import annotations

import orjson

from tracekit.durable.fork import RestorePlan
from tracekit.durable.places import named_call
from tracekit.durable.plan import AtRisk
from tracekit.model import EffectStatus, TaskStatus
from tracekit.snapshot import readable, to_log


def restore_words(found: RestorePlan, new_id: str) -> list[tuple[str, str]]:
    """Name and words of each fact: which task goes on, what is copied, what is made anew, and what is paid again."""
    return [
        ("new task", f"{new_id}, {_in_place_of(found)}"),
        ("copied", _copied(found)),
        ("made anew", ", ".join(found.again) or "nothing"),
        *(("not undone", effect_words(each)) for each in found.effects),
        ("paid again", _paid_again(found)),
    ]


def effect_words(each: AtRisk) -> str:
    """One effect and its arguments on one line."""
    state = "its outcome is not known" if each.status != EffectStatus.SUCCESS else "done"
    return f"{named_call(each.place, each.tool)}, {each.risk}, {state}: {orjson.dumps(readable(to_log(each.arguments))).decode()}"


def _in_place_of(found: RestorePlan) -> str:
    if TaskStatus(found.status).is_final:
        return f"beside {found.task_id}, which stays {found.status} as it is"
    return f"in place of {found.task_id}, which ends as cancelled"


def _copied(found: RestorePlan) -> str:
    calls = "1 finished call" if found.kept_calls == 1 else f"{found.kept_calls} finished calls"
    return (
        f"{calls} before call {found.place} ({found.kept_model_calls} of the model), {found.kept_tokens:,} tokens, "
        f"{found.kept_seconds:.1f} s: none of them is made again"
    )


def _paid_again(found: RestorePlan) -> str:
    if not found.effects:
        return f"nothing: from call {found.place} on, nothing was done outside"
    return (
        "nothing unasked: the same call gets the recorded result; a call of such a tool that differs, or whose outcome "
        "is not known, asks a person first"
    )
