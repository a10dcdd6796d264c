"""The pictures in docs/tui.md show the screens as they are now."""

from __future__ import annotations

import re

import pytest

from tests.tui.captures import KEYS, PAGE, ROOT, captures, place_of
from tracekit import tools


def bare(text: str) -> list[str]:
    """Lines without frames, blanks and measured times: what a reader reads."""
    text = re.sub(r"\d+ ms", "ms", text)
    lines = (" ".join(re.sub(r"[─-▟]", " ", line).split()) for line in text.split("\n"))
    return [line for line in lines if line]


async def test_every_picture_is_what_the_screen_shows_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    # Tools that other tests have declared in this process would be known to the recovery screen.
    monkeypatch.setattr(tools, "_registry", {})
    page = PAGE.read_text(encoding="utf-8")
    now = await captures()

    assert list(now) == list(KEYS)
    for name, text in now.items():
        shown = place_of(name, page).partition("```text\n")[2].rpartition("\n```")[0]
        assert bare(shown) == bare(text), f"{name}: `python -m tests.tui.captures` makes the pictures anew"
