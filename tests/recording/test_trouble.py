"""The log can't be written: the agent goes on, the loss is counted and told."""

from __future__ import annotations

import errno
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit import clock, config
from tracekit.recording import setup
from tracekit.recording.recorder import recorder

Steps = Callable[[], list[dict[str, Any]]]
Lines = Callable[[Path], list[dict[str, Any]]]


def test_a_disk_that_was_full_is_told_when_writing_works_again(
    home: Path, lines_of: Lines, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recorder().begin("step", "before").finish()

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        recorder().begin("step", "lost").finish()
        recorder().begin("step", "half").finish()
    recorder().begin("step", "after").finish()

    lines = lines_of(home)
    assert {line["name"] for line in lines if line["record"] == "step"} == {"before", "after"}
    (drops,) = (line for line in lines if line["record"] == "drops")
    assert (drops["count"], drops["reason"]) == (4, "No space left on device")
    assert len([r for r in caplog.records if r.levelno == logging.WARNING]) == 1


def test_a_disk_that_fills_inside_a_line_leaves_no_half_line(tmp_path: Path) -> None:
    """A limit on the size of files cuts the write short, as a full disk does."""
    code = """
        import sys, tracekit
        from tracekit.recording.recorder import recorder
        tracekit.init(home=sys.argv[1])
        for i in range(20):
            recorder().begin("step", "s", input="x" * 1000).finish()
        print("the agent goes on")
    """

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "the agent goes on\n")
    (log,) = (tmp_path / "traces").iterdir()
    assert [json.loads(line)["record"] for line in log.read_bytes().splitlines()].count("step") > 2
    assert log.read_bytes().endswith(b"\n")
    assert done.stderr.count("can't write its log") == 1


def test_a_read_only_home_does_not_stop_the_agent(tmp_path: Path) -> None:
    code = """
        import os, sys, tracekit
        from tracekit.recording.recorder import recorder
        tracekit.init(home=sys.argv[1] + "/open")
        recorder().begin("step", "s").finish()  # everything is imported before the rights are given up
        if os.geteuid() == 0:
            os.seteuid(65534)
        tracekit.init(home=sys.argv[1] + "/closed/home")
        for _ in range(3):
            recorder().begin("tool", "t", input="x", messages=[{"role": "user", "content": "x"}]).finish()
        print("the agent goes on")
    """
    (tmp_path / "closed").mkdir(mode=0o500)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "the agent goes on\n")
    assert done.stderr.count("can't write its log") == 1
    assert os.listdir(tmp_path / "closed") == []


def test_a_home_that_is_a_file_does_not_stop_the_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("not a folder")
    setup.init(home=tmp_path / "home")
    with tracekit.step("s", kind="tool"):
        done = True
    recorder().begin("model", "m", messages=[{"role": "user", "content": "password=hunter2"}]).finish()
    setup.shutdown()
    config.reset()

    assert done
    assert len(caplog.records) == 1


def test_a_file_closed_or_replaced_under_us_is_followed_by_a_new_one(
    home: Path, lines_of: Lines, tmp_path: Path
) -> None:
    recorder().begin("step", "first").finish()
    writer = recorder().log.writer
    assert writer is not None
    os.close(writer._fds[-1])
    recorder().begin("step", "second").finish()
    number = writer._fds[-1]
    os.close(number)
    other = os.open(tmp_path / "other", os.O_CREAT | os.O_WRONLY)
    assert other == number
    writer._look_at_s = 0.0  # as if the last look at the file were long ago
    recorder().begin("step", "third").finish()
    os.close(other)

    assert (tmp_path / "other").read_bytes() == b""
    names = [line["name"] for line in lines_of(home) if line["record"] == "step"]
    assert sorted(names) == ["first", "first", "second", "second", "third", "third"]


def test_a_deleted_file_is_followed_by_a_new_one(home: Path, lines_of: Lines) -> None:
    recorder().begin("step", "first").finish()
    writer = recorder().log.writer
    assert writer is not None
    assert writer.path is not None
    writer.path.unlink()
    writer._look_at_s = 0.0
    recorder().begin("step", "second").finish()

    assert {line["name"] for line in lines_of(home) if line["record"] == "step"} == {"second"}


def test_a_full_file_is_followed_by_the_next_which_stands_alone(tmp_path: Path, lines_of: Lines) -> None:
    setup.init(home=tmp_path, rotate_bytes=6000, service="svc")
    messages = [{"role": "user", "content": "x" * 300}]
    for i in range(12):
        with tracekit.step(f"s{i}"):
            recorder().begin("model", "m", messages=messages).finish()
    setup.shutdown()
    config.reset()

    paths = sorted((tmp_path / "traces").iterdir(), key=lambda p: p.stat().st_mtime_ns)
    assert len(paths) > 2
    stem = min(paths, key=lambda p: len(p.name)).stem
    assert {p.name for p in paths} == {f"{stem}.jsonl"} | {
        f"{stem}.{n}.jsonl" for n in range(2, len(paths) + 1)
    }
    for path in paths:
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert (records[0]["record"], records[0]["event"]) == ("process", "start")
        known = {r["hash"] for r in records if r["record"] == "message"}
        contexts = [r["context"] for r in records if "context" in r]
        named = {context["digest"] for context in contexts}
        for context in contexts:
            assert set(context["hashes"]) <= known
            assert context["base"] is None or context["base"] in named
        assert records[-1]["event"] == "exit" if records[-1]["record"] == "process" else True


def test_a_clock_set_back_gives_no_negative_duration(steps: Steps) -> None:
    class Back(clock.SystemClock):
        now = 2_000_000_000_000_000_000

        def now_ns(self) -> int:
            self.now -= 1_000_000_000
            return self.now

    with clock.use(Back()):
        recorder().begin("step", "s").finish()

    assert steps()[0]["duration_ms"] >= 0


def test_recording_that_fails_inside_is_told_once_and_never_raised(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **kwargs: object) -> int:
        raise RuntimeError("inside")

    monkeypatch.setattr(recorder().log, "step_started", broken)
    for _ in range(3):
        step = recorder().begin("step", "s")
        with step.active():
            pass
        step.finish()

    assert len(caplog.records) == 1
    assert recorder().log.troubles == 3


def test_a_signal_handler_may_record_while_a_line_is_written(home: Path, lines_of: Lines) -> None:
    count = 0

    def handler(number: int, frame: object) -> None:
        nonlocal count
        count += 1
        recorder().begin("step", "in handler").finish()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        while count < 20:
            recorder().begin("step", "in agent", input="x" * 10_000).finish()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    names = [line["name"] for line in lines_of(home) if line["record"] == "step"]
    assert names.count("in handler") == 2 * count


def test_memory_holds_no_payload_and_forgets_ended_traces(home: Path) -> None:
    import tracemalloc

    log = recorder().log
    recorder().begin("step", "warm").finish()
    tracemalloc.start()
    for i in range(200):
        with tracekit.step("run"):
            messages = [{"role": "user", "content": f"{i}" + "x" * 20_000}]
            recorder().begin("model", "m", messages=messages, input="y" * 20_000).finish(output="z" * 20_000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert grown < 1_000_000
    assert log.contexts._bases == {}
    assert not log.has_open_steps()
