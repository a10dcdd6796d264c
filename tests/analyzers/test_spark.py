"""The same log through one machine and through a Spark cluster of two executor processes: every verdict is the same."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analyzers import spark_help
from tests.analyzers.case_log import hex_id
from tests.analyzers.spark_help import Report, report
from tests.analyzers.spark_log import write_log
from tracekit.cli import main
from tracekit.errors import TracekitError
from tracekit_analyzers.spark.cluster import analyze
from tracekit_analyzers.views import Progress

spark_help.skip_without_spark()


CLUSTER = "local-cluster[2,1,1024]"
# Files are cut into pieces of half a megabyte, as large files are on a real cluster.
CUT = "spark.sql.files.maxPartitionBytes=524288"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 20,000 steps in all forms that a log may have; one trace is a thousand times as long as most."""
    folder = tmp_path_factory.mktemp("spark") / "log"
    write_log(folder, steps=17_000)
    _large_trace(folder / "large.jsonl")
    _damaged(folder / "torn.jsonl", folder / "agents-0.jsonl")
    other = folder.parent / "other"
    write_log(other, steps=600, files=1, salt="other")
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress((other / "agents-0.jsonl").read_bytes()))
    for form in ("otlp", "parquet"):
        write_log(folder.parent / form, steps=400, files=1, salt=form)
        end = "otlp.jsonl" if form == "otlp" else "parquet"
        assert main(["convert", str(folder.parent / form), str(folder / f"steps of {form}.{end}")]) == 0
    return folder


def _large_trace(path: Path) -> None:
    with path.open("w") as out:
        for place in range(3_000):
            failed = place == 2_900
            record = {
                "record": "step", "trace_id": hex_id("large", 32), "step_id": hex_id(f"large {place}", 16), "kind": "tool",
                "tool_name": "pay", "input_snapshot": {"n": place, "order": f"A-{place}"}, "status": "error" if failed else "ok",
                "output_snapshot": {"order": f"A-{place + 1}"}, "error_type": "Declined" if failed else None,
            }  # fmt: skip
            out.write(json.dumps(record) + "\n")


def _damaged(path: Path, like: Path) -> None:
    """A byte order mark, blank lines, torn and glued records, numbers that are none, steps without an id."""
    lines = like.read_text().splitlines()[1:1200]
    lines[300:300] = ["", "   "]
    lines[500] = lines[500][: len(lines[500]) // 2]
    lines[700] += lines[701]
    lines[900] = '{"record": "step", "kind": "tool", "tool_name": "pay", "duration_ms": NaN}'
    lines[901] = '{"record": "step", "kind": "tool", "tool_name": "pay", "duration_ms": "long"}'
    lines[902] = "[1, 2]"
    salted = "\n".join(lines).replace('"trace_id": "', '"trace_id": "d')
    path.write_bytes(b"\xef\xbb\xbf" + salted.encode())


@pytest.fixture(scope="module")
def here(log: Path) -> Report:
    """What one machine says."""
    return spark_help.here([log])


@pytest.mark.slow
def test_a_cluster_gives_the_verdicts_of_one_machine(
    log: Path, here: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    code = main(
        ["analyze", str(log), "--format", "json", "--engine", "spark", "--master", CLUSTER, "--conf", CUT]
    )
    told = json.loads(capsys.readouterr().out)

    assert here["summary"]["steps"] > 20_000
    assert len(here["summary"]["by_code"]) > 20
    assert here["summary"]["damage"]["bad_count"] >= 5
    assert told["summary"] == here["summary"]
    assert told["traces"] == here["traces"]
    assert code == 3


@pytest.mark.slow
def test_an_executor_killed_in_mid_run_changes_nothing(log: Path, here: Report) -> None:
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.stage.startswith("diagnosing") and progress.done_bytes and not killed:
            executors = list(_executors())
            assert len(executors) == 2
            killed.append(executors[0])
            os.kill(executors[0], signal.SIGKILL)

    found = analyze([str(log)], master=CLUSTER, tell=kill_one)

    assert killed
    assert report(found) == here


def _executors() -> Iterator[int]:
    """Executor processes below this process."""
    listed = subprocess.run(
        ["ps", "-ww", "-Ao", "pid=,ppid=,command="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, *_ in rows}
    for pid, _, *command in rows:
        if (
            command
            and "CoarseGrainedExecutorBackend" in command[0]
            and os.getpid() in _above(int(pid), parents)
        ):
            yield int(pid)


def _above(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid in parents and pid > 1:
        pid = parents[pid]
        yield pid


@pytest.mark.slow
def test_what_is_not_there_is_said_as_on_one_machine(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="found nothing at"):
        analyze([str(tmp_path / "nothing")], master="local[1]")
    with pytest.raises(TracekitError, match="standard input"):
        analyze(["-"], master="local[1]")
    (tmp_path / "notes.txt").write_text("no log at all")
    with pytest.raises(TracekitError, match="format that tracekit knows"):
        analyze([str(tmp_path)], master="local[1]")


@pytest.mark.slow
def test_a_folder_on_a_file_system_of_spark_is_read_like_one_of_this_machine(tmp_path: Path) -> None:
    home = tmp_path / "agents at home"
    write_log(home / "traces", steps=400, files=2)
    (home / "blobs").mkdir()
    (home / "blobs" / "large").write_text("no log")
    one = spark_help.here([home])

    far = report(analyze([f"file://{home}"], master="local[2]"))

    names = {trace["source"]["file"] for trace in far["traces"]}
    assert names == {f"file:{home}/traces/agents-{place}.jsonl" for place in (0, 1)}
    assert json.loads(json.dumps(far).replace(f"file:{home}", str(home))) == one


@pytest.mark.slow
@pytest.mark.skipif("TRACEKIT_LARGE" not in os.environ, reason="takes ten minutes: TRACEKIT_LARGE=1")
def test_two_hundred_thousand_steps_get_the_verdicts_of_one_machine(tmp_path: Path) -> None:
    write_log(tmp_path, steps=200_000, files=8)
    one = spark_help.here([tmp_path])

    assert one["summary"]["steps"] >= 200_000
    assert report(analyze([str(tmp_path)], master=CLUSTER)) == one
