"""One table of actions: what bindings, help, palette, command line and key file say is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, type_text
from tests.tui.fake_analysis import FakeAnalysis
from tracekit.errors import TracekitError
from tracekit_tui.actions import ACTIONS, at
from tracekit_tui.dialogs import Help
from tracekit_tui.keyfile import read_keys
from tracekit_tui.screens.make import make_screen

PLACES = ("traces", "trace", "verdict", "recovery", "review", "sql", "live")


def test_action_ids_are_unique() -> None:
    ids = [action.id for action in ACTIONS]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("place", PLACES)
def test_no_key_means_two_things_on_one_screen(place: str) -> None:
    keys = [key for action in at(place) for key in action.key.split(",")]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("place", PLACES)
def test_every_action_of_a_screen_has_its_method(place: str) -> None:
    screen = make_screen(place, "0" * 32, None)

    for action in at(place):
        name = action.method.partition("(")[0]
        owner = screen if not name.startswith("app.") else None
        assert owner is None or hasattr(owner, f"action_{name}"), action.id


def test_a_key_file_moves_an_action(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text('[keys]\n"app.help" = "f1"\nlist.down = "n"\n')

    assert read_keys(path) == {"app.help": "f1", "list.down": "n"}


def test_a_key_file_that_names_no_action_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text('[keys]\n"app.hlep" = "f1"\n')

    with pytest.raises(TracekitError, match="hlep") as caught:
        read_keys(path)

    assert caught.value.code == "keys.unknown_action"


def test_a_broken_key_file_is_refused_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text("[keys\n")

    with pytest.raises(TracekitError, match=r"keys\.toml"):
        read_keys(path)


async def test_a_moved_key_works_and_the_old_one_does_not() -> None:
    async with explorer(FakeAnalysis(), keys={"app.help": "f1"}, size=(120, 80)) as (app, pilot):
        await press(pilot, "question_mark")
        assert not isinstance(app.screen, Help)

        await press(pilot, "f1")

        assert isinstance(app.screen, Help)
        assert "F1" in screen_text(app)


async def test_help_lists_every_action_of_the_place_with_its_id() -> None:
    async with explorer(FakeAnalysis(), size=(120, 60)) as (app, pilot):
        await press(pilot, "question_mark")

        text = screen_text(app)
        for action in at("traces", "list"):
            assert action.id in text
            assert action.title in text


async def test_the_command_line_runs_an_action_by_its_id() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "colon")
        await type_text(pilot, "app.sql")
        await press(pilot, "enter")

        assert getattr(app.screen, "place", "") == "sql"


async def test_the_palette_finds_an_action_by_its_title() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "ctrl+p")
        await type_text(pilot, "review")
        await pilot.pause(0.3)
        await press(pilot, "down", "enter")

        assert getattr(app.screen, "place", "") == "review"


async def test_an_unknown_command_is_told_back() -> None:
    async with explorer(FakeAnalysis()) as (app, pilot):
        await press(pilot, "colon")
        await type_text(pilot, "dance")
        await press(pilot, "enter")

        assert any("dance" in note.message for note in app._notifications)
