"""Tables of the task commands: whole for programs, hung below their last column for a person with a narrow terminal."""

from __future__ import annotations

import os

import pytest

from tracekit.cli._store import print_table

ROWS = [
    ("reason", "pay was sent and no answer was recorded; it may or may not have happened"),
    ("review", "rev-1  (tracekit review show rev-1 --home /somewhere/else/and/far/away)"),
]


def shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int | None
) -> list[str]:
    size = os.terminal_size((width or 80, 24))
    monkeypatch.setattr("sys.stdout.isatty", lambda: width is not None)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: size)
    print_table(("task", "t"), ROWS)
    return capsys.readouterr().out.splitlines()


def test_a_sentence_goes_on_below_its_column_and_a_command_stays_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task, *reason, review = shown(monkeypatch, capsys, 40)

    assert task == "task    t"
    assert [line[:8] for line in reason] == ["reason  ", " " * 8, " " * 8]
    assert " ".join(line[8:] for line in reason) == ROWS[0][1]
    assert max(map(len, reason)) <= 40
    assert review == "review  " + ROWS[1][1]


@pytest.mark.parametrize("width", [None, 30, 200])
def test_a_pipe_and_a_terminal_without_room_for_a_column_get_whole_lines(
    width: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(shown(monkeypatch, capsys, width)) == 3
