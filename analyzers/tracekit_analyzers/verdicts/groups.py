"""Like failures over many traces: one group for each class, tool and wording, and what is new since a baseline."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from tracekit.errors import TracekitError
from tracekit.model import ANALYSIS_SCHEMA
from tracekit_analyzers.model import Diagnosis, TraceVerdict

LONGEST_WORDING = 140

_REPORT = re.compile(rb'\s*\{\s*"schema"\s*:\s*"' + re.escape(ANALYSIS_SCHEMA).encode() + rb'"')
"""How a report begins, also one that a formatter has been over."""
_VARIABLE = (
    (re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+"), "URL"),
    (re.compile(r"""(["'`]).{0,200}?\1"""), "'…'"),
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.]+"), "MAIL"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "#"),
    # Ids: words that hold a digit, with what is tied to them by - _ . : or #.
    (re.compile(r"#?\b[\w.:#-]*\d[\w.:#-]*"), "#"),
    (re.compile(r"(# ?)+(?=#)"), ""),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Failures of one class at one tool in the same words, over all traces; what the agent got over does not count."""

    id: str
    """16 hex digits made of class, tool and wording: the same in every analysis."""
    code: str
    tool: str | None
    wording: str
    """The message with ids, numbers, quoted texts and addresses taken out."""
    failures: int
    traces: int
    share: float
    """Of all traces, 0 to 1."""
    lost_ms: float
    """Time of the traces whose primary verdict is of this group."""
    first_seen: datetime | None
    """Begin of the first trace in which it stands, aware UTC."""
    last_seen: datetime | None
    example: str
    """Trace id of the first of them, in the order of the log."""
    is_new: bool | None = None
    """Whether the baseline does not have it; None without a baseline."""


def groups(traces: Sequence[TraceVerdict], baseline: frozenset[str] | None = None) -> tuple[Group, ...]:
    """All groups, those in most traces first; *baseline* holds the ids of groups that are known."""
    return tuple(each.group for each in grouped(traces, baseline))


@dataclass(frozen=True, slots=True)
class Grouped:
    """A group and the traces in which it stands."""

    group: Group
    trace_ids: tuple[str, ...]
    """In the order of the log."""


def grouped(traces: Sequence[TraceVerdict], baseline: frozenset[str] | None = None) -> tuple[Grouped, ...]:
    """As `groups`, with the traces of each."""
    members: dict[tuple[str, str, str], list[tuple[TraceVerdict, bool]]] = defaultdict(list)
    for trace in traces:
        for place, found in enumerate(trace.diagnoses):
            if not found.recovered:
                members[_key(found)].append((trace, place == trace.primary))
    made = [
        Grouped(
            _group(key, found, len(traces), baseline),
            tuple(dict.fromkeys(trace.trace_id for trace, _ in found)),
        )
        for key, found in members.items()
    ]
    return tuple(sorted(made, key=_most_first))


def _most_first(each: Grouped) -> tuple[int, int, str, str]:
    group = each.group
    return -group.traces, -group.failures, group.code, group.id


def group_id(found: Diagnosis) -> str:
    """The id of the group that *found* belongs to."""
    return _id(_key(found))


def wording(message: str) -> str:
    """*message* with what differs from one failure to the next taken out."""
    for pattern, instead in _VARIABLE:
        message = pattern.sub(instead, message)
    return message.strip()[:LONGEST_WORDING]


def ids_of_report(data: bytes) -> frozenset[str] | None:
    """Ids of the groups that a JSON or JSON Lines report tells; None when *data* is no report of ours."""
    try:
        report: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            report = orjson.loads(data.partition(b"\n")[0])
        except orjson.JSONDecodeError:
            return None
    if not isinstance(report, dict) or report.get("schema") != ANALYSIS_SCHEMA:
        return None
    told = report.get("summary", {}).get("groups")
    if told is None:
        raise TracekitError(
            "baseline.too_old",
            "the report was written by a version that told no groups: name the logs themselves, or make it anew",
        )
    return frozenset(str(group["id"]) for group in told)


def read_baseline(path: Path) -> frozenset[str]:
    """Ids of the groups in *path*: a report of `analyze --format json` or `jsonl`, or logs, which are analysed."""
    if path.is_file():
        with path.open("rb") as stream:
            is_report = _REPORT.match(stream.read(200))
        known = ids_of_report(path.read_bytes()) if is_report else None
        if known is not None:
            return known
    from tracekit_analyzers.engine import Engine

    with Engine([path]) as engine:
        engine.load()
        return frozenset(group.id for group in groups(tuple(engine.verdicts.values())))


def _key(found: Diagnosis) -> tuple[str, str, str]:
    return found.code, found.tool or "", wording(found.message)


def _id(key: Iterable[str]) -> str:
    return sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _group(
    key: tuple[str, str, str],
    found: Sequence[tuple[TraceVerdict, bool]],
    all_traces: int,
    baseline: frozenset[str] | None,
) -> Group:
    hit = {trace.trace_id: trace for trace, _ in found}
    times = [trace.started_at for trace in hit.values() if trace.started_at is not None]
    name = _id(key)
    return Group(
        id=name,
        code=key[0],
        tool=key[1] or None,
        wording=key[2],
        failures=len(found),
        traces=len(hit),
        share=round(len(hit) / all_traces, 6),
        lost_ms=round(sum(trace.duration_ms or 0.0 for trace, primary in found if primary), 3),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        example=next(iter(hit)),
        is_new=None if baseline is None else name not in baseline,
    )
