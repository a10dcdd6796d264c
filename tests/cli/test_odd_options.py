"""Options that would empty a store, spin, or give tasks away are refused before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.cli import main


@pytest.mark.parametrize(
    "words",
    [
        ["prune", "--older-than-days", "-5"],
        ["prune", "--forget-days", "-1"],
        ["prune", "--older-than-days", "nan"],
        ["prune", "--keep-every", "0"],
        ["worker", "--app", "agent", "--lease-s", "0"],
        ["worker", "--app", "agent", "--poll-s", "-1"],
        ["ls", "--limit", "-1"],
        ["review", "claim", "r1", "--minutes", "0"],
        ["review", "claim", "r1", "--minutes", "nan"],
        ["collect", "--limit-mib", "0"],
    ],
)
def test_a_number_that_means_nothing_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, *(() if words[0] == "collect" else ("--store", f"sqlite:{tmp_path / 'state.db'}"))])

    assert ended.value.code == 2
    assert f"argument {words[-2]}: expected a" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option"),
    [("ls", "--store"), ("ls", "--home"), ("prune", "--store"), ("doctor", "--store"), ("tui", "--store")],
)
def test_an_empty_place_is_not_taken_for_the_default_one(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, option, ""])

    assert ended.value.code == 2
    assert f"argument {option}: expected where it is, got an empty text" in capsys.readouterr().err


def test_without_a_command_all_of_them_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2

    assert "analyze    which step failed and why, in any log" in capsys.readouterr().err
