"""What `tracekit analyze` says by its exit code, where two things hold at once as well, so that a build can rest on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analyzers.test_html_report import clean, run
from tests.docs.pages import blocks
from tracekit.cli import main
from tracekit_analyzers.reading import plugins

WORKFLOW = next(block.text for block in blocks("docs/analysis.md") if block.language == "yaml")
TORN = '{"record": "step", "trace_id": "to'


def written(path: Path, *, failed: bool = True, torn: bool = False) -> str:
    records = [*(run(1) if failed else ()), *clean(2)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + (TORN if torn else ""))
    return str(path)


@pytest.mark.parametrize(
    ("failed", "torn", "fail_on", "code"),
    [
        (False, False, "any", 0),
        (True, False, "", 0),
        (True, False, "parameter.altered", 1),
        (True, False, "parameter", 1),
        (True, False, "timeout", 0),
        (False, True, "any", 3),
        (True, True, "", 3),
        (True, True, "parameter", 1),
        (True, True, "timeout", 3),
        (True, True, "timeout,parameter", 1),
    ],
)
@pytest.mark.parametrize("form", ["table", "junit"])
def test_failures_that_match_come_before_damage(
    tmp_path: Path, failed: bool, torn: bool, fail_on: str, code: int, form: str
) -> None:
    log = written(tmp_path / "log.jsonl", failed=failed, torn=torn)

    assert main(["analyze", log, "--fail-on", fail_on, "--format", form]) == code


def test_what_a_baseline_knows_does_not_fail_a_build_and_damage_still_shows(tmp_path: Path) -> None:
    known = written(tmp_path / "old.jsonl")
    report = tmp_path / "old.json"
    assert main(["analyze", known, "--format", "json", "--output", str(report)]) == 0
    log = written(tmp_path / "log.jsonl", torn=True)

    assert main(["analyze", log, "--fail-on", "any", "--baseline", str(report)]) == 3
    assert main(["analyze", log, "--fail-on", "any"]) == 1


def test_a_mistake_in_the_command_is_2_and_a_file_that_is_not_there_4(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl")

    assert main(["analyze", log, "--fail-on", "parametre"]) == 2
    assert main(["analyze", log, "--baseline", str(tmp_path / "none.json")]) == 2
    assert main(["analyze", str(tmp_path / "none.jsonl"), "--fail-on", "any"]) == 4


def test_a_report_that_can_not_be_written_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = written(tmp_path / "log.jsonl")

    assert main(["analyze", log, "--output", str(tmp_path / "no" / "where.html"), "--format", "html"]) == 2

    said = capsys.readouterr().err
    assert "where.html: No such file or directory" in said
    assert said.count("\n") == 1


def test_an_error_of_our_own_is_never_taken_for_failures_that_were_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError

    log = written(tmp_path / "log.jsonl")
    target = tmp_path / "report.json"
    target.write_text("the one of yesterday")
    monkeypatch.setattr(plugins, "classes", broken)

    assert main(["analyze", log, "--fail-on", "any", "--output", str(target)]) == 70

    assert "an error of tracekit itself" in capsys.readouterr().err
    assert target.read_text() == "the one of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "report.json"]


@pytest.mark.parametrize(("baseline", "code"), [(False, 1), (True, 0)])
def test_the_script_of_the_workflow_in_the_docs_gates_on_what_is_new(
    tmp_path: Path, baseline: bool, code: int
) -> None:
    (tmp_path / ".tracekit").mkdir()
    log = written(tmp_path / ".tracekit" / "log.jsonl")
    if baseline:
        (tmp_path / "baseline").mkdir()
        main(["analyze", log, "--output", str(tmp_path / "baseline" / "report.json")])
    lines = [line.strip() for line in WORKFLOW.splitlines()]
    at = next(place for place, line in enumerate(lines) if line.startswith("known=()"))
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines[at : at + 2])],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )

    assert done.returncode == code, done.stderr
    assert {"report.html", "report.json", "junit.xml"} <= {path.name for path in tmp_path.iterdir()}
    assert "parameter.altered" in done.stdout


def test_every_report_of_one_analysis_is_in_the_form_of_its_name(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl")
    names = ("a.html", "b.json", "c.csv", "d.xml", "e.parquet", "f.jsonl")

    assert (
        main(
            [
                "analyze",
                log,
                *(f"--report={tmp_path / name}" for name in names),
                "--output",
                str(tmp_path / "g.HTML"),
            ]
        )
        == 0
    )

    begins = {name: (tmp_path / name).read_bytes()[:9] for name in (*names, "g.HTML")}
    assert begins == {
        "a.html": b"<!doctype", "b.json": b'{"schema"', "c.csv": b"trace_id,", "d.xml": b"<?xml ver", "f.jsonl": b'{"schema"',
        "e.parquet": begins["e.parquet"], "g.HTML": b"<!doctype",
    }  # fmt: skip
    assert begins["e.parquet"].startswith(b"PAR1")


def test_a_report_whose_form_nobody_can_tell_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(tmp_path / "none.jsonl"), "--report", "report.doc"]) == 2
    assert "report.doc" in capsys.readouterr().err
