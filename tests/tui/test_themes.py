"""Colours: sixteen where the terminal has no more, none where nobody wants them, glyphs always."""

from __future__ import annotations

import pytest

from tests.tui.driving import explorer, press, screen_text
from tests.tui.fake_analysis import FakeAnalysis
from tracekit_tui.themes import THEMES, starting_theme


@pytest.mark.parametrize(
    ("environment", "theme"),
    [
        ({"TERM": "xterm-256color"}, "tracekit-dark"),
        ({"TERM": "linux"}, "ansi-dark"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "tracekit-dark"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "ansi-dark"),
        ({"TERM": "xterm-256color", "TRACEKIT_THEME": "light"}, "tracekit-light"),
        ({"TERM": "dumb", "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}, "tracekit-dark"),
        ({"TERM": "xterm-256color", "TRACEKIT_THEME": "16"}, "ansi-dark"),
    ],
)
def test_the_theme_fits_the_terminal_and_the_wish(environment: dict[str, str], theme: str) -> None:
    assert starting_theme(environment) == theme


async def test_without_colour_no_cell_has_one_and_states_are_still_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    async with explorer(FakeAnalysis()) as (app, _):
        styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip]

        colours = {
            str(colour.name) for style in styles if style for colour in (style.color, style.bgcolor) if colour
        }
        assert colours <= {"default"}
        assert "✗" in screen_text(app)
        assert "✓" in screen_text(app)


async def test_every_theme_draws_every_ink() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        seen = set()
        for _ in THEMES:
            await press(pilot, "ctrl+t")
            seen.add(app.theme)
            assert "timeout.no_answer" in screen_text(app)

        assert seen == set(THEMES)
