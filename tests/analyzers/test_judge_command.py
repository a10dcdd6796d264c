"""`analyze --judge`: what a judge of the user's own says is told as its word in every report, and may gate a build."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tracekit.cli import main
from tracekit_analyzers.verdicts.judging import JudgedRun, Opinion

CRITIC = f"{__name__}:critic"
SAYS = "judge:critic says: nothing came of it"


def critic(run: JudgedRun) -> Iterable[Opinion]:
    """Finds every run boring."""
    return [Opinion("taste.boring", run.steps[0].step_id, "nothing came of it", 0.7)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    step = {"record": "step", "trace_id": "ab" * 16, "step_id": "s1", "kind": "task", "status": "ok"}
    path.write_text(json.dumps(step) + "\n")
    return path


@pytest.fixture(autouse=True)
def this_module_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.mark.parametrize("form", ["table", "html", "junit", "csv", "json"])
def test_every_report_says_whose_word_it_is(log: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert main(["analyze", str(log), "--judge", CRITIC, "--format", form]) == 0

    assert SAYS in capsys.readouterr().out


def test_the_html_report_claims_rules_alone_only_where_no_judge_spoke(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["analyze", str(log), "--format", "html"])
    ruled = capsys.readouterr().out
    main(["analyze", str(log), "--judge", CRITIC, "--format", "html"])
    judged = capsys.readouterr().out

    assert "Every verdict is a rule" in ruled
    assert "Every verdict is a rule" not in judged
    assert "a judge of the user's own" in judged


@pytest.mark.parametrize("codes", ["taste", "taste.boring"])
def test_a_code_of_the_judge_gates_a_build(log: Path, codes: str) -> None:
    assert main(["analyze", str(log), "--judge", CRITIC, "--fail-on", codes]) == 1
    assert main(["analyze", str(log), "--fail-on", codes]) == 2


def test_a_gate_that_neither_a_class_nor_the_judge_knows_is_told(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(log), "--judge", CRITIC, "--fail-on", "tatse"]) == 0
    assert "no class is called 'tatse'" in capsys.readouterr().err
