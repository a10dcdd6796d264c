"""Long words of a verdict are wrapped, never lost; the summary says the same in short."""

from __future__ import annotations

from dataclasses import replace

from rich.cells import cell_len

from tests.tui.driving import explorer, press, screen_text
from tests.tui.fake_analysis import FakeAnalysis, step_id
from tracekit_tui.details import PLAIN_TABS
from tracekit_tui.screens.verdict import VerdictScreen, verdict_lines
from tracekit_tui.summary import summary_lines
from tracekit_tui.text import flow, plain

LONG = " ".join(f"word{number}" for number in range(60))


def test_runs_flow_into_lines_that_hold_every_word_and_keep_their_inks() -> None:
    lines = flow([("head ", "error"), (LONG, "plain"), ("  日本語" * 9, "warn")], 30, 4)

    assert all(cell_len(plain(line)) <= 30 for line in lines)
    text = " ".join(plain(line) for line in lines)
    assert text.split() == ("head " + LONG + "  日本語" * 9).split()
    assert lines[0][0] == ("head ", "error")
    assert all(plain(line).startswith("    ") for line in lines[1:])


def test_a_word_longer_than_the_line_is_cut_into_lines() -> None:
    lines = flow([("a ", "plain"), ("x" * 95, "plain")], 20)

    assert sum(plain(line).count("x") for line in lines) == 95
    assert all(cell_len(plain(line)) <= 20 for line in lines)


async def test_a_narrow_verdict_says_every_word_of_its_message() -> None:
    async with explorer(FakeAnalysis(word=" " + LONG), size=(80, 24)) as (app, pilot):
        await press(pilot, "G", "v")
        screen = app.screen
        assert isinstance(screen, VerdictScreen)
        assert screen.verdict is not None

        lines = verdict_lines(screen.verdict, 77)
        text = " ".join(" ".join("".join(part for part, _ in line.runs).split()) for line in lines)
        message = screen.verdict.diagnoses[screen.verdict.primary or 0].message
        assert " ".join(message.split()) in text
        assert all(cell_len("".join(part for part, _ in line.runs)) <= 77 for line in lines)


async def test_the_list_says_what_is_wrong_with_the_trace_under_the_cursor() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "G")
        text = screen_text(app)

        assert "another go" in text
        assert "confidence" in text


def test_before_the_verdicts_are_known_nothing_is_claimed() -> None:
    row = FakeAnalysis().traces().rows[0]
    text = "\n".join(plain(line) for line in summary_lines(row, None, 80, judged=False))

    assert "being judged" in text
    assert "nothing was found" not in text


async def test_a_long_id_leaves_room_for_what_failed_where() -> None:
    analysis = FakeAnalysis(traces=3)
    analysis.trace_rows = [
        replace(row, task_id="a-very-long-task-id-" * 5, name="a very long name " * 5)
        for row in analysis.trace_rows
    ]
    async with explorer(analysis, size=(80, 24)) as (app, pilot):
        await press(pilot, "G", "enter")
        assert "✗ timeout.no_ans" in screen_text(app).split("\n")[0]


def test_a_step_that_is_no_call_and_answered_nothing_says_so() -> None:
    found = FakeAnalysis().step("0" * 32, step_id(1))
    assert found is not None
    bare = replace(found, asked_arguments=None, received_input=None, raw=None, output=None)

    assert "answered nothing that was recorded" in "\n".join(
        plain(line) for line in PLAIN_TABS["diff"](bare, 60)
    )
