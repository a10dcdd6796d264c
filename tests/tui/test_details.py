"""What the panel beside the tree says of a step."""

from __future__ import annotations

from dataclasses import replace

from tests.tui.driving import explorer, press, screen_text
from tests.tui.fake_analysis import FakeAnalysis, step_id
from tracekit_analyzers.views import StepDetail
from tracekit_tui.details import diff, head
from tracekit_tui.summary import summary_lines
from tracekit_tui.text import plain


def a_step(**known: object) -> StepDetail:
    found = FakeAnalysis().step("0" * 32, step_id(1))
    assert found is not None
    return replace(found, **known)  # type: ignore[arg-type]


def test_of_a_call_of_the_model_its_answer_is_shown_and_not_what_it_was_sent() -> None:
    called = a_step(asked_arguments=None, received_input='{"tools": ["refund"]}', raw="I will refund it.")
    called = replace(called, line=replace(called.line, kind="model"))

    text = "\n".join(plain(line) for line in diff(called, 60))

    assert "what the model answered:" in text
    assert "I will refund it." in text
    assert "no model wrote" not in text


def test_the_state_of_an_effect_is_said_in_words() -> None:
    text = "\n".join(plain(line) for line in head(a_step()))

    assert "effect payment · outcome unknown · key 3c9e" in text


def test_a_run_without_an_id_of_its_own_is_told_apart_by_its_file() -> None:
    row = FakeAnalysis().trace_rows[0]

    named, nameless = (
        "".join(plain(line) for line in summary_lines(one, None, 200, judged=False))
        for one in (row, replace(row, task_id=None))
    )

    assert "00000000 in refunds.jsonl" in nameless
    assert "refunds.jsonl" not in named


async def test_a_short_tree_leaves_the_room_below_to_the_detail() -> None:
    async with explorer(FakeAnalysis(steps=4), size=(80, 24)) as (app, pilot):
        await press(pilot, "G", "enter")

        lines = screen_text(app).split("\n")
        frame = next(at for at, line in enumerate(lines) if "4 of 4 shown" in line)
        assert frame == 7
        assert '"amount"' in screen_text(app)
