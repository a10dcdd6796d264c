"""Several effects of unknown outcome are one visit of a person, not one after another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tracekit.durable.api import decide, pending_reviews
from tracekit.durable.owning import ownership

SCRIPT = '''
import os, signal, sys, threading
from concurrent.futures import ThreadPoolExecutor

import tracekit

all_sent = threading.Barrier(3, action=lambda: os.path.exists("die") and os.kill(os.getpid(), signal.SIGKILL))


@tracekit.tool(effect="payment")
def pay(order: str) -> str:
    with open("paid.txt", "a") as out:
        out.write(order + "\\n")
    all_sent.wait()
    return order


@tracekit.task
def work(run):
    """Pay three orders."""
    def one(order):
        with run.branch(order):
            return pay(order)
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(one, ["A-1", "A-2", "A-3"]))


if __name__ == "__main__":
    tracekit.init(service="script")
    work.start(task_id="t")
'''


def test_all_unknown_effects_of_a_lost_process_are_asked_about_at_once(own_home: Path) -> None:
    (own_home / "script_pay.py").write_text(SCRIPT)
    (own_home / "die").touch()
    env = {**os.environ, "TRACEKIT_HOME": str(own_home)}
    first = subprocess.run([sys.executable, "script_pay.py"], cwd=own_home, env=env)
    assert first.returncode == -signal.SIGKILL
    (own_home / "die").unlink()

    resume = [sys.executable, "-m", "tracekit", "resume", "t", "--app", "script_pay.py"]
    assert subprocess.run(resume, cwd=own_home, env=env).returncode == 5
    asked = pending_reviews()
    assert sorted(row.place for row in asked) == ["~A-1/1", "~A-2/1", "~A-3/1"]
    for row in asked[:2]:
        decide(row.review_id, "done", by="ann", result="seen in the bank")

    # While one question is open nothing runs, and no recovery is used up.
    assert subprocess.run(resume, cwd=own_home, env=env).returncode == 5
    state = ownership().store.load("t")
    assert state is not None
    assert state.task.recoveries == 1
    decide(asked[2].review_id, "done", by="ann", result="seen in the bank")

    assert subprocess.run(resume, cwd=own_home, env=env).returncode == 0
    assert sorted((own_home / "paid.txt").read_text().split()) == ["A-1", "A-2", "A-3"]
