"""`tracekit backup`: what the copy holds is the store at one moment, also while others write."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import tracekit
from tracekit import config
from tracekit.cli import main
from tracekit.durable.owning import close_all
from tracekit.store import open_store

WRITER = """
import itertools, tracekit
@tracekit.tool(effect="write")
def put(n: int) -> int: return n
@tracekit.task()
def job(run: tracekit.Run, n: int) -> int: return run.tool(put, n)
for n in itertools.count():
    job.start(n, task_id=f"t-{n}")
    print(n, flush=True)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRACEKIT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRACEKIT_STORE", raising=False)
    config.reset()
    yield tmp_path / "home"
    close_all()
    config.reset()


@tracekit.task
def shout(run: tracekit.Run, word: str) -> str:
    return str(run.step("a", word.upper))


def test_the_copy_gives_back_what_was_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shout.start("hello", task_id="t")

    code = main(["backup", str(tmp_path / "copy.db"), "--format", "json"])

    assert code == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / "copy.db").stat().st_size
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("copy.db*")] == ["copy.db"]
    assert tracekit.resume("t", store=f"sqlite:{tmp_path / 'copy.db'}") == "HELLO"


def test_beside_a_process_that_writes_each_task_is_there_whole_or_not_at_all(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "writer.py").write_text(WRITER)
    writer = subprocess.Popen(
        [sys.executable, str(tmp_path / "writer.py")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout is not None
        for _ in range(3):
            writer.stdout.readline()
        codes = [main(["backup", str(tmp_path / f"copy{n}.db")]) for n in range(3)]
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()

    assert codes == [0, 0, 0]
    counts = []
    for number in range(3):
        with closing(open_store(tmp_path / f"copy{number}.db")) as copy:
            rows = copy.tasks()
            counts.append(len(rows))
            for row in rows:
                state = copy.load(row.task_id, with_bodies=True)
                assert state is not None
                if row.status == "done":
                    assert [entry.status for entry in state.effects] == ["success"]
    assert min(counts) >= 3
    assert counts == sorted(counts)


def test_a_file_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shout.start("hello", task_id="t")
    (tmp_path / "copy.db").write_text("mine")

    assert main(["backup", str(tmp_path / "copy.db")]) != 0

    assert (tmp_path / "copy.db").read_text() == "mine"
    assert "is there already" in capsys.readouterr().err


def test_a_damaged_store_gives_no_copy_that_looks_like_one(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shout.start("hello " * 5000, task_id="t")
    close_all()
    data = bytearray((home / "state.db").read_bytes())
    data[4096:8192] = bytes(4096)
    (home / "state.db").write_bytes(data)

    assert main(["backup", str(tmp_path / "copy.db")]) != 0

    assert not (tmp_path / "copy.db").exists()


def test_for_a_server_the_line_to_type_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEKIT_STORE", "memory:backup")
    config.reset()
    shout.start("hello", task_id="t")

    assert main(["backup", str(tmp_path / "copy.db")]) == 2

    assert "pg_dump --schema=tracekit" in capsys.readouterr().err
