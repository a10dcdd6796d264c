"""Real processes that end in every way there is: what is in the log afterwards?"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Lines = Callable[[Path], list[dict[str, Any]]]

HEAD = "import os, sys, time, threading, signal\nimport tracekit\nfrom tracekit.recording.recorder import recorder\n"


def run(home: Path, code: str, *, env: dict[str, str] | None = None, init: str = "tracekit.init()\n") -> int:
    """Runs *code* in a process of its own and returns its exit code; negative for a signal."""
    program = HEAD + init + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TRACEKIT_HOME": str(home), **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "tracekit could not record" not in done.stderr, done.stderr
    return done.returncode


def start(home: Path, code: str) -> subprocess.Popen[str]:
    env = {**os.environ, "TRACEKIT_HOME": str(home)}
    program = HEAD + "tracekit.init()\n" + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True)


def steps_of(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    steps: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["record"] == "step":
            steps[line["step_id"]] = steps.get(line["step_id"], {}) | line
    return steps


def exits(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["record"] == "process" and line["event"] == "exit"]


THOUSAND = """
    with tracekit.step("run"):
        for i in range(1000):
            recorder().begin("tool", "refund", input={"n": i}).finish(output=i)
        recorder().begin("tool", "hangs")
        END
"""


@pytest.mark.parametrize(
    ("end", "code"), [("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL), ("os._exit(7)", 7)]
)
def test_no_finished_step_is_lost_and_the_open_ones_show(
    tmp_path: Path, lines_of: Lines, end: str, code: int
) -> None:
    assert run(tmp_path, THOUSAND.replace("END", end)) == code

    lines = lines_of(tmp_path)
    steps = list(steps_of(lines).values())
    assert [s["output_snapshot"] for s in steps if s["status"] == "ok"] == list(range(1000))
    assert [s["name"] for s in steps if s["status"] == "running"] == ["run", "hangs"]
    assert not exits(lines)


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError('agent')", 1),
        ("os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
    ],
)
def test_a_clean_exit_is_told_and_the_exit_code_is_the_agent_s(
    tmp_path: Path, lines_of: Lines, ending: str, code: int
) -> None:
    assert run(tmp_path, f"tracekit.step('s').__enter__()\n{ending}") == code

    lines = lines_of(tmp_path)
    assert lines[0]["event"] == "start"
    (told,) = exits(lines)
    assert told["counts"] == {"lines": 2, "steps_started": 1, "steps_finished": 0, "drops": 0, "troubles": 0}


def test_a_process_that_records_nothing_leaves_nothing(tmp_path: Path) -> None:
    assert run(tmp_path / "home", "pass") == 0

    assert not (tmp_path / "home").exists()


FORK = """
    outer = tracekit.step("outer")
    outer.__enter__()
    child = os.fork()
    if child == 0:
        tracekit.step("of the child").__enter__()
        if outer._open: outer.__exit__(None, None, None)
        END
        os._exit(0)
    os.waitpid(child, 0)
    outer.__exit__(None, None, None)
