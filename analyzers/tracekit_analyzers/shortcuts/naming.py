"""Which columns a query names, told by the engine's own parser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import orjson

_UNNAMED = (
    '"POSITIONAL_REFERENCE"',
    '"SHOW_REF"',
    '"NATURAL"',
    '"column_name_alias"',
    '"PIVOT"',
)
"""What takes columns of a table without their names."""


def named(con: duckdb.DuckDBPyConnection, query: str) -> frozenset[str] | None:
    """All words that may be names of columns in *query*, in lower case; None where it may mean columns that it does not name."""
    row = con.execute(
        "select json_serialize_sql(?::varchar, skip_empty := true, skip_null := true)", [query]
    ).fetchone()
    said = str(row[0]) if row else ""
    tree = orjson.loads(said or b"{}")
    if tree.get("error", True) or any(word in said for word in _UNNAMED):
        return None
    if any(place.get("class") == "STAR" for place in _objects(tree)):
        return None
    references = [names for place in _objects(tree) for names in _lists(place)]
    tables = {
        str(place[key]).lower()
        for place in _objects(tree)
        if place.get("type") == "BASE_TABLE"
        for key in ("alias", "table_name")
        if key in place
    }
    # The name of a table alone is its whole row.
    if any(len(names) == 1 and names[0].lower() in tables for names in references):
        return None
    return frozenset(name.lower() for names in references for name in names)


def _lists(place: dict[str, Any]) -> Iterator[list[str]]:
    return (place[key] for key in ("column_names", "using_columns") if key in place)


def _objects(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, list):
        for value in tree:
            yield from _objects(value)
    elif isinstance(tree, dict) and not _orders_by_all(tree):
        yield tree
        for value in tree.values():
            yield from _objects(value)


def _orders_by_all(place: dict[str, Any]) -> bool:
    """Whether it is `order by all`, which means the columns of the answer and no others."""
    return "null_order" in place and place["expression"].get("class") == "STAR"
