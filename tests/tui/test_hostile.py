"""Hostile text through every screen: nothing crashes, nothing acts, the frame stays straight."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.tui.driving import explorer, press, screen_text
from tests.tui.fake_analysis import FakeAnalysis

WORDS = {
    "markup": "[bold]x[/] [/] [@click=app.quit]y[/] [[ ]",
    "codes and directions": "\x1b]52;c;aGFjaw==\x07\x1b[2J\x9b31m\x00\r\b \u202eevil\u202c \u2066a\u2069 \u200b\u200d\ufeff",
    "wide": "日本語テキスト 👩\u200d👩\u200d👧 ❤\ufe0f 🇩🇪 e\u0301 a" + "\u0301" * 50,
    "halves and lines": "\ud83d and \udc00 one\ntwo\r\nthree\u2028four\ttab",
    "long": "y" * 200_000,
}
KEYS = ("enter", "d", "d", "d", "d", "d", "y", "escape", "3", "y", "escape", "4", "5", "6", "f5", "escape", "escape",
        "7", "ctrl+w", "escape", "1", "a", "y", "escape", "escape", "space", "j", "space", "equals_sign", "question_mark", "escape")  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
async def test_hostile_text_is_only_text_on_every_screen(name: str) -> None:
    analysis = FakeAnalysis(word=WORDS[name])
    size = (100, 30)
    async with explorer(analysis, size=size) as (app, pilot):
        for key in KEYS:
            await press(pilot, key)
            assert app.is_running
            lines = screen_text(app).split("\n")
            assert {cell_len(line) for line in lines} == {size[0]}, (key, name)
            assert not any(
                ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for line in lines for letter in line
            )
