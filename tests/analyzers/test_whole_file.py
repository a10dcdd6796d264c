"""A report is there whole or not at all, and as private as the log that it tells of."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tracekit_analyzers import analyze
from tracekit_analyzers.reports.whole_file import whole_file

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "refund_ok.jsonl"


def test_a_report_that_breaks_off_leaves_what_was_there_before(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    with pytest.raises(TypeError), whole_file(target) as out:
        out.writelines([b"new", None])  # type: ignore[list-item]  # it breaks after the first

    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_report_from_python_is_for_its_user_alone(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    with analyze(SAMPLE) as found:
        found.report(target)

    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert b"0 of 1 run" in target.read_bytes()
    assert list(tmp_path.iterdir()) == [target]


def test_a_pipe_takes_what_comes_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    taken: list[bytes] = []
    reader = threading.Thread(target=lambda: taken.append(pipe.read_bytes()))
    reader.start()
    with whole_file(pipe) as out:
        out.write(b"all of it")
    reader.join(10)

    assert (taken, pipe.is_fifo()) == ([b"all of it"], True)
