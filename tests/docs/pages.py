"""What stands in the pages: fenced blocks with their place, and commands named in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("*.md", "docs/*.md", "examples/**/*.md", "sample_traces/*.md")
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in FOLDERS
    for path in ROOT.glob(pattern)
    if path.name != "AGENTS.md"
)

NOT_RUN = re.compile(r"^<!-- not run: (\S.{9,}) -->$")
"""Stands right above a block that no test runs, and says why."""

FENCE = re.compile(r"^```(\w*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    """Line of its first row, from 1."""
    language: str
    text: str
    reason: str | None
    """Why it is not run; None for one that is."""


def blocks(page: str) -> list[Block]:
    """The fenced blocks of *page* in their order; raises when one is never closed."""
    rows = (ROOT / page).read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    start: int | None = None
    language = ""
    for number, row in enumerate(rows):
        fence = FENCE.match(row)
        if fence is None:
            continue
        if start is None:
            start, language = number, fence[1]
            continue
        above = NOT_RUN.match(rows[start - 1]) if start else None
        text = "\n".join(rows[start + 1 : number]) + "\n"
        found.append(Block(page, start + 2, language, text, above[1] if above else None))
        start = None
    if start is not None:
        raise ValueError(f"{page}:{start + 1}: a block that nothing closes")
    return found


def commands_named(page: str) -> Iterator[str]:
    """Every `tracekit ...` in the text of *page*, outside of its blocks."""
    text = re.sub(
        r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    yield from re.findall(r"`(tracekit(?: [^`\n]*)?)`", text)
