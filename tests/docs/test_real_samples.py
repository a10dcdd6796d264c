"""What analysis says about output that nobody planted: logs of a real small model."""

from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tracekit_analyzers.engine import Engine

SAMPLES = ROOT / "sample_traces"


def primary(path: Path) -> str | None:
    with Engine([path]) as engine:
        engine.load()
        [verdict] = engine.verdicts.values()
        return None if verdict.primary is None else verdict.diagnoses[verdict.primary].code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("real_free_text", "output.unparseable"),
        ("real_cut_off", "parameter.truncated"),
        ("real_bad_arguments", "parameter.generated"),
        ("real_circle", "orchestration.loop"),
        ("real_too_long", "context.overflow"),
    ],
)
def test_a_failure_of_a_real_model_gets_its_class(name: str, code: str) -> None:
    assert primary(SAMPLES / f"{name}.jsonl") == code


def test_no_sample_names_the_machine_that_made_it() -> None:
    for path in SAMPLES.glob("*.jsonl"):
        text = path.read_text()
        assert '"host":"example"' in text
        assert str(ROOT) not in text
        assert str(Path.home()) not in text
