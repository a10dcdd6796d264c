"""Values nested so deep that looking at each of their places would take hours: put away, and told as damage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

import duckdb
import orjson

from tracekit_analyzers.reading.damage import Damage

DEEPEST = 1_000
"""Levels of a value that are looked at. The path of a place is as long as its depth, and a value may have a place at each level."""

_FIELDS = ("input_snapshot", "output_snapshot", "model_raw_output", "asked", "message", "attributes", "effect", "context", "source")  # fmt: skip
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NOT_BRACKETS = re.compile(r"[^\[\]{}]+")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def put_away(con: duckdb.DuckDBPyConnection, damage: Damage) -> None:
    """Replace each value of `lines` that is nested deeper than `DEEPEST` by a marker, and tell it."""
    for field in _FIELDS:
        for n, file, line, said in _suspected(con, field):
            levels = depth(said)
            if levels <= DEEPEST:
                continue
            reason = f"too_deep {field}: {levels} levels of nesting; a marker stands for it"
            damage.bad(file=file, line=line, offset=None, reason=reason, data=said)
            marker = orjson.dumps({"$tk": {"type": "too_deep"}}).decode()
            con.execute(f"update lines set {field} = ? where rowid = ?", [marker, n])


def depth(text: str) -> int:
    """How many brackets are open at most at one place of *text*; inside of strings only where all of it is one string."""
    while text.startswith('"'):
        try:
            text = orjson.loads(text)
        except orjson.JSONDecodeError:
            break
    brackets = _NOT_BRACKETS.sub("", _TEXTS.sub("", text))
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def _suspected(con: duckdb.DuckDBPyConnection, field: str) -> Iterator[tuple[int, str, int, str]]:
    """Row, file, line and text of each value of *field* with more than `DEEPEST` brackets that open."""
    said = f"cast({field} as varchar)"
    opening = f"strlen({said}) - strlen(replace(replace({said}, '[', ''), '{{', ''))"
    places = con.execute(
        f"select l.rowid, file, coalesce(try_cast(source ->> '$.line' as bigint), l.rowid - first_n + 1) "
        f"from lines l left join log.files using (file) "
        f"where case when strlen({said}) > {2 * DEEPEST} then {opening} > {DEEPEST} end order by l.rowid"
    ).fetchall()
    for n, file, line in places:
        for (text,) in con.execute(f"select {said} from lines where rowid = ?", [n]).fetchall():
            yield n, file, line, text
