"""The themes: dark, light, one for terminals of sixteen colours; `NO_COLOR` leaves weight and glyphs alone."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

DARK = Theme(
    name="tracekit-dark",
    primary="#7aa2f7",
    secondary="#7dcfff",
    accent="#7dcfff",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#d5d9e8",
    background="#16161e",
    surface="#1a1b26",
    panel="#24283b",
    dark=True,
    variables={
        "ink-frame": "#3f4666",
        "ink-dim": "#8a91b4",
        "ink-ok": "#9ece6a",
        "ink-error": "#ff8fa3",
        "ink-warn": "#e6b673",
        "ink-accent": "#7dcfff",
        "ink-title": "#8fb4ff",
    },
)

LIGHT = Theme(
    name="tracekit-light",
    primary="#1f4fa8",
    secondary="#006a83",
    accent="#006a83",
    warning="#8a5a00",
    error="#b3173b",
    success="#2f6b12",
    foreground="#1b1f2a",
    background="#f7f7f4",
    surface="#ffffff",
    panel="#e9e9e4",
    dark=False,
    variables={
        "ink-frame": "#b9bcb4",
        "ink-dim": "#5c6270",
        "ink-ok": "#2f6b12",
        "ink-error": "#b3173b",
        "ink-warn": "#8a5a00",
        "ink-accent": "#00667d",
        "ink-title": "#1f4fa8",
    },
)

INKS = {
    "ink-frame": "ansi_bright_black",
    "ink-dim": "ansi_bright_black",
    "ink-ok": "ansi_green",
    "ink-error": "ansi_red",
    "ink-warn": "ansi_yellow",
    "ink-accent": "ansi_cyan",
    "ink-title": "ansi_blue",
}
"""Inks of every theme that names none of its own; those of Textual's sixteen-colour themes."""

SIXTEEN = "ansi-dark"
"""Textual's own theme of the terminal's sixteen colours."""

THEMES = (DARK.name, LIGHT.name, SIXTEEN, "ansi-light")


def without_colour(environment: Mapping[str, str]) -> bool:
    """Whether the person wants no colour at all: `NO_COLOR`, not empty."""
    return bool(environment.get("NO_COLOR"))


def starting_theme(environment: Mapping[str, str]) -> str:
    """`TRACEKIT_THEME` where it names one; sixteen colours on a terminal that has no more; else the dark one."""
    if without_colour(environment):
        return SIXTEEN
    wanted = environment.get("TRACEKIT_THEME", "")
    if wanted:
        return {"dark": DARK.name, "light": LIGHT.name, "16": SIXTEEN}.get(wanted, wanted)
    if "TEXTUAL_DRIVER" in environment:
        # A browser, or a test: all colours, whatever the terminal has from which it was started.
        return DARK.name
    rich = environment.get("COLORTERM", "") in ("truecolor", "24bit") or "256color" in environment.get(
        "TERM", ""
    )
    return DARK.name if rich or "TERM" not in environment else SIXTEEN
