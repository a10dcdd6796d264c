"""The statements that make the relations; README.md says what each relation holds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@cache
def statement(name: str) -> str:
    """Text of `NAME.sql`."""
    return (_HERE / f"{name}.sql").read_text(encoding="utf-8")
