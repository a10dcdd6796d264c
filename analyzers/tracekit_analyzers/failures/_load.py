"""Reading the SQL and the confidence table that stand beside the failure classes."""

from __future__ import annotations

import tomllib
from pathlib import Path

_HERE = Path(__file__).parent


def sql_beside(module_file: str) -> str:
    """Text of the `.sql` file with the same name as the module at *module_file*."""
    return Path(module_file).with_suffix(".sql").read_text(encoding="utf-8")


def confidences() -> dict[str, float]:
    """Confidence of each rule by its id, as `confidence.toml` has it."""
    table = tomllib.loads((_HERE / "confidence.toml").read_text(encoding="utf-8"))
    return {f"{code}/{name}": float(value) for code, rules in table.items() for name, value in rules.items()}


def prelude() -> tuple[str, ...]:
    """
    Statements that make what all classes share, to be run once on the connection that then runs the classes.

    They make temporary tables and macros only: nothing in the database or index file changes, and running them again
    replaces what they made.
    """
    entries = ", ".join(f"'{rule}': {value}" for rule, value in sorted(confidences().items()))
    sure = f"CREATE OR REPLACE TEMP MACRO sure(rule) AS MAP {{{entries}}}[rule]"
    files = sorted((_HERE / "prelude").glob("*.sql"))
    return (sure, *(path.read_text(encoding="utf-8") for path in files))
