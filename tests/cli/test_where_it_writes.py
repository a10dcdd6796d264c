"""What stands behind stdout (no room, nobody, few characters) is told in words or got over, never with a trace of Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "refund_ok.jsonl"
COMMANDS = [("doctor",), ("--help",), ("audit", str(SAMPLE)), ("analyze", str(SAMPLE)), ("review", "--help")]


def environment(**env: str) -> dict[str, str]:
    """As a terminal has it: stdout is buffered, and what is left is written at exit."""
    left_out = ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, **env}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tracekit", *words]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("doctor",), ("audit", str(SAMPLE)), ("analyze", str(SAMPLE))])
def test_an_output_without_room_is_told_in_a_line(
    words: tuple[str, ...], unbuffered: str, tmp_path: Path
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(*words), stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            env=environment(PYTHONUNBUFFERED=unbuffered), timeout=60, check=False,
        )  # fmt: skip

    assert (done.returncode, done.stderr) == (
        4,
        "tracekit: the output can't be written: No space left on device\n",
    )


@pytest.mark.parametrize("words", COMMANDS)
def test_a_reader_that_has_left_is_no_error(words: tuple[str, ...], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            command(*words), stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            env=environment(), timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_locale_has_no_character_for_is_shown_by_its_number(tmp_path: Path) -> None:
    done = subprocess.run(
        command("audit", str(SAMPLE)), capture_output=True, cwd=tmp_path, timeout=60, check=False,
        env=environment(PYTHONIOENCODING="ascii"),
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u2713 Are steps tied by a trace id" in done.stdout


def test_a_right_that_is_missing_is_told_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tracekit.cli
    from tracekit.cli.command import Command

    def refused(options: object) -> int:
        raise PermissionError(13, "Permission denied", str(tmp_path / "out"))

    forbidden = Command("doctor", "", lambda parser: None, refused)
    monkeypatch.setattr(tracekit.cli, "load", lambda name: forbidden)

    assert tracekit.cli.main(["doctor"]) == 4
    assert capsys.readouterr().err == f"tracekit: {tmp_path / 'out'}: Permission denied\n"
