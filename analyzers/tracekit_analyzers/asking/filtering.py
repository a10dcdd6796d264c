"""The filter language of lists of traces, made into a condition with parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit import clock
from tracekit.errors import TracekitError

_WORD = re.compile(r'!?(?:[^\s"]+"[^"]*"|"[^"]*"|\S+)')
_TERM = re.compile(r"(?P<not>!?)(?P<field>[a-z_]+)(?P<op><=|>=|!=|=|<|>)(?P<value>.*)", re.DOTALL)
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

_TEXTS = {
    "code": "exists (select 1 from diagnoses d where d.trace_id = t.trace_id and d.code {match})",
    "family": "exists (select 1 from diagnoses d where d.trace_id = t.trace_id and d.family {match})",
    "tool": "exists (select 1 from log.steps s where s.trace_id = t.trace_id and s.tool_name {match})",
    "model": "exists (select 1 from log.steps s where s.trace_id = t.trace_id and s.model {match})",
    "agent": "exists (select 1 from log.steps s where s.trace_id = t.trace_id and s.agent {match})",
    "status": "t.status {match}",
    "name": "t.name {match}",
    "task": "t.task_id {match}",
    "id": "t.trace_id {match}",
    "file": "t.file {match}",
}
_NUMBERS = {
    "cost": "t.cost",
    "tokens": "t.tokens",
    "steps": "t.steps",
    "duration": "t.duration_ms",
    "confidence": "t.confidence",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition over the list of traces `t`, and its positional parameters."""

    sql: str
    parameters: tuple[Any, ...]


Members = Callable[[str], Sequence[str]]
"""Ids of the traces in the group of like failures whose id begins so."""


def condition(text: str, members: Members | None = None) -> Condition:
    """
    The condition for *text*: words are searched in id, task and name, terms such as `code=timeout*`, `cost>0.1` and
    `age<2h` narrow, a leading `!` turns one around; all have to hold.

    Args:
        members: Answers `group=ID`; without it there is no such field.

    Raises:
        TracekitError: `filter.syntax`, with what is wrong and what would be right.
    """
    parts = [_part(word, members) for word in _WORD.findall(text)]
    if not parts:
        return Condition("true", ())
    return Condition(
        " and ".join(part.sql for part in parts), tuple(value for part in parts for value in part.parameters)
    )


def fields(text: str) -> frozenset[str]:
    """The fields that *text* names; words that are searched name none."""
    terms = (_TERM.fullmatch(word) for word in _WORD.findall(text))
    known = {*_TEXTS, *_NUMBERS, "age", "group"}
    return frozenset(term["field"] for term in terms if term is not None and term["field"] in known)


def _part(word: str, members: Members | None) -> Condition:
    term = _TERM.fullmatch(word)
    if term is not None and term["field"] == "group" and members is not None:
        return _group(word, term, members)
    if term is None or term["field"] not in {*_TEXTS, *_NUMBERS, "age"}:
        if term is not None and term["op"] != "=":
            raise _wrong(word, f"there is no field {term['field']!r}")
        return _search(word)
    value = term["value"].strip('"')
    if not value:
        raise _wrong(word, "nothing stands behind the sign")
    made = _field(term["field"])(word, term["field"], term["op"], value)
    return Condition(f"not ({made.sql})", made.parameters) if term["not"] else made


def _field(name: str) -> Callable[[str, str, str, str], Condition]:
    if name == "age":
        return _age
    return _text if name in _TEXTS else _number


def _search(word: str) -> Condition:
    turned, needle = word.startswith("!"), word.removeprefix("!").strip('"').lower()
    sql = "contains(lower(concat_ws(chr(10), t.trace_id, t.task_id, t.name)), ?)"
    return Condition(f"not {sql}" if turned else sql, (needle,))


def _group(word: str, term: re.Match[str], members: Members) -> Condition:
    if term["op"] not in ("=", "!=") or not term["value"]:
        raise _wrong(word, "a group is named by the beginning of its id, such as group=1f0c")
    is_turned = (term["op"] == "!=") != bool(term["not"])
    sql = "t.trace_id in (select unnest(?))"
    return Condition(f"not {sql}" if is_turned else sql, (list(members(term["value"])),))


def _text(word: str, field: str, op: str, value: str) -> Condition:
    if op not in ("=", "!="):
        raise _wrong(word, f"{field} is a text: use = or !=")
    pattern = re.escape(value.lower()).replace(r"\*", ".*").replace(r"\?", ".")
    sql = _TEXTS[field].replace("{match}", "is not null and regexp_full_match(lower({column}), ?)")
    column = re.search(r"(\w\.\w+) is not null", sql)
    made = sql.replace("{column}", column[1] if column else "")
    return Condition(f"coalesce({made}, false)" if op == "=" else f"not coalesce({made}, false)", (pattern,))


def _number(word: str, field: str, op: str, value: str) -> Condition:
    try:
        number = float(value)
    except ValueError:
        raise _wrong(word, f"{field} is a number, such as {field}>10") from None
    return Condition(f"coalesce({_NUMBERS[field]} {op} ?, false)", (number,))


def _age(word: str, _field: str, op: str, value: str) -> Condition:
    match = _AGE.fullmatch(value)
    if match is None or op not in ("<", ">", "<=", ">="):
        raise _wrong(word, "an age reads like age<2h (s, m, h, d, w)")
    seconds = float(match[1]) * _UNIT_S[match[2]]
    return Condition(f"coalesce(? - epoch(t.started_at) {op} ?, false)", (clock.now_ns() / 1e9, seconds))


def _wrong(word: str, why: str) -> TracekitError:
    return TracekitError(
        "filter.syntax",
        f"can't read {word!r}: {why}; fields are {', '.join(sorted({*_TEXTS, *_NUMBERS, 'age'}))}",
    )
