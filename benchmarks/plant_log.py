"""
Faults that are planted into the native records of a clean run, each with its label: what a list of messages cannot show.

Positions are those of `source.index`, as in plant_chat.py.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracekit.snapshot import context_digest

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlantedLog:
    """The records of a run with one fault."""

    records: list[Record]
    code: str
    cause: int
    failed: int
    killed: bool = False
    """Its process is gone: the file has no closing line."""


LogFault = Callable[[list[Record], random.Random], PlantedLog | None]

DEAD_PROCESS = "00000000deadbeef"


def altered_argument(records: list[Record], rng: random.Random) -> PlantedLog | None:
    """The tool receives another value than the model wrote."""
    places = [
        (n, key)
        for n, record in _steps(records, "tool")
        if isinstance(record.get("input_snapshot"), dict)
        for key, value in record["input_snapshot"].items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    ]
    if not places:
        return None
    at, key = rng.choice(places)
    changed = copy.deepcopy(records)
    received = changed[at]["input_snapshot"]
    value = received[key]
    received[key] = (
        value * 100 + 1 if isinstance(value, int | float) else value[:-1] + ("x" if value[-1] != "x" else "y")
    )
    index = _index(changed[at])
    return PlantedLog(changed, "parameter.altered", index, index)


def no_answer(records: list[Record], rng: random.Random) -> PlantedLog | None:
    """A tool got no answer within its limit, and the run ends there."""
    return _ended(
        records, rng, "tool", "timeout.no_answer", "unknown", "httpx.ReadTimeout", "no answer within 10 s"
    )


def rate_limited(records: list[Record], rng: random.Random) -> PlantedLog | None:
    """A model or a tool is told to wait, and the run ends there."""
    kind = rng.choice(("model", "tool"))
    error_type, said = rng.choice(
        (
            ("openai.RateLimitError", "Error code: 429 - Too Many Requests"),
            ("anthropic.RateLimitError", "Error code: 429 - {'type': 'rate_limit_error'}"),
            ("botocore.errorfactory.ThrottlingException", "Rate exceeded"),
            ("google.api_core.exceptions.ResourceExhausted", "Quota exceeded for requests per minute"),
        )
    )
    return _ended(records, rng, kind, "timeout.rate_limited", "error", error_type, said)


def overflow(records: list[Record], rng: random.Random) -> PlantedLog | None:
    """A model call no longer fits into the context."""
    said = rng.choice(
        (
            "Error code: 400 - This model's maximum context length is 128000 tokens, your messages hold 131072 tokens",
            "prompt is too long: 208310 tokens > 200000 maximum",
            "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
            "Requested tokens exceed context window of 4096",
        )
    )
    return _ended(records, rng, "model", "context.overflow", "error", "openai.BadRequestError", said)


def dropped_message(records: list[Record], rng: random.Random) -> PlantedLog | None:
    """From one model call on, messages that earlier ones had are missing."""
    contexts = _contexts(records)
    places = [n for n, hashes in contexts.items() if len(hashes) >= 6]
    if not places:
        return None
    at = rng.choice(places)
    first = rng.randint(1, len(contexts[at]) - 4)
    gone = set(contexts[at][first : first + rng.randint(1, 2)])
    changed = copy.deepcopy(records)
    for n, hashes in contexts.items():
        left = [name for name in hashes if n < at or name not in gone]
        changed[n]["context"] = {
            "digest": context_digest(left), "count": len(left), "base": None, "keep": 0, "hashes": left, "complete": True,
        }  # fmt: skip
    index = _index(changed[at])
    return PlantedLog(changed, "context.truncated", index, index)


def kill(records: list[Record], rng: random.Random) -> PlantedLog | None:
    """The process is killed while a step runs."""
    places = [n for n, record in enumerate(records) if record["record"] == "step" and n > 2]
    if not places:
        return None
    at = rng.choice(places)
    changed = copy.deepcopy(records[: at + 1])
    for field in ("output_snapshot", "finished_at", "duration_ms", "asked", "finish_reason", "attributes"):
        changed[at].pop(field, None)
    if changed[at]["kind"] == "model":
        changed[at].pop("model_raw_output", None)
    changed[at]["status"] = "running"
    for record in changed:
        if record["record"] == "step":
            record["process_id"] = DEAD_PROCESS
    index = _index(changed[at])
    return PlantedLog(changed, "process.killed", index, index, killed=True)


def _ended(
    records: list[Record], rng: random.Random, kind: str, code: str, status: str, error_type: str, said: str
) -> PlantedLog | None:
    """The run up to a step of *kind*, which ends in an error."""
    places = [n for n, record in _steps(records, kind)]
    if not places:
        return None
    at = rng.choice(places)
    changed = copy.deepcopy(records[: at + 1])
    for field in ("output_snapshot", "asked", "finish_reason", "attributes"):
        changed[at].pop(field, None)
    if kind == "model":
        changed[at].pop("model_raw_output", None)
    changed[at].update(status=status, error_type=error_type, error_message=said)
    index = _index(changed[at])
    return PlantedLog(changed, code, index, index)


def _steps(records: list[Record], kind: str) -> list[tuple[int, Record]]:
    return [
        (n, record)
        for n, record in enumerate(records)
        if record["record"] == "step" and record["kind"] == kind
    ]


def _index(record: Record) -> int:
    return int(record["source"]["index"])


def _contexts(records: list[Record]) -> dict[int, list[str]]:
    """The whole list of message hashes of each model step, by the step's position."""
    by_digest: dict[str, list[str]] = {}
    found: dict[int, list[str]] = {}
    for n, record in _steps(records, "model"):
        context = record.get("context")
        if context:
            hashes = by_digest.get(context["base"] or "", [])[: context["keep"]] + list(context["hashes"])
            by_digest[context["digest"]] = found[n] = hashes
    return found


FAULTS: dict[str, LogFault] = {
    "argument changed in transit": altered_argument,
    "dropped message": dropped_message,
    "no answer": no_answer,
    "429": rate_limited,
    "overflow error": overflow,
    "kill at step k": kill,
}
