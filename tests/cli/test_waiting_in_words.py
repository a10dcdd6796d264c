"""A program that stops at a question says in words what waits and which commands come next; typed, they work."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tracekit.durable.next_commands import store_option

AGENT = """
import os, signal, sys, tracekit
tracekit.init(service="agent", home=sys.argv[1])

@tracekit.tool(effect="payment")
def pay(amount: int) -> str:
    if sys.argv[-1] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    raise TimeoutError("no answer")

def agent():
    return pay(5)

@tracekit.task
def refund(run):
    return run.tool(pay, 5)

if __name__ == "__main__":
    if sys.argv[2] == "task":
        refund.start(task_id="order 7")
    else:
        with tracekit.task_scope("order 7"):
            agent()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


@dataclass
class Named:
    """A store of which only the name counts."""

    url: str


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT")}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def commands(text: str) -> list[list[str]]:
    """The words after `tracekit` of each command that *text* names."""
    return [shlex.split(found) for found in re.findall(r"`tracekit ([^`]+)`", text)]


@pytest.mark.parametrize("home", [".tracekit", "else where"])
def test_the_commands_that_the_stop_names_find_the_task(folder: Path, home: str) -> None:
    stopped = typed(folder, "agent.py", home, "task")
    show, resume = commands(stopped.stderr)

    shown = typed(folder, "-m", "tracekit", *show)
    resumed = typed(folder, "-m", "tracekit", *resume, "--app", "agent.py")

    assert "waits for a person at call 1 (pay)" in stopped.stderr
    assert (show[:2], resume[0]) == (["review", "show"], "resume")
    assert (shown.returncode, "pay was sent" in shown.stdout) == (0, True), shown.stderr
    assert (resumed.returncode, "waits for a person" in resumed.stderr) == (5, True), resumed.stderr
    assert ("--home" in show) is (home != ".tracekit")


def test_the_commands_that_a_question_is_shown_with_find_the_task(folder: Path) -> None:
    stopped = typed(folder, "agent.py", "else where", "task")
    shown = typed(folder, "-m", "tracekit", *commands(stopped.stderr)[0]).stdout
    skip = next(line for line in shown.splitlines() if " skip" in line and "decide" in line)

    plan, show, _ = commands(shown)
    planned = typed(folder, "-m", "tracekit", *plan)  # of an app whose `init` names a home that is not there
    steps = typed(folder, "-m", "tracekit", *show, "else where")
    decided = typed(folder, "-m", "tracekit", *shlex.split(skip.rpartition("  ")[0])[1:])

    assert (planned.returncode, "pay was sent" in planned.stdout) == (5, True), planned.stderr
    assert plan == ["plan", "order 7", "--home", str(folder / "else where")]
    assert (steps.returncode, " pay " in steps.stdout) == (0, True), steps.stderr

    assert decided.returncode == 0, decided.stderr
    assert "skip by" in decided.stdout
    assert commands(decided.stdout) == [["resume", "order 7", "--home", str(folder / "else where")]]


def test_the_traceback_of_a_stop_shows_the_users_own_lines(folder: Path) -> None:
    stopped = typed(folder, "agent.py", ".tracekit", "task")

    inside = re.findall(r'tracekit/durable/(\w+)\.py", line', stopped.stderr)
    assert set(inside) <= {"task", "life"}
    assert "run.tool(pay, 5)" in stopped.stderr
    assert 'refund.start(task_id="order 7")' in stopped.stderr


def test_a_scope_is_gone_on_with_by_running_the_program_again(folder: Path) -> None:
    stopped = typed(folder, "agent.py", ".tracekit", "scope")

    assert "once it is answered, run the same program again." in stopped.stderr
    [show] = commands(stopped.stderr)
    assert show[:2] == ["review", "show"]
    shown = typed(folder, "-m", "tracekit", *show).stdout
    assert "decide, then running the same program again carries it out:" in shown
    decided = typed(folder, "-m", "tracekit", "review", "decide", show[2], "skip").stdout
    assert decided.endswith("; running the same program again carries it out\n")
    assert "decided: run its program again" in typed(folder, "-m", "tracekit", "ls", "--stuck").stdout


def test_a_scope_whose_process_was_killed_waits_for_its_program(folder: Path) -> None:
    killed = typed(folder, "agent.py", ".tracekit", "scope", "die")

    assert killed.returncode == -signal.SIGKILL
    stuck = typed(folder, "-m", "tracekit", "ls", "--stuck").stdout
    assert "no worker can enter its task_scope: run its program again" in stuck


@pytest.mark.parametrize(
    ("url", "environment", "option"),
    [
        ("postgresql://me@db/x", "postgresql://me:secret@db/x", ""),
        ("postgresql://me@db/x", "postgresql://me:secret@db/y", " --store postgresql://me@db/x"),
        ("sqlite:/a/b/../c/state.db", "sqlite:/a/c/state.db", ""),
        ("sqlite:/a/c/state.db", "sqlite:/b/state.db", " --store sqlite:/a/c/state.db"),
    ],
)
def test_a_store_that_the_environment_names_needs_no_option(
    url: str, environment: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEKIT_STORE", environment)

    assert store_option(Named(url)) == option  # type: ignore[arg-type]
