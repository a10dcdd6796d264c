"""Named SQL from files: `-- name: NAME` opens a statement; a dialect's own file adds to the common one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_NAME = re.compile(r"^-- name: *(\w+)\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<!:):(\w+)")


class Migration(NamedTuple):
    """One numbered step of the schema."""

    version: int
    sql: str


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """Statements of *dialect* (`sqlite` or `postgres`) by name, with `:name` parameters."""
    return parse(_read("queries.sql")) | parse(_read(f"{dialect}/queries.sql"))


def parse(text: str) -> dict[str, str]:
    """Statements by name; comment lines are left out."""
    _, *parts = _NAME.split(text)
    return {
        name: "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip().rstrip(";")
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def with_parameters(sql: str, write: Callable[[str], str]) -> str:
    """*sql* with each `:name` replaced by `write(name)`."""
    return _PARAMETER.sub(lambda match: write(match[1]), sql)


def schema(dialect: str) -> str:
    """The whole schema, as a new store gets it."""
    return _read(f"{dialect}/schema.sql")


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """All steps of the schema in order; applied one after the other they give `schema`."""
    folder = files("tracekit.store") / "sql" / dialect / "migrations"
    found = [
        Migration(int(entry.name.split("_")[0]), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return tuple(sorted(found))


def schema_version(dialect: str) -> int:
    """The version that this tracekit reads and writes."""
    return migrations(dialect)[-1].version


def _read(name: str) -> str:
    path = files("tracekit.store") / "sql"
    for part in name.split("/"):
        path = path / part
    return path.read_text(encoding="utf-8")
