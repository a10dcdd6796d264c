"""What going back to a step does is said in the same words by `tracekit plan --from` and by the explorer."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.test_task_commands import Shell
from tracekit.durable.fork import plan_restore
from tracekit.durable.fork_words import restore_words


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_plan_from_a_step_says_what_is_copied_made_anew_and_paid_again(shell: Shell) -> None:
    assert shell.run("start", DIE="1").returncode == -signal.SIGKILL

    told = " ".join(shell.run("plan", "t", "--from", "1").stdout.split())
    store = f"sqlite:{shell.folder / '.tracekit' / 'state.db'}"
    words = restore_words(plan_restore("t", at="1", store=store), "t-fork-…")

    assert [name for name, _ in words] == ["new task", "copied", "made anew", "not undone", "paid again"]
    for name, text in words:
        assert f"{name} {text}" in told
    assert "in place of t, which ends as cancelled" in told
    assert "call 1 (pay), payment, its outcome is not known: " in told
    assert "nothing unasked" in told


def test_a_task_that_has_ended_stays_as_it_is(shell: Shell) -> None:
    assert shell.run("start").returncode == 0

    told = " ".join(shell.run("plan", "t", "--from", "1").stdout.split())

    assert "beside t, which stays done as it is" in told
    assert "call 1 (pay), payment, done: " in told
