"""What a log itself says about its tools: how often, how fast, with which arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import orjson

from tracekit_analyzers.relations import frugal, statement

ENOUGH_CALLS = 5
"""Good calls from which on a key that all of them have counts as required."""

ENOUGH_FOR_CHOICES = 20
"""Good calls from which on a few repeated texts count as the only choices."""

MOST_CHOICES = 8
_REPEATED = 5

Fact = tuple[Any, ...]
"""Tool, calls, good calls, median and deviation of their time, schema of its arguments: a row of `tool_facts`."""

_TYPES = {
    "VARCHAR": "string",
    "BIGINT": "integer",
    "UBIGINT": "integer",
    "HUGEINT": "integer",
    "DOUBLE": "number",
    "BOOLEAN": "boolean",
    "OBJECT": "object",
    "ARRAY": "array",
    "NULL": "null",
}


def learn(con: duckdb.DuckDBPyConnection) -> None:
    """Make the relation `tool_facts` over all traces of the log."""
    frugal.run(con, statement("tool_facts"))
    schemas: dict[str, dict[str, Any]] = {}
    rows = frugal.run(con, statement("tool_arguments"))
    for tool, key, types, present, calls, distinct_texts, texts, choices in rows:
        schema = schemas.setdefault(tool, {"type": "object", "properties": {}, "required": []})
        schema["properties"][key] = _property(types, distinct_texts, texts, choices)
        if calls >= ENOUGH_CALLS and present == calls:
            schema["required"].append(key)
    _show(con, [(name, orjson.dumps(schemas[name]).decode()) for name in sorted(schemas)])


def learned(con: duckdb.DuckDBPyConnection) -> list[Fact]:
    """The rows of `tool_facts`, to be handed to an analysis of a part of the log."""
    return con.execute(
        "select tool_name, calls, good_calls, median_ms, mad_ms, schema from tool_facts order by tool_name"
    ).fetchall()


def take_over(con: duckdb.DuckDBPyConnection, rows: Sequence[Fact]) -> None:
    """Make the relation `tool_facts` of what was learned from the whole log."""
    con.execute(
        "create or replace table log.tool_times "
        "(tool_name varchar, calls bigint, good_calls bigint, median_ms double, mad_ms double)"
    )
    if rows:
        columns = [list(column) for column in zip(*(row[:5] for row in rows), strict=True)]
        con.execute("insert into log.tool_times select " + ", ".join(["unnest(?)"] * 5), columns)
    _show(con, [(row[0], row[5]) for row in rows if row[5] is not None])


def _show(con: duckdb.DuckDBPyConnection, schemas: Sequence[tuple[str, str]]) -> None:
    con.execute("create or replace table log.tool_schemas (tool_name varchar, schema json)")
    if schemas:
        con.execute(
            "insert into log.tool_schemas select unnest(?), unnest(?)",
            [[name for name, _ in schemas], [schema for _, schema in schemas]],
        )
    con.execute(
        "create or replace view tool_facts as select t.*, s.schema "
        "from log.tool_times t left join log.tool_schemas s using (tool_name)"
    )


def _property(types: list[str], distinct_texts: int, texts: int, choices: list[str] | None) -> dict[str, Any]:
    """JSON Schema of one argument."""
    names = sorted({_TYPES.get(name, "string") for name in types})
    schema: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
    few = choices is not None and len(choices) <= MOST_CHOICES and texts >= ENOUGH_FOR_CHOICES
    if few and names == ["string"] and texts >= _REPEATED * len(choices or ()):
        schema["enum"] = choices
    return schema