"""


@pytest.mark.parametrize(
    ("end", "is_told"),
    [
        ("sys.exit(0)", True),
        ("raise RuntimeError('child')", True),
        ("os._exit(0)", False),
        ("os.kill(os.getpid(), signal.SIGKILL)", False),
    ],
)
def test_a_forked_child_has_its_own_file_id_and_end(
    tmp_path: Path, lines_of: Lines, end: str, is_told: bool
) -> None:
    assert run(tmp_path, FORK.replace("END", end)) == 0

    lines = lines_of(tmp_path)
    assert len(list((tmp_path / "traces").iterdir())) == 2
    steps = {s["name"]: s for s in steps_of(lines).values()}
    assert steps["outer"]["status"] == "ok"
    assert sum(line.get("name") == "outer" for line in lines) == 2
    assert steps["of the child"]["parent_step_id"] == steps["outer"]["step_id"]
    assert steps["of the child"]["process_id"] != steps["outer"]["process_id"]
    assert steps["of the child"]["step_id"] != steps["outer"]["step_id"]
    assert len(exits(lines)) == 1 + is_told


def test_two_forked_children_give_different_ids(tmp_path: Path, lines_of: Lines) -> None:
    code = """
        for _ in range(2):
            if os.fork() == 0:
                for _ in range(50):
                    recorder().begin("step", "s").finish()
                os._exit(0)
        os.wait(), os.wait()
    """
    assert run(tmp_path, code) == 0

    assert len(steps_of(lines_of(tmp_path))) == 100


def test_a_child_of_multiprocessing_tells_its_clean_exit(tmp_path: Path, lines_of: Lines) -> None:
    code = """
        import multiprocessing
        def work():
            recorder().begin("step", "child").finish()
        for method in ("fork", "spawn"):
            if method == "fork":
                p = multiprocessing.get_context(method).Process(target=work)
                p.start(); p.join()
    """
    assert run(tmp_path, code) == 0

    assert len(exits(lines_of(tmp_path))) == 1


def test_four_processes_with_four_threads_each_and_one_killed(tmp_path: Path, lines_of: Lines) -> None:
    code = """
        def work(name):
            for i in range(100):
                with tracekit.step(name, kind="tool"):
                    pass
        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        print("ready", flush=True)
        sys.stdin.read()
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HEAD + "tracekit.init()\n" + textwrap.dedent(code)],
            env={**os.environ, "TRACEKIT_HOME": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    processes[0].kill()
    for process in processes:
        process.communicate()

    lines = lines_of(tmp_path)
    steps = steps_of(lines).values()
    assert len(steps) == 1600
    assert {s["status"] for s in steps} == {"ok"}
    for process_id in {s["process_id"] for s in steps}:
        assert sum(s["process_id"] == process_id for s in steps) == 400
    assert len(exits(lines)) == 3


def test_the_lock_on_the_file_tells_a_killed_process_from_a_running_one(tmp_path: Path) -> None:
    process = start(tmp_path, "tracekit.step('s').__enter__()\nprint('ready', flush=True)\ntime.sleep(60)")
    assert process.stdout is not None
    process.stdout.readline()
    (log,) = (tmp_path / "traces").iterdir()

    def is_held() -> bool:
        with log.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    assert is_held()
    process.kill()
    process.communicate()
    assert not is_held()


def test_a_forked_child_does_not_hold_the_lock_of_its_killed_parent(tmp_path: Path) -> None:
    code = """
        tracekit.step("s").__enter__()
        if os.fork() == 0:
            print("ready", flush=True)
            time.sleep(60)
        time.sleep(60)
    """
    process = start(tmp_path, code)
    assert process.stdout is not None
    process.stdout.readline()
    (log,) = (tmp_path / "traces").iterdir()
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    process.kill()
    process.wait()
    try:
        with log.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    assert run(tmp_path / "home", "recorder().begin('step', 's', input='x' * 300_000).finish()") == 0

    for path in (tmp_path / "home").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("threads", ["start", "no longer start, as in Python 3.12"])
def test_an_exporter_that_hangs_does_not_hold_the_exit(tmp_path: Path, threads: str) -> None:
    code = """
        from opentelemetry import trace
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
        class Hangs(SpanExporter):
            def export(self, spans):
                time.sleep(600)
            def shutdown(self): pass
        trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(Hangs()))
        recorder().begin("step", "s").finish()
        def refuse(thread):
            raise RuntimeError("can't create new thread at interpreter shutdown")
        if REFUSED:
            threading.Thread.start = refuse
        sys.exit(5)
    """.replace("REFUSED", str(threads != "start"))
    began = time.monotonic()

    assert run(tmp_path, code, init="tracekit.init(exit_budget_s=0.2)\n") == 5
    assert time.monotonic() - began < 30


def test_importing_tracekit_loads_nothing_heavy() -> None:
    code = "import tracekit, sys; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    heavy = (
        "duckdb",
        "polars",
        "textual",
        "apsw",
        "pydantic",
        "pydantic_core",
        "orjson",
        "opentelemetry.sdk",
        "asyncio",
    )
    assert [name for name in heavy if name in loaded] == []


def test_recording_loads_no_reader_and_no_store() -> None:
    code = "import tracekit, sys; tracekit.init(home=sys.argv[1]); tracekit.step('x'); print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code, "unused-home"], capture_output=True, text=True, check=True
    ).stdout.split()

    assert [n for n in ("duckdb", "polars", "textual", "apsw", "psycopg", "httpx") if n in loaded] == []


def test_the_log_is_json_whatever_line_it_is_cut_at(tmp_path: Path) -> None:
    assert run(tmp_path, "for i in range(20): recorder().begin('step', 's').finish()") == 0

    (log,) = (tmp_path / "traces").iterdir()
    whole = log.read_bytes().splitlines(keepends=True)
    assert all(line.endswith(b"\n") and isinstance(json.loads(line), dict) for line in whole)
