"""The table of promises in docs/recovery.md names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "recovery.md").read_text("utf-8").partition("## Each promise")[2]
NAMED = sorted(set(re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", TABLE)))


def test_every_promise_of_the_table_names_a_test() -> None:
    rows = [
        row for row in TABLE.splitlines() if row.startswith("| ") and not row.startswith(("| promise", "|-"))
    ]
    assert len(rows) >= 10
    assert all("`test_" in row for row in rows)


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_is_there(file: str, test: str) -> None:
    (path,) = (ROOT / "tests").rglob(file)
    assert f"def {test}(" in path.read_text("utf-8") if test else path.exists()
