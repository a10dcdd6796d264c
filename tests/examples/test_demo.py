"""`tracekit demo`: what it shows, and that it fails when it can't show it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path


def demo(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracekit", "demo", *arguments],
        cwd=folder,
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_shows_the_kill_the_diagnosis_the_plan_and_one_payment_and_can_be_played_again(
    tmp_path: Path,
) -> None:
    for _ in range(2):
        played = demo(tmp_path)

        assert played.returncode == 0, played.stdout + played.stderr
        assert "step 7: process.killed: the process ended while refund was running" in played.stdout
        assert "recommended  settle" in played.stdout
        assert "One payment: asked for 1 time(s), looked up" in played.stdout
        assert "asked 3 times before the kill, 2 after it" in played.stdout


def test_it_fails_when_the_task_does_not_come_to_its_end(tmp_path: Path) -> None:
    played = demo(tmp_path, REFUND_PROBE="off")

    assert played.returncode == 1
    assert "did not show what it should" in played.stderr
    assert "tracekit plan ended with 5" in played.stderr


def test_it_keeps_its_hands_off_a_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")

    played = demo(tmp_path, "--home", "mine")

    assert played.returncode == 2
    assert (tmp_path / "mine" / "letter.txt").read_text() == "keep me"


def test_the_commands_that_it_shows_can_be_typed_afterwards(tmp_path: Path) -> None:
    shown = re.findall(
        r"^    \$ \S*tracekit (.+)$|^(?:Look next:)? +\S*tracekit (show .+)$", demo(tmp_path).stdout, re.M
    )

    typed = [
        subprocess.run(
            [sys.executable, "-m", "tracekit", *shlex.split(one or other)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for one, other in shown
    ]

    assert [shlex.split(one or other)[0] for one, other in shown] == ["analyze", "plan", "show"]
    assert [(done.returncode, done.stderr) for done in typed] == [(0, "")] * 3
