"""What analysis says about the sample traces: real runs of the example, one fault each."""

from pathlib import Path

import pytest

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import Diagnosis, TraceVerdict

SAMPLES = Path(__file__).parents[2] / "sample_traces"


def verdict(name: str) -> TraceVerdict:
    with Engine([SAMPLES / f"{name}.jsonl"]) as engine:
        engine.load()
        [found] = engine.verdicts.values()
        return found


def found(name: str) -> list[tuple[str, int | None, bool]]:
    """Code, failed step and whether it was got over, of every diagnosis of the sample."""
    diagnoses: tuple[Diagnosis, ...] = verdict(name).diagnoses
    return [(each.code, each.failed_seq, each.recovered) for each in diagnoses]


@pytest.mark.parametrize("name", ["refund_ok", "model_rate_limited"])
def test_a_run_that_went_well_has_no_failure(name: str) -> None:
    assert verdict(name).status == "ok"
    assert verdict(name).primary is None


def test_a_killed_run_is_told_from_its_open_payment() -> None:
    assert found("refund_killed") == [("process.killed", 7, False)]
    assert "outcome is unknown" in verdict("refund_killed").diagnoses[0].message


def test_a_kill_that_a_later_attempt_made_good_is_listed_as_got_over() -> None:
    assert found("refund_killed_and_resumed") == [("process.killed", 1, True)]
    assert verdict("refund_killed_and_resumed").status == "ok"
    assert verdict("refund_killed_and_resumed").primary is None


@pytest.mark.parametrize(
    ("name", "code", "step"),
    [
        ("refund_answer_lost", "timeout.no_answer", 7),
        ("refund_rejected", "tool.rejected", 7),
        ("order_not_found", "tool.not_found", 3),
        ("orders_down", "timeout.unavailable", 3),
    ],
)
def test_a_fault_of_a_service_is_named_at_the_call_that_met_it(name: str, code: str, step: int) -> None:
    assert (code, step) in [row[:2] for row in found(name)]
