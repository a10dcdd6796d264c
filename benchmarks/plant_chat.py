"""
Faults that are planted into the messages of a clean run, each with its label.

A fault gives back the changed messages and where it shows: the code, the message of the cause and the message of the
failed step, as 0-based positions. It gives None when the run has no place for it.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Planted:
    """A run with one fault."""

    messages: list[Message]
    code: str
    cause: int
    """Position of the message that holds the outcome of the causing step."""
    failed: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a run with the places of its request and its answer."""

    asked_at: int
    nth: int
    """Position among the calls of its turn."""
    answered_at: int
    name: str
    arguments: dict[str, Any]
    answer: Any
    """Parsed where it is JSON, else text."""


ChatFault = Callable[[list[Message], random.Random], Planted | None]


def calls(messages: list[Message]) -> Iterator[Call]:
    """Every answered call with arguments in JSON."""
    for at, message in enumerate(messages):
        for nth, asked in enumerate(message.get("tool_calls") or ()):
            answered_at = next((n for n in range(at + 1, min(at + 12, len(messages))) if messages[n].get("tool_call_id") == asked["id"]), None)  # fmt: skip
            arguments = _json(asked["function"]["arguments"])
            if answered_at is not None and isinstance(arguments, dict):
                answer = messages[answered_at]["content"]
                yield Call(at, nth, answered_at, asked["function"]["name"], arguments, _json(answer, answer))


def stale_value(messages: list[Message], rng: random.Random) -> Planted | None:
    """A read is made once more and says something else; a later call still uses what the first one said."""
    known = list(calls(messages))
    places = [
        (source, use, key, value)
        for source in known
        if isinstance(source.answer, dict)
        for use in known
        if use.asked_at > source.answered_at and use.nth == 0
        for key, value in _scalars(use.arguments)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 2
        and _holds(source.answer, value)
        and not any(_text(value) in str(m["content"]) for m in messages[source.answered_at + 1 : use.asked_at] if m["role"] in ("user", "tool"))
    ]  # fmt: skip
    if not places:
        return None
    source, use, _, value = rng.choice(places)
    newer = _replaced(source.answer, value, round(value * 1.25 + 3, 2))
    changed = copy.deepcopy(messages)
    pair = _turn(source.name, source.arguments, newer, rng)
    changed[use.asked_at : use.asked_at] = pair
    return Planted(changed, "context.stale_value", use.asked_at + 2, use.answered_at + 2)


def invented_id(messages: list[Message], rng: random.Random) -> Planted | None:
    """The model writes an id of the right shape that nothing gave it; the tool says that it knows none such, or goes on."""
    places = [
        (call, key, value)
        for call in calls(messages)
        for key, value in call.arguments.items()
        if isinstance(value, str)
        and re.search(r"(^|_)id$", key)
        and re.search(r"\d", value)
        and len(value) >= 5
    ]
    if not places:
        return None
    call, key, value = rng.choice(places)
    fresh = _fresh(value, rng)
    changed = copy.deepcopy(messages)
    _set_arguments(changed, call, json.dumps({**call.arguments, key: fresh}))
    if rng.random() < 0.5:
        changed[call.answered_at]["content"] = f"Error: {key.removesuffix('_id')} not found"
        changed = [*changed[: call.answered_at + 1], _said("I could not find that, I am sorry.")]
    return Planted(changed, "parameter.unknown_reference", call.asked_at, call.answered_at)


def truncated_json(messages: list[Message], rng: random.Random) -> Planted | None:
    """The argument text stops in the middle, and the harness says so."""
    places = [call for call in calls(messages) if len(json.dumps(call.arguments)) > 20]
    if not places:
        return None
    call = rng.choice(places)
    raw = json.dumps(call.arguments)
    changed = copy.deepcopy(messages)[: call.answered_at + 1]
    _set_arguments(changed, call, raw[: int(len(raw) * rng.uniform(0.3, 0.8))].rstrip('}"'))
    changed[call.answered_at]["content"] = "Error: could not parse the arguments: Unterminated string"
    return Planted(changed, "parameter.truncated", call.asked_at, call.answered_at)


def schema_change(messages: list[Message], rng: random.Random) -> Planted | None:
    """From one answer on the tool calls a key by another name."""
    places = [call for call in calls(messages) if isinstance(call.answer, dict) and len(call.answer) >= 2]
    if not places:
        return None
    call = rng.choice(places)
    key = rng.choice(sorted(call.answer))
    renamed = {("data_" + k if k == key else k): v for k, v in call.answer.items()}
    changed = copy.deepcopy(messages)
    changed[call.answered_at]["content"] = json.dumps(renamed)
    return Planted(changed, "tool.schema_changed", call.answered_at, call.answered_at)


def loop(messages: list[Message], rng: random.Random) -> Planted | None:
    """The same call with the same answer several times over."""
    places = [call for call in calls(messages) if len(messages[call.asked_at]["tool_calls"]) == 1]
    if not places:
        return None
    call = rng.choice(places)
    rounds = rng.randint(3, 6)
    changed = copy.deepcopy(messages)
    for _ in range(rounds):
        changed[call.answered_at + 1 : call.answered_at + 1] = _turn(
            call.name, call.arguments, call.answer, rng
        )
    return Planted(changed, "orchestration.loop", call.answered_at + 2, call.answered_at + 2 * rounds)


def swallowed_result(messages: list[Message], rng: random.Random) -> Planted | None:
    """The answer of a call never reaches the model, which goes on."""
    places = [call for call in calls(messages) if call.answered_at + 1 < len(messages)]
    if not places:
        return None
    call = rng.choice(places)
    changed = copy.deepcopy(messages)
    del changed[call.answered_at]
    after = next(
        (n for n in range(call.asked_at + 1, len(changed)) if changed[n]["role"] == "assistant"), None
    )
    if after is None:
        return None
    return Planted(changed, "context.missing_result", call.asked_at, after)


def _turn(name: str, arguments: dict[str, Any], answer: Any, rng: random.Random) -> list[Message]:
    call_id = f"call_{rng.getrandbits(48):012x}"
    function = {"name": name, "arguments": json.dumps(arguments)}
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call_id, "name": name, "content": text},
    ]  # fmt: skip


def _said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _set_arguments(messages: list[Message], call: Call, raw: str) -> None:
    messages[call.asked_at]["tool_calls"][call.nth]["function"]["arguments"] = raw


def _json(text: Any, otherwise: Any = None) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return otherwise


def _text(value: Any) -> str:
    return json.dumps(value).strip('"')


def _scalars(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _scalars(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _scalars(inner, key)
    else:
        yield key, value


def _holds(answer: Any, value: Any) -> bool:
    return any(inner == value and type(inner) is type(value) for _, inner in _scalars(answer))


def _replaced(answer: Any, old: Any, new: Any) -> Any:
    if isinstance(answer, dict):
        return {key: _replaced(inner, old, new) for key, inner in answer.items()}
    if isinstance(answer, list):
        return [_replaced(inner, old, new) for inner in answer]
    return new if answer == old and type(answer) is type(old) else answer


def _fresh(value: str, rng: random.Random) -> str:
    """An id of the same shape with other digits."""
    while True:
        fresh = re.sub(r"\d", lambda _: str(rng.randint(1, 9)), value)
        if fresh != value:
            return fresh


FAULTS: dict[str, ChatFault] = {
    "stale value": stale_value,
    "invented id": invented_id,
    "truncated JSON": truncated_json,
    "schema change": schema_change,
    "loop": loop,
    "swallowed result": swallowed_result,
}
