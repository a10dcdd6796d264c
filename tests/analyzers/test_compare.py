"""What counts as a difference between what a model wrote and what a tool received."""

import json

import pytest

from tracekit_analyzers.verdicts.compare import differences


def decimal(text: str) -> dict[str, object]:
    return {"$tk": {"type": "decimal", "value": text}}


@pytest.mark.parametrize(
    ("written", "received"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 10}, {"a": 10.0}),
        ({"a": "99.50"}, {"a": decimal("99.50")}),
        ({"a": 99.5}, {"a": decimal("99.50")}),
        ({"a": ["2026-01-02"]}, {"a": [{"$tk": {"type": "date", "value": "2026-01-02"}}]}),
    ],
)
def test_a_declared_type_and_another_writing_are_the_same(written: object, received: object) -> None:
    assert differences(json.dumps(written), json.dumps(received)) == ()


@pytest.mark.parametrize(
    ("written", "received"),
    [
        ({"a": "99.50"}, {"a": decimal("9950")}),
        ({"a": True}, {"a": 1}),
        ({"a": True}, {"a": decimal("1")}),
        ({"a": "99.50"}, {"a": {"$tk": {"type": "secret", "rule": "x", "digest": "99"}}}),
        ({"a": "x"}, {}),
        ({"a": "not a number"}, {"a": decimal("1")}),
    ],
)
def test_another_value_is_a_difference_with_its_path(written: object, received: object) -> None:
    assert [each.path for each in differences(json.dumps(written), json.dumps(received))] == ["$.a"]
