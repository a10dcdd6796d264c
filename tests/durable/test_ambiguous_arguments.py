"""Arguments in which a name stands twice are never settled silently: the model is told, or the reading is marked."""

from __future__ import annotations

import pytest

from tracekit.arguments import ArgumentSchema, BadArguments


def refund(order_id: str, amount: int, note: dict[str, int] | None = None) -> None: ...


SCHEMA = ArgumentSchema("refund", refund)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"order_id":"A","amount":10,"amount":1000}', "'amount' is written twice, as 10 and as 1000"),
        ('{"order_id":"A","amount":10,"\\u0061mount":1000}', "'amount' is written twice, as 10 and as 1000"),
        ('{"order_id":"A","amount":1,"note":{"a":1,"a":2}}', "'a' is written twice, as 1 and as 2"),
        ('{"order_id":"A","order_id":"B","amount":1}', "'order_id' is written twice, as A and as B"),
    ],
)
def test_a_name_that_stands_twice_with_other_values_is_told_to_the_model(text: str, said: str) -> None:
    with pytest.raises(BadArguments, match="nothing was executed") as refused:
        SCHEMA.parse(text)

    assert said in str(refused.value)
    assert refused.value.failure_class == "parameter.generated"


def test_the_same_value_twice_leaves_nothing_open() -> None:
    parsed = SCHEMA.parse('{"order_id":"A","amount":10,"amount":10}')

    assert (parsed.values, parsed.lenient) == ({"order_id": "A", "amount": 10}, False)


def test_a_lenient_reading_takes_the_last_and_is_marked() -> None:
    parsed = SCHEMA.parse('{"order_id":"A","amount":10,"amount":1000}', lenient=True)

    assert (parsed.values["amount"], parsed.lenient) == (1000, True)


def test_a_long_number_and_a_deep_value_are_still_read() -> None:
    def put(value: object) -> None: ...

    schema = ArgumentSchema("put", put)
    deep = "[" * 150 + "]" * 150

    assert schema.parse('{"value":%s}' % ("9" * 4000)).values["value"] == int("9" * 4000)
    assert not schema.parse('{"value":%s}' % deep).lenient  # noqa: UP031
