"""Diagnoses against what is known: faults planted into clean runs, and the labelled tool errors of a real chat log."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tracekit_analyzers.engine import Engine

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("TRACEKIT_CORPUS", ROOT.parent / "shared" / "data")) / "taubench_airline"


def test_planted_faults_are_found_with_their_cause_and_clean_runs_stay_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import mutate

    labels = mutate.build(tmp_path, runs=mutate.ours(24, 3), rounds=3, seed=3)
    with Engine([str(tmp_path)]) as engine:
        engine.load()
        results = mutate.outcomes(engine.verdicts, labels)

    faulty = [result for result in results if result.label.code]
    scores = [row[3] for row in mutate.f1_by_class(results).values()]
    assert len(scores) == 12
    assert sum(scores) / len(scores) >= 0.95
    assert sum(result.cause_right for result in faulty) / len(faulty) >= 0.9
    assert [result for result in results if not result.label.code and result.primary] == []


@pytest.mark.corpus
def test_every_labelled_tool_error_and_invented_id_of_a_chat_log_is_found_and_no_good_call_is_blamed() -> (
    None
):
    if not CORPUS.is_dir():
        pytest.skip("no labelled logs: set TRACEKIT_CORPUS")
    errors, invented = (
        [json.loads(line) for line in (CORPUS / name).read_text().splitlines()]
        for name in ("tool_errors.jsonl", "unseen_ids.jsonl")
    )

    with Engine([str(CORPUS / "gpt-4o-airline.json")]) as engine:
        engine.load()
        verdicts = list(engine.verdicts.values())
    blamed = {
        (verdict.source.trace_index, diagnosis.source.index): diagnosis.code
        for verdict in verdicts
        for diagnosis in verdict.diagnoses
        if diagnosis.source and diagnosis.family in ("tool", "parameter", "timeout")
    }

    assert len(verdicts) == 116
    assert set(blamed) == {(row["trace_index"], row["message_index"]) for row in errors}
    ids = {place for place, code in blamed.items() if code == "parameter.unknown_reference"}
    assert ids == {(row["trace_index"], row["call_message_index"] + 1) for row in invented}
