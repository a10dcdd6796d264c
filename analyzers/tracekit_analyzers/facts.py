"""What a log itself says about its tools: how often, how fast, with which arguments."""

from __future__ import annotations

from typing import Any

import duckdb
import orjson

from tracekit_analyzers.relations import statement

ENOUGH_CALLS = 5
"""Good calls from which on a key that all of them have counts as required."""

ENOUGH_FOR_CHOICES = 20
"""Good calls from which on a few repeated texts count as the only choices."""

MOST_CHOICES = 8
_REPEATED = 5

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
    con.execute(statement("tool_facts"))
    schemas: dict[str, dict[str, Any]] = {}
    rows = con.execute(statement("tool_arguments")).fetchall()
    for tool, key, types, present, calls, distinct_texts, texts, choices in rows:
        schema = schemas.setdefault(tool, {"type": "object", "properties": {}, "required": []})
        schema["properties"][key] = _property(types, distinct_texts, texts, choices)
        if calls >= ENOUGH_CALLS and present == calls:
            schema["required"].append(key)
    con.execute("create or replace table log.tool_schemas (tool_name varchar, schema json)")
    if schemas:
        names = sorted(schemas)
        con.execute(
            "insert into log.tool_schemas select unnest(?), unnest(?)",
            [names, [orjson.dumps(schemas[name]).decode() for name in names]],
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
