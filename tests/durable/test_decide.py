"""The decision table: first matching row wins, a user may replace it, and one border can't be moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.durable.decide import Action, Facts, Table
from tracekit.errors import TracekitError


@pytest.mark.parametrize(
    ("facts", "action"),
    [
        (Facts("timeout.no_answer", "effect", "high", is_unknown=True), Action.REVIEW),
        (Facts("timeout.no_answer", "effect", "high", is_unknown=True, settle="probe"), Action.SETTLE),
        (Facts("timeout.no_answer", "effect", "low", is_unknown=True, settle="key"), Action.RETRY),
        (
            Facts("timeout.no_answer", "effect", "low", is_unknown=True, settle="key", limit_reached=True),
            Action.REVIEW,
        ),
        (Facts("timeout.unavailable", "model"), Action.RETRY),
        (Facts("timeout.unavailable", "read", limit_reached=True), Action.REVIEW),
        (Facts("timeout.unavailable", "read", limit_reached=True, critical=False), Action.SKIP),
        (Facts("parameter.generated", "read"), Action.REPROMPT),
        (Facts("parameter.altered", "read"), Action.REVIEW),
        (Facts("parameter.unknown_reference", "task", "low"), Action.RESTORE),
        (Facts("parameter.unknown_reference", "task", "high"), Action.REVIEW),
        (Facts("context.overflow", "model"), Action.REBUILD),
        (Facts("orchestration.loop", "task"), Action.REVIEW),
        (Facts("tool.schema_changed", "read"), Action.REVIEW),
        (Facts("tool.rejected", "effect", "high"), Action.REPROMPT),
        (Facts("process.killed", "task", "high", 0.5), Action.REPLAY),
        (Facts("unknown.no_evidence", "task"), Action.REVIEW),
    ],
)
def test_the_standard_table(facts: Facts, action: Action) -> None:
    assert Table.standard().decide(facts).action is action


def test_a_users_table_replaces_ours(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[[rule]]\nid = "never"\nclass = ["timeout.*"]\naction = "review"\n')

    verdict = Table.read(path).decide(Facts("timeout.unavailable", "read"))

    assert (verdict.action, verdict.rule_id) == (Action.REVIEW, "never")


def test_a_row_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[[rule]]\nid = "a"\naction = "retry"\n[[rule]]\nid = "b"\naction = "pray"\n')

    with pytest.raises(TracekitError, match="rule 2"):
        Table.read(path)


@given(st.sampled_from(list(Action)), st.sampled_from(["timeout.no_answer", "tool.error"]), st.booleans())
def test_no_table_sends_an_unknown_effect_again_without_key_or_probe(
    tmp_path_factory: pytest.TempPathFactory, action: Action, failure_class: str, critical: bool
) -> None:
    path = tmp_path_factory.mktemp("table") / "my.toml"
    path.write_text(f'[[rule]]\nid = "bold"\naction = "{action}"\n')
    facts = Facts(failure_class, "effect", "high", is_unknown=True, settle="none", critical=critical)

    assert Table.read(path).decide(facts).action is Action.REVIEW
