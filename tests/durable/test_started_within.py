"""A task that another task starts without an id is the same one on each replay: what it paid is not paid anew."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tracekit

SCRIPT = """
import asyncio, os, signal, sys
import tracekit

def note(text):
    with open("world.txt", "a") as out:
        out.write(text + "\\n")

def die(at):
    if os.environ.get("DIE") == at:
        os.kill(os.getpid(), signal.SIGKILL)

def booked(amount, idempotency_key):
    with open("world.txt", "a+") as world:
        world.seek(0)
        found = f"pay {amount} {idempotency_key}" in world.read().splitlines()
    return f"paid {amount}" if found else None

@tracekit.tool(effect="payment", probe=booked, settle_s=0.2)
def pay(amount: int, *, idempotency_key: str) -> str:
    note(f"pay {amount} {idempotency_key}")
    return f"paid {amount}"

@tracekit.tool
def look() -> str:
    die("within")
    return "seen"

@tracekit.task
def inner(run, amount):
    said = run.tool(pay, amount)
    run.tool(look)
    return said

@tracekit.task
async def inner_async(run, amount):
    said = await run.tool(pay, amount)
    await run.tool(look)
    return said

@tracekit.task
def outer(run):
    said = [inner.start(5), inner.start(5), run.step("third", lambda: inner.start(7))]
    die("after")
    return said

@tracekit.task
async def outer_async(run):
    said = await asyncio.gather(inner_async.start_async(5), inner_async.start_async(5))
    die("after")
    return list(said)

if __name__ == "__main__":
    tracekit.init(home="home")
    task = {"outer": outer, "outer_async": outer_async}[sys.argv[2]]
    if sys.argv[1] == "start":
        print(task.start(task_id="t"))
    else:
        print(tracekit.resume("t"))
"""


@pytest.mark.parametrize("dies", ["within", "after"])
@pytest.mark.parametrize(
    ("task", "said"), [("outer", ["paid 5", "paid 5", "paid 7"]), ("outer_async", ["paid 5", "paid 5"])]
)
def test_each_is_gone_on_with_after_a_kill_and_pays_once(
    tmp_path: Path, task: str, said: list[str], dies: str
) -> None:
    (tmp_path / "agent.py").write_text(SCRIPT)

    def run(go: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "agent.py", go, task],
            cwd=tmp_path, env={**os.environ, **more}, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    assert run("start", DIE=dies).returncode == -signal.SIGKILL
    went_on = run("resume")

    assert went_on.returncode == 0, went_on.stderr
    assert json.loads(went_on.stdout.replace("'", '"')) == said
    paid = sorted(line.split()[1] for line in (tmp_path / "world.txt").read_text().splitlines())
    assert paid == sorted(text.split()[1] for text in said)


paid: list[int] = []


@tracekit.tool(effect="payment")
def pay_here(amount: int) -> str:
    paid.append(amount)
    return f"paid {amount}"


@tracekit.task
def settled(run: tracekit.SyncRun, amount: int) -> str:
    return run.tool(pay_here, amount)


def test_a_scope_that_is_entered_again_after_its_end_finds_the_task_that_it_started() -> None:
    paid.clear()
    for _ in range(3):
        with tracekit.task_scope("refunds"):
            assert settled.start(5) == "paid 5"

    assert paid == [5]
