"""The JSON of `analyze` has the fields that its page shows, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli import main

ROOT = Path(__file__).parents[2]
BY_NAME = ("summary.by_family.", "summary.by_code.")
"""Below these stand the names of classes."""


def fields(value: Any, path: str = "") -> set[str]:
    """Paths of all fields in *value*; items of a list count as one."""
    if isinstance(value, list):
        return set().union(*(fields(item, path) for item in value))
    if not isinstance(value, dict):
        return set()
    below = (fields(item, f"{path}{name}.") | {path + name} for name, item in value.items())
    return {name for name in set().union(*below) if not name.startswith(BY_NAME)}


def shown() -> set[str]:
    """The fields of the example in the page."""
    page = (ROOT / "docs" / "analysis-json.md").read_text()
    example = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert example is not None
    return fields(json.loads(example[1]))


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_report_has_every_field_of_the_page_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    torn = tmp_path / "torn.jsonl"
    whole = (ROOT / "sample_traces" / "refund_ok.jsonl").read_text().splitlines(keepends=True)
    torn.write_text(whole[0] + whole[1][:40])
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"schema": "tracekit.analysis/1", "summary": {"groups": []}, "traces": []}))
    main(["analyze", str(ROOT / "sample_traces"), str(torn), "--format", form, "--baseline", str(known)])
    out = capsys.readouterr().out
    first, *rest = [json.loads(line) for line in out.splitlines()] if form == "jsonl" else [json.loads(out)]

    assert fields(first if form == "json" else {**first, "traces": rest}) == shown()
