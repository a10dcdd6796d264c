"""Readers and failure classes of another package, which is built and installed as a user would, and what broken ones do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="the package is built with hatchling, which is in the dev group")

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "tide-tables"
version = "1.0"
[project.entry-points."tracekit.readers"]
tide = "tide_tables:READER"
rocks = "tide_rocks:READER"
shoal = "tide_tables:NO_READER"
ours = "tide_tables:TAKEN"
[project.entry-points."tracekit.classes"]
low_water = "tide_tables:LowWater"
[tool.hatch.build.targets.wheel]
include = ["*.py"]
"""

MODULE = '''
"""A reader for lines such as `run-1;fill;0.5;ok`, and a class for water that is too low to go on."""

from tracekit.model import RetryAdvice


class Reader:
    name = "tide"
    title = "tide lines"

    def sniff(self, file):
        if file.head.startswith(b"TIDE SNIFF"):
            raise OSError("the tide is out")
        return 90 if file.head.startswith(b"TIDE") else 0

    def read(self, file, damage):
        lines = file.path.read_text().splitlines()
        for number, line in enumerate(lines[1:], 2):
            damage.counted(1)
            if line == "STORM":
                raise ValueError("a storm came up")
            run, tool, level, status = line.split(";")
            yield {"record": "step", "trace_id": run, "step_id": f"{run}-{number}", "kind": "tool", "tool_name": tool,
                   "status": status, "input_snapshot": {"level": float(level)}, "source": {"line": number}}


class Taken(Reader):
    name = "native"


class LowWater:
    code = "tide.low_water"
    title = "Too little water"
    retry = RetryAdvice.BACKOFF
    sql = """
    select trace_id, step_id as failed_step, step_id as cause_step, 0.9 as confidence, 'tide.low_water/level' as rule,
      tool_name || ' needs more water' as message,
      [{'step': step_id, 'what': 'the level', 'path': '$.level', 'value': input ->> '$.level'}] as evidence
    from steps where status = 'error' and try_cast(input ->> '$.level' as double) < 1
    """


READER, TAKEN, NO_READER = Reader(), Taken(), object()
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the installed package, to be put on the path."""
    source, target = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("installed")
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "tide_tables.py").write_text(MODULE)
    (source / "tide_rocks.py").write_text("raise RuntimeError('hit the rocks')\n")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*pip, "--disable-pip-version-check", "--target", str(target), str(source)], check=True)
    return target


def tracekit(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(installed), *filter(None, sys.path)))
    code = "import sys; from tracekit.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    path = tmp_path / "harbour.txt"
    path.write_text("TIDE\nrun-1;fill;2.5;ok\nrun-1;sail;0.5;error\nrun-2;sail;3;ok\n")
    return path


def test_a_log_of_a_format_of_another_package_is_read_and_judged_by_its_class(
    installed: Path, tides: Path
) -> None:
    done = tracekit(installed, "analyze", str(tides), "--format", "json", "--fail-on", "tide.low_water")

    told = json.loads(done.stdout)
    first, second = told["traces"]
    found = first["diagnoses"][first["primary"]]
    assert done.returncode == 1
    assert (found["code"], found["family"], found["message"]) == (
        "tide.low_water", "tide", "sail needs more water",
    )  # fmt: skip
    assert (found["failed_seq"], found["source"]["line"], found["retry"]) == (2, 3, "backoff")
    assert second["diagnoses"] == []


def test_what_can_not_be_loaded_is_told_and_does_not_stop_the_analysis(installed: Path, tides: Path) -> None:
    told = tracekit(installed, "analyze", str(tides), "--format", "json").stderr

    assert "tracekit.readers rocks of tide-tables is left out: RuntimeError: hit the rocks" in told
    assert "tracekit.readers shoal of tide-tables is left out: it has no name, title, sniff, read" in told
    assert "tracekit.readers ours of tide-tables is left out: 'native' is taken already" in told


def test_a_reader_that_raises_in_the_middle_costs_only_the_rest_of_its_file(
    installed: Path, tides: Path, tmp_path: Path
) -> None:
    (tmp_path / "stormy.txt").write_text("TIDE\nrun-3;fill;2;ok\nSTORM\nrun-3;sail;2;ok\n")

    done = tracekit(installed, "analyze", str(tmp_path), "--format", "json")

    told = json.loads(done.stdout)
    assert done.returncode == 3
    assert [trace["trace_id"] for trace in told["traces"]] == ["run-1", "run-2", "run-3"]
    (bad,) = told["summary"]["damage"]["bad"]
    assert bad["file"].endswith("stormy.txt")
    assert bad["reason"] == "reader_failed: tide raised ValueError: a storm came up"


def test_a_reader_that_raises_when_it_looks_leaves_the_file_to_others(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "odd.txt").write_text("TIDE SNIFF\n")

    done = tracekit(installed, "analyze", str(tmp_path / "odd.txt"))

    assert done.returncode == 4
    assert "reader tide can't look into" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_page_names_the_class_of_another_package_as_that_package_does(
    installed: Path, tides: Path, tmp_path: Path
) -> None:
    tracekit(installed, "analyze", str(tides), "--format", "html", "--output", str(tmp_path / "r.html"))

    assert "Too little water" in (tmp_path / "r.html").read_text()
