"""Limits, loop counts and the stored summary, across processes that are really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.testing.faults import killing

APP = '''
import sys
import tracekit

def said(text):
    with open("said.txt", "a") as file:
        file.write(text + "\\n")

def count(what):
    try:
        return open("said.txt").read().splitlines().count(what)
    except FileNotFoundError:
        return 0

def ask(messages):
    said("asked")
    return {"choices": [{"message": {"role": "assistant", "content": "more"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 10, "cost": 0.5}}

def talk(run):
    """Ask and ask."""
    messages = [{"role": "user", "content": "go"}]
    for _ in range(9):
        messages.append(run.model(ask, messages).message)
    return "never reached"

@tracekit.task(tokens=100)
def by_tokens(run):
    return talk(run)

@tracekit.task(cost=1.0)
def by_cost(run):
    return talk(run)

def shorten(messages):
    said("summarised")
    return f"summary number {count('summarised')}"

@tracekit.task(max_context_tokens=200, summarise=shorten)
def long_talk(run):
    messages = [{"role": "user", "content": "go"}]
    for number in range(8):
        messages += [{"role": "assistant", "content": str(number) * 200}, {"role": "user", "content": "on"}]
    def told(sent):
        said(next(m["content"] for m in sent if "summary number" in str(m["content"])))
        return "fine"
    return run.model(told, messages).text

if __name__ == "__main__":
    tracekit.init(service="limits")
    try:
        if sys.argv[1] == "resume":
            print(tracekit.resume("t"))
        else:
            print(globals()[sys.argv[1]].start(task_id="t"))
    except tracekit.RequiresReview as stop:
        print(stop.code)
        sys.exit(5)
'''


class Shell:
    """The agent above in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "agent.py").write_text(APP)

    def run(self, word: str, kill: dict[str, str] | None = None) -> tuple[int, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT")}
        done = subprocess.run(
            [sys.executable, "agent.py", word],
            cwd=self.folder,
            env={**clean, **(kill or {})},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode in (0, 5, -signal.SIGKILL), done.stderr
        return done.returncode, done.stdout.strip()

    def said(self) -> list[str]:
        path = self.folder / "said.txt"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize(
    ("task", "code"), [("by_tokens", "review.limit.tokens"), ("by_cost", "review.limit.cost")]
)
def test_what_was_spent_before_a_kill_counts_after_it(shell: Shell, task: str, code: str) -> None:
    """Two calls of 50 tokens reach the limit of 100: one before the kill, one after."""
    assert shell.run(task, killing("after_commit:after_model"))[0] == -signal.SIGKILL
    assert shell.said() == ["asked"]

    assert shell.run("resume") == (5, code)
    assert shell.said() == ["asked"] * 2


def test_the_summary_that_was_stored_before_a_kill_is_the_one_that_is_sent(shell: Shell) -> None:
    assert shell.run("long_talk", killing("after_commit:context"))[0] == -signal.SIGKILL
    assert shell.said() == ["summarised"]

    assert shell.run("resume") == (0, "fine")
    assert shell.said() == ["summarised", "summary number 1"]


def test_a_call_that_kills_its_process_is_not_made_for_ever(shell: Shell) -> None:
    """Tries of a model call are counted before it: the fourth process asks a person instead of asking again."""
    assert shell.run("by_tokens", killing("before_dispatch"))[0] == -signal.SIGKILL
    for _ in range(2):
        assert shell.run("resume", killing("before_dispatch"))[0] == -signal.SIGKILL

    assert shell.run("resume")[0] == 5
    assert shell.said() == []
