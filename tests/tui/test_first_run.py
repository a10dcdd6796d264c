"""The first minutes: nothing to read, nothing readable, names that are wrong. Each says what to do next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.driving import explorer, press, screen_text, settle
from tests.tui.killed import environment
from tests.tui.waiting import waiting_store
from tracekit_tui.command import _paths, _usual_store
from tracekit_tui.controller import Controller, open_controller


def told(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What `tracekit tui` says where it does not open."""
    env = {name: value for name, value in environment(folder).items() if name != "TRACEKIT_HOME"}
    return subprocess.run(
        [sys.executable, "-m", "tracekit.cli", "tui", *words],
        cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_without_arguments_in_a_folder_without_logs_it_says_the_three_ways_to_begin(tmp_path: Path) -> None:
    answer = told(tmp_path)

    assert answer.returncode == 2
    for words in (str(tmp_path / ".tracekit"), "tracekit tui run.jsonl", "--store URL", "tracekit demo"):
        assert words in answer.stderr


@pytest.mark.parametrize("app", ["no_such_module", "no_such_module.tasks", "no_such.py", f"no{os.sep}such"])
def test_an_app_that_is_not_there_is_told_before_anything_is_opened(tmp_path: Path, app: str) -> None:
    (tmp_path / ".tracekit").mkdir()
    answer = told(tmp_path, "--app", app)

    assert answer.returncode == 2
    assert f"there is no {app}" in answer.stderr


def test_an_app_beside_the_person_is_found_and_not_run(tmp_path: Path) -> None:
    (tmp_path / ".tracekit").mkdir()
    (tmp_path / "shop.py").write_text("raise SystemExit('it was run')")
    answer = told(tmp_path, "--app", "shop")

    assert "needs a terminal" in answer.stderr


async def test_what_could_not_be_read_stays_on_the_screen_and_is_tried_again(tmp_path: Path) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("this is no log\n")
    async with explorer(lambda: open_controller([log], store=None, app=None, reader=None)) as (app, pilot):
        app.clear_notifications()
        await settle(pilot)
        text = " ".join(screen_text(app).replace("│", " ").split())
        assert "not read: Ctrl-R tries again" in text
        assert "nothing could be read" in text
        assert "in a format that tracekit knows" in text
        assert "tracekit demo" in text

        sample = Path(__file__).parents[2] / "sample_traces" / "refund_ok.jsonl"
        log.write_bytes(sample.read_bytes())
        await press(pilot, "ctrl+r")
        assert "refund-ok" in screen_text(app)
        assert "nothing could be read" not in screen_text(app)


async def test_a_store_that_can_not_be_opened_is_tried_again_by_the_same_key(tmp_path: Path) -> None:
    tries: list[int] = []

    def opener() -> Controller:
        tries.append(1)
        url = waiting_store(tmp_path) if len(tries) == 2 else f"sqlite:{tmp_path}"
        return open_controller([], store=url, app=None, reader=None)

    async with explorer(opener) as (app, pilot):
        app.clear_notifications()
        await settle(pilot)
        assert "nothing could be read" in screen_text(app)

        app.controller = None
        await press(pilot, "ctrl+r")
        assert "ticket-0" in screen_text(app)


async def test_a_user_without_a_name_may_look_and_decide_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.delenv("TRACEKIT_PERSON", raising=False)
    # As in a container that runs under a number which no list of users knows.
    monkeypatch.setattr("getpass.getuser", nameless)
    sample, url = Path(__file__).parents[2] / "sample_traces" / "refund_ok.jsonl", waiting_store(tmp_path)
    async with explorer(lambda: open_controller([sample], store=url, app=None, reader=None)) as (app, pilot):
        assert "refund-ok" in screen_text(app)

        await press(pilot, "5", "c")
        assert "unknown, for 0s" in screen_text(app)


def test_the_store_of_the_environment_is_opened_with_own_logs_and_not_with_those_of_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, url = tmp_path / "home", "postgresql://shop@db/shop"
    (home / "traces").mkdir(parents=True)
    monkeypatch.setenv("TRACEKIT_HOME", str(home))
    monkeypatch.setenv("TRACEKIT_STORE", url)

    assert [_usual_store([]), _usual_store([str(home / "traces")])] == [url, url]
    assert _usual_store([str(tmp_path / "other.jsonl")]) is None
    assert _paths([], url) == [home]
