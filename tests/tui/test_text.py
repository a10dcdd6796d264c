"""Foreign text on a terminal: nothing acts, everything is visible, columns keep their width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tracekit_tui.text import clip, fit, visible, wrap, wrap_words

ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=60)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\tb\nc\r", "a␉b␊c␍"),
        ("\x7f\x9b", "␡⟨009B⟩"),
        ("pay \u202egnp.exe", "pay ⟨202E⟩gnp.exe"),
        ("zero\u200bwidth", "zero⟨200B⟩width"),
        ("half \ud83d", "half ⟨D83D⟩"),
        ("tag\U000e0041", "tag⟨E0041⟩"),
        ("[bold]not markup[/]", "[bold]not markup[/]"),
        ("plain", "plain"),
    ],
)
def test_codes_that_a_terminal_would_act_on_are_shown(raw: str, shown: str) -> None:
    assert visible(raw) == shown


def test_a_joined_emoji_is_shown_by_its_parts_so_that_its_width_is_certain() -> None:
    assert visible("👩\u200d🚀") == "👩🚀"


def test_piled_up_accents_are_counted_instead_of_drawn() -> None:
    assert visible("a" + "\u0301" * 40) == "a\u0301\u0301⟨+38⟩"


@given(ANY_TEXT)
def test_no_text_leaves_a_control_code_or_half_a_pair(text: str) -> None:
    shown = visible(text)

    assert all(ord(letter) >= 0x20 and not 0x7F <= ord(letter) < 0xA0 for letter in shown)
    shown.encode("utf-8")


@given(ANY_TEXT, st.integers(1, 40), st.booleans())
def test_a_cell_has_exactly_the_width_that_was_asked_for(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(text, width, right=right)) == width


@given(ANY_TEXT, st.integers(2, 40))
def test_wrapped_lines_lose_nothing_and_are_never_too_wide(text: str, width: int) -> None:
    lines = list(wrap(text, width))

    whole = "".join(visible(part.removesuffix("\r").expandtabs(4)) for part in text.split("\n"))
    assert "".join(lines) == whole
    assert all(cell_len(line) <= width for line in lines)


def test_a_cut_is_always_marked() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("日本語", 5) == "日本…"


def test_a_megabyte_in_one_line_is_wrapped_whole() -> None:
    lines = list(wrap("x" * 1_000_000, 100))

    assert len(lines) == 10_000
    assert sum(map(len, lines)) == 1_000_000


@given(ANY_TEXT, st.integers(2, 40))
def test_lines_cut_between_words_lose_no_word_and_are_never_too_wide(text: str, width: int) -> None:
    lines = list(wrap_words(text, width))

    assert "".join("".join(lines).split()) == "".join(
        "".join(visible(part) for part in text.split("\n")).split()
    )
    assert all(cell_len(line) <= width for line in lines)
