"""What is missing or wrong around Spark is told in plain words and with a code; nobody has to read a page of Java."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.analyzers import spark_help
from tests.analyzers.spark_log import write_log

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write_log(tmp_path / "log", steps=50, files=1)
    return tmp_path / "log"


def analyzed(log: Path | str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`tracekit analyze --engine spark` as a process of its own."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    return subprocess.run(
        [sys.executable, "-m", "tracekit", "analyze", str(log), "--engine", "spark", "--format", "json", *options],
        env=known | environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def told(run: subprocess.CompletedProcess[str]) -> str:
    """The last line on stderr, which has to be ours; nothing is on stdout and no trace of Python is shown."""
    assert run.returncode == 4, run.stderr
    assert run.stdout == ""
    assert 'File "' not in run.stderr
    return run.stderr.splitlines()[-1]


def test_spark_that_is_not_installed_is_named_with_what_to_install(log: Path) -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        assert "pip install 'tracekit-agents[spark]'" in told(analyzed(log))
    else:
        pytest.skip("pyspark is installed here")


needs_spark = pytest.mark.skipif(
    not spark_help.spark_can_run(), reason="Spark or Java is not here: make spark"
)


@needs_spark
def test_no_java_is_told(log: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()

    run = analyzed(log, "--master", "local[1]", PATH=str(tmp_path / "bin"), JAVA_HOME=str(tmp_path))

    assert "needs Java 17 or newer" in told(run)


@needs_spark
def test_a_master_that_is_none_is_told(log: Path) -> None:
    assert "or local[4], got 'nonsense'" in told(analyzed(log, "--master", "nonsense"))


@needs_spark
def test_a_setting_that_spark_refuses_points_to_what_it_said(log: Path) -> None:
    run = analyzed(log, "--master", "local[1]", "--conf", "spark.driver.memory=much")

    assert "[spark.not_started]" in told(run)
    assert "much" in run.stderr


@needs_spark
def test_a_master_that_does_not_answer_is_told_at_once(log: Path) -> None:
    run = analyzed(log, "--master", "spark://127.0.0.1:1")

    assert "expected a running Spark master at spark://127.0.0.1:1" in told(run)


@needs_spark
@pytest.mark.slow
def test_a_file_system_that_spark_does_not_have_is_told() -> None:
    assert "hadoop-aws" in told(analyzed("s3a://agents/2026", "--master", "local[1]"))


@needs_spark
@pytest.mark.slow
def test_executors_without_the_package_are_told(log: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"

    run = analyzed(log, "--master", "local[1]", PYSPARK_PYTHON=str(python), PYTHONPATH="")

    assert "on every one of them; see docs/operations.md" in told(run)


@needs_spark
@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--master", "local[1]")])
def test_executors_of_this_machine_run_the_python_of_the_command_and_not_the_first_on_the_path(
    log: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    venv.create(tmp_path / "bare", with_pip=False)

    run = analyzed(log, *options, PATH=f"{tmp_path / 'bare' / 'bin'}{os.pathsep}{os.environ['PATH']}")

    assert run.returncode == 0, run.stderr
    assert '"traces"' in run.stdout


@needs_spark
@pytest.mark.slow
def test_traces_that_do_not_fit_are_told_with_the_setting(tmp_path: Path) -> None:
    write_log(tmp_path, steps=20_000, files=1)

    run = analyzed(tmp_path, "--master", "local[1]", "--conf", "spark.tracekit.memoryMb=4")

    assert "--conf spark.tracekit.memoryMb=8" in told(run)


@needs_spark
@pytest.mark.slow
def test_a_terminal_shows_how_far_spark_is_and_clears_the_line(log: Path) -> None:
    terminal, end = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "tracekit",
        "analyze",
        str(log),
        "--engine",
        "spark",
        "--master",
        "local[1]",
    ]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    seen = b""
    while True:
        try:
            seen += os.read(terminal, 1 << 16)
        except OSError:  # Linux tells the end of a terminal so.
            break
    os.close(terminal)

    assert process.wait(300) in (0, 3)
    for stage in (b"starting Spark", b"reading, ", b"learning about tools, ", b"diagnosing, "):
        assert b"\x1b[2K" + stage in seen
    assert seen.endswith(b"\r\x1b[2K")
