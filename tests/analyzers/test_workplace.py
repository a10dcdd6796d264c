"""Temporary files go with their process, also when it is killed: the next one removes them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracekit_analyzers.reading.workplace import sweep

HOLD = """
import sys, time
from tracekit_analyzers.reading.workplace import Workplace
with Workplace() as folder:
    open(folder + "/spool", "w").write("x" * 1000)
    print(folder, flush=True)
    time.sleep(60)
"""


def holder(temp: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that works in a workplace under *temp*, and that workplace, made two minutes ago."""
    env = {**os.environ, "TMPDIR": str(temp)}
    process = subprocess.Popen([sys.executable, "-c", HOLD], env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    past = time.time() - 120
    os.utime(folder / "owner.lock", (past, past))
    return process, folder


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    killed, left = holder(tmp_path)
    living, held = holder(tmp_path)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert (left / "spool").exists()

        assert sweep(tmp_path) == [left]
        assert not left.exists()
        assert (held / "spool").exists()
    finally:
        living.kill()
        living.wait()


def test_a_link_in_the_place_of_a_workplace_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.mkdir()
    lock = target / "owner.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    (tmp_path / "tracekit-work-x").symlink_to(target)

    assert sweep(tmp_path) == []
    assert target.exists()


def test_a_command_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "pipe.jsonl"
    os.mkfifo(log)
    temp = tmp_path / "temp"
    temp.mkdir()
    env = {**os.environ, "TMPDIR": str(temp)}
    command = [sys.executable, "-m", "tracekit", "analyze", str(log)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with log.open("wb") as writer:
        writer.write(b'{"record":"step"}\n')
        writer.flush()
        deadline = time.monotonic() + 30
        while not list(temp.glob("tracekit-work-*/owner.lock")):
            if time.monotonic() > deadline:
                pytest.fail("no workplace was made")
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    assert list(temp.iterdir()) == []
