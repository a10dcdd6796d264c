"""Every screen, driven by keys over an analysis in memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, settle, type_text
from tests.tui.fake_analysis import FakeAnalysis, step_id
from tracekit_tui.app import Explorer
from tracekit_tui.list import VirtualList
from tracekit_tui.screens.trace import TraceScreen
from tracekit_tui.screens.traces import TracesScreen


def place(app: Explorer) -> str:
    return str(getattr(app.screen, "place", ""))


async def test_the_list_of_traces_says_what_failed_where_and_how_many_are_shown() -> None:
    async with explorer(FakeAnalysis(traces=500)) as (app, _):
        text = screen_text(app)

        assert "payment.refund" in text
        assert "timeout.no_answer" in text
        assert "18 of 500 shown" in text


async def test_a_filter_narrows_the_list_and_escape_takes_it_away() -> None:
    async with explorer(FakeAnalysis(traces=30)) as (app, pilot):
        await press(pilot, "slash")
        await type_text(pilot, "1030")
        await press(pilot, "enter")
        assert "1 of 1 shown · 30 unfiltered" in screen_text(app)

        await press(pilot, "escape")

        assert "18 of 30 shown" in screen_text(app)
        assert place(app) == "traces"


async def test_z_shows_errors_only_and_s_changes_the_order() -> None:
    async with explorer(FakeAnalysis(traces=9)) as (app, pilot):
        await press(pilot, "z")
        assert "5 of 5 shown · 9 unfiltered" in screen_text(app)

        await press(pilot, "s")

        assert "duration_ms" in screen_text(app)


async def test_j_k_g_G_and_half_pages_move_the_cursor() -> None:
    async with explorer(FakeAnalysis(traces=500)) as (app, pilot):
        rows = app.screen.query_one(VirtualList)
        at = []
        for key in ("j", "j", "k", "G", "g", "ctrl+d", "ctrl+u", "down", "up", "end", "home"):
            await press(pilot, key)
            at.append(rows.cursor)

        assert at == [1, 2, 1, 499, 0, 9, 0, 1, 0, 499, 0]


async def test_n_goes_from_one_failed_trace_to_the_next_and_around() -> None:
    async with explorer(FakeAnalysis(traces=5)) as (app, pilot):
        rows = app.screen.query_one(VirtualList)
        at = []
        for key in ("n", "n", "n", "N"):
            await press(pilot, key)
            at.append(rows.cursor)

        assert at == [2, 4, 0, 4]


async def test_enter_opens_the_trace_at_its_failed_step_with_raw_beside_received() -> None:
    async with explorer(FakeAnalysis(steps=40)) as (app, pilot):
        await press(pilot, "enter")

        text = screen_text(app)
        assert place(app) == "trace"
        assert "model wrote" in text
        assert "tool received" in text
        assert '"99.50"' in text
        assert "9950" in text
        assert app.screen.query_one("#steps", VirtualList).cursor == 38


async def test_d_goes_through_all_details() -> None:
    seen = {
        "output": "refunded",
        "context": "The lamp is broken.",
        "raw": "I will refund it.",
        "attributes": "tracekit.place",
        "lineage": "found nowhere before",
    }
    async with explorer(FakeAnalysis(), size=(100, 50)) as (app, pilot):
        await press(pilot, "enter")
        for words in seen.values():
            await press(pilot, "d")
            assert words in screen_text(app)


async def test_brackets_and_search_walk_between_steps() -> None:
    async with explorer(FakeAnalysis(steps=40)) as (app, pilot):
        await press(pilot, "enter", "g")
        steps = app.screen.query_one("#steps", VirtualList)
        await press(pilot, "right_square_bracket")
        assert steps.cursor == 38

        await press(pilot, "slash")
        await type_text(pilot, "tool_2")
        await press(pilot, "enter")
        assert steps.cursor == 2

        await press(pilot, "n")
        assert steps.cursor == 20


async def test_h_folds_and_l_unfolds() -> None:
    async with explorer(FakeAnalysis(steps=40)) as (app, pilot):
        await press(pilot, "enter", "g", "h")
        assert "1 of 1 shown · 40 unfiltered" in screen_text(app)

        await press(pilot, "l")

        assert "of 40 shown" in screen_text(app)


async def test_h_on_a_leaf_goes_to_its_parent() -> None:
    async with explorer(FakeAnalysis(steps=10)) as (app, pilot):
        await press(pilot, "enter", "h")

        assert app.screen.query_one("#steps", VirtualList).cursor == 0


@pytest.mark.parametrize(("width", "shown"), [(80, False), (100, True), (160, True)])
async def test_a_narrow_window_drops_the_waterfall_first(width: int, shown: bool) -> None:
    async with explorer(FakeAnalysis(), size=(width, 30)) as (app, pilot):
        await press(pilot, "enter")

        assert ("time →" in screen_text(app)) is shown


async def test_w_turns_the_waterfall_off() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "enter", "w")

        assert "time →" not in screen_text(app)


async def test_evidence_leads_to_its_step_and_escape_leads_back() -> None:
    async with explorer(FakeAnalysis(steps=20)) as (app, pilot):
        await press(pilot, "v")
        assert "evidence 1" in screen_text(app)
        await press(pilot, "j", "j", "enter")

        assert place(app) == "trace"
        assert app.step_id == step_id(17)
        await press(pilot, "escape")
        assert place(app) == "verdict"
        await press(pilot, "escape")
        assert place(app) == "traces"
        await press(pilot, "escape")
        assert place(app) == "traces"


async def test_a_note_about_a_verdict_is_written_with_the_name_of_the_person(tmp_path: Path) -> None:
    analysis = FakeAnalysis()
    analysis.paths = [tmp_path]
    async with explorer(analysis, who="grace") as (_, pilot):
        await press(pilot, "v", "x")
        await type_text(pilot, "it was paid")
        await press(pilot, "enter")

        written = (tmp_path / ".tracekit-notes.jsonl").read_text()
        assert '"by": "grace"' in written
        assert "it was paid" in written


async def test_going_to_an_open_screen_goes_back_to_it_instead_of_opening_it_twice() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "2", "3", "2", "3", "2")

        assert [type(screen) for screen in app.screen_stack] == [TracesScreen, TraceScreen]


async def test_sql_shows_rows_and_enter_opens_the_step_of_a_row() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "6", "f5")
        assert "1 rows" in screen_text(app)
        assert "order.query" in screen_text(app)

        await press(pilot, "escape", "enter")

        assert place(app) == "trace"
        assert app.step_id == step_id(1)


async def test_live_shows_the_newest_steps_and_follows() -> None:
    analysis = FakeAnalysis()
    async with explorer(analysis) as (app, pilot):
        await press(pilot, "7")
        loads = analysis.loads

        await pilot.pause(1.2)

        assert "1 open" in screen_text(app)
        assert app.following
        assert analysis.loads > loads


async def test_two_marked_traces_are_compared() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "space", "j", "space", "equals_sign")

        assert place(app) == "diff"
        assert "received input" in screen_text(app)


async def test_damage_is_listed_with_line_and_reason() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        assert "1 damaged" in screen_text(app)
        await press(pilot, "ctrl+w")

        assert "not_json: cut" in screen_text(app)


async def test_recovery_without_a_store_says_how_to_open_one() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "r")
        assert "--store" in screen_text(app)

        await press(pilot, "5")
        assert "no store is open" in screen_text(app)


async def test_the_copied_value_is_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    async with explorer(FakeAnalysis(word="\x1b[31m\u202e")) as (app, pilot):
        await press(pilot, "enter", "y", "enter")

        assert app.clipboard == '{"order_id": "A-1024\\u001b[31m\u202e", "amount": 9950}'


async def test_without_any_clipboard_the_value_goes_to_a_file_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    big = "x" * 100_000
    monkeypatch.setenv("PATH", "")
    async with explorer(FakeAnalysis(word=big)) as (app, pilot):
        await press(pilot, "enter", "y", "enter")

        note = next(note.message for note in app._notifications if "written to" in note.message)
        path = Path(note.rpartition("written to ")[2])
        assert big in path.read_text()
        os.unlink(path)


async def test_quitting_goes_back_first() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "2", "q")
        assert place(app) == "traces"

        await pilot.press("q")
        await pilot.pause()

        assert not app.is_running or app.return_code == 0


async def test_a_defect_in_an_answer_is_told_and_does_not_close_the_screen() -> None:
    analysis = FakeAnalysis()
    async with explorer(analysis) as (app, pilot):
        analysis.verdict = lambda trace_id: 1 / 0  # type: ignore[assignment,method-assign]
        await press(pilot, "v")

        assert [type(error) for error in app.defects] == [ZeroDivisionError]
        assert any("internal error" in note.message for note in app._notifications)
        app.defects.clear()


async def test_progress_of_reading_is_told() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        app.loading = True
        app.screen.tell()  # type: ignore[attr-defined]
        await settle(pilot)

        assert "read 312 of 1024 MB" in screen_text(app)


async def test_thirty_thousand_steps_are_fetched_by_page_only() -> None:
    analysis = FakeAnalysis(traces=1, steps=30_000)
    async with explorer(analysis) as (app, pilot):
        app.look_at("0" * 32, None)
        app.go("trace")
        await settle(pilot)
        await press(pilot, "G", "k", "g")

        assert "of 30,000 shown" in screen_text(app)
        assert sum(limit for _, limit in analysis.fetched) < 3000


async def test_a_click_chooses_a_row_and_a_double_click_opens_it() -> None:
    async with explorer(FakeAnalysis(traces=9)) as (app, pilot):
        await pilot.click(VirtualList, offset=(10, 4))
        await settle(pilot)
        assert app.screen.query_one(VirtualList).cursor == 2

        await pilot.click(VirtualList, offset=(10, 4), times=2)
        await settle(pilot)

        assert place(app) == "trace"


async def test_text_can_be_selected_with_the_mouse() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "enter", "d")
        pane = app.screen.query_one("#detail")
        await pilot.mouse_down(pane, offset=(1, 1))
        await pilot.hover(pane, offset=(30, 1))
        await pilot.mouse_up(pane, offset=(30, 1))
        await settle(pilot)

        assert (app.screen.get_selected_text() or "").startswith("? tool_4  step 5")
