"""Every case under cases/: a small log and exactly the diagnoses that it must give, clean ones none at all."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.case_log import step_of, trace_of, write
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.failures import CLASSES
from tracekit_analyzers.failures._load import confidences
from tracekit_analyzers.model import TraceVerdict

CASES = Path(__file__).parent / "cases"
FILES = sorted(CASES.glob("*/*.json"))


def diagnosed(case: dict[str, Any], folder: Path) -> TraceVerdict:
    with Engine([str(write(case, folder))]) as engine:
        engine.load()
        return engine.verdicts[trace_of("case")]


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_a_case_gives_exactly_its_diagnoses_each_with_evidence(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    names = {step_of("case", step["id"]): step["id"] for step in case["steps"]}

    verdict = diagnosed(case, tmp_path)

    found = [
        {
            "code": d.code,
            "failed": names[d.failed_step or ""],
            "cause": names[d.cause_step or ""],
            "recovered": d.recovered,
        }
        for d in verdict.diagnoses
    ]
    assert found == case["expect"]
    primary = None if verdict.primary is None else verdict.diagnoses[verdict.primary].code
    assert primary == case["primary"]
    for diagnosis in verdict.diagnoses:
        # What speaks against the proper end of a run is less sure than a crash.
        share = 1 if diagnosis.recovered else case.get("share", 1)
        assert diagnosis.confidence == pytest.approx(share * confidences()[diagnosis.rule], abs=5e-4)
        assert diagnosis.evidence
        assert all(fact.what and (fact.step is None or fact.step in names) for fact in diagnosis.evidence)
        assert len(diagnosis.message) > 20


def test_every_class_has_a_case_and_clean_runs_are_among_them() -> None:
    codes = {kind.code for kind in CLASSES}
    expected = {
        item["code"] for path in FILES for item in json.loads(path.read_text(encoding="utf-8"))["expect"]
    }

    assert expected == codes
    assert len([path for path in FILES if path.parent.name == "clean"]) >= 5


def test_the_sql_uses_only_rules_that_the_confidence_table_has() -> None:
    known = confidences()
    literal = {rule for kind in CLASSES for rule in re.findall(r"sure\('([a-z_.]+/[a-z_]+)'\)", kind.sql)}

    assert literal
    assert literal <= set(known)
    assert {rule.split("/")[0] for rule in known} == {kind.code for kind in CLASSES}
    assert all(0 < share < 1 for share in known.values())


def test_each_class_says_what_a_person_needs() -> None:
    for kind in CLASSES:
        text = getattr(kind, "__doc__", "") or ""
        assert "A bad trace:" in text
        assert "Evidence:" in text
        assert "What to do:" in text
        assert kind.sql.startswith("-- One row:")


def test_the_page_of_failure_classes_is_up_to_date() -> None:
    docs = Path(__file__).parents[2] / "docs"
    made = runpy.run_path(str(docs / "make_failures.py"))["page"]()

    assert (docs / "failures.md").read_text(encoding="utf-8") == made
