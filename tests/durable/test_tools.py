"""What a tool is outside of tasks, as a method, and for a model."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

import tracekit
from tracekit.arguments import BadArguments
from tracekit.durable.owning import ownership
from tracekit.errors import TracekitError


@tracekit.tool
def transfer(
    amount: Decimal, to: str, speed: Literal["slow", "fast"] = "slow", *, idempotency_key: str = ""
) -> str:
    """Moves money."""
    return f"{amount} to {to}"


def test_a_definition_for_a_model_leaves_the_key_out() -> None:
    function = transfer.definition()["function"]

    assert (function["name"], function["description"]) == ("transfer", "Moves money.")
    assert set(function["parameters"]["properties"]) == {"amount", "to", "speed"}
    assert function["parameters"]["required"] == ["amount", "to"]


def test_raw_text_becomes_typed_values() -> None:
    assert transfer.parse('{"amount": "99.50", "to": "ann"}').values == {
        "amount": Decimal("99.50"),
        "to": "ann",
    }


@pytest.mark.parametrize(
    ("raw", "failure_class"),
    [
        ('{"amount": "99.50", "to": 7}', "parameter.generated"),
        ('{"amount": "99.50"}', "parameter.generated"),
        ('{"amount": "99.50", "to": "ann", "note": "hi"}', "parameter.generated"),
        ('{"amount": "99.50", "to": "ann", "speed": "warp"}', "parameter.generated"),
        ('{"amount": "99.50", "to": "an', "parameter.truncated"),
        ("amount: 99.50", "parameter.generated"),
        ("[]", "parameter.generated"),
        ('{"amount": "99.50", "to": "ann", "idempotency_key": "mine"}', "parameter.generated"),
    ],
)
def test_text_that_does_not_fit_is_refused_with_the_place(raw: str, failure_class: str) -> None:
    with pytest.raises(BadArguments, match="nothing was executed") as refused:
        transfer.parse(raw)

    assert refused.value.failure_class == failure_class


def test_a_tool_looks_like_its_function() -> None:
    assert transfer.__name__ == "transfer"
    assert list(inspect.signature(transfer).parameters) == ["amount", "to", "speed", "idempotency_key"]
    assert transfer(Decimal(1), "ann") == "1 to ann"


def test_an_unknown_effect_word_is_refused() -> None:
    with pytest.raises(TracekitError, match="'payment'"):
        tracekit.tool(effect="pay")


def test_a_method_can_be_a_tool_and_its_instance_is_not_stored() -> None:
    class Shop:
        def __init__(self) -> None:
            self.sold: list[str] = []
            self.lock = threading.Lock()

        @tracekit.tool(effect="write")
        def sell(self, item: str) -> str:
            self.sold.append(item)
            return f"sold {item}"

    shop = Shop()

    @tracekit.task
    def job(run: tracekit.Run) -> list[Any]:
        return [shop.sell("lamp"), run.tool(shop.sell, "desk")]

    assert job.start(task_id="t") == ["sold lamp", "sold desk"]
    assert shop.sold == ["lamp", "desk"]
    state = ownership().store.load("t")
    assert state is not None
    assert [row.tool for row in state.effects] == ["sell", "sell"]


def test_positional_and_gathered_parameters_reach_the_function() -> None:
    @tracekit.tool
    def odd(first: int, /, second: int, *rest: int, last: int = 0, **more: int) -> list[Any]:
        return [first, second, list(rest), last, more]

    @tracekit.tool
    def add(*numbers: int) -> int:
        return sum(numbers)

    @tracekit.task
    def job(run: tracekit.Run) -> list[Any]:
        return [odd(1, 2), odd(1, 2, 3, 4, last=5, extra=6), add(1, 2, 3)]

    assert job.start(task_id="t") == [[1, 2, [], 0, {}], [1, 2, [3, 4], 5, {"extra": 6}], 6]


def test_a_call_that_does_not_fit_the_signature_is_the_callers_type_error() -> None:
    @tracekit.task
    def job(run: tracekit.Run) -> None:
        run.tool(transfer, wrong=1)

    with pytest.raises(TypeError, match="missing a required argument"):
        job.start(task_id="t")


def test_an_effect_in_a_thread_that_lost_its_context_is_told(caplog: pytest.LogCaptureFixture) -> None:
    @tracekit.tool(effect="write", name="lonely_write")
    def write() -> None:
        return None

    @tracekit.task
    def job(run: tracekit.Run) -> None:
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()

    with caplog.at_level(logging.WARNING, logger="tracekit"):
        job.start(task_id="t")

    assert "lonely_write was called outside of any task" in caplog.text


async def test_an_async_tool_outside_of_a_task_is_awaited_like_its_function() -> None:
    @tracekit.tool
    async def wait() -> str:
        return "done"

    assert await wait() == "done"


def test_a_hint_that_pydantic_cannot_check_is_told_with_the_name_of_the_tool() -> None:
    def odd(value: Annotated[int, Field(discriminator="kind")]) -> None: ...

    with pytest.raises(TracekitError, match="arguments of the tool 'odd'") as told:
        tracekit.tool(odd).definition()
    assert told.value.code == "tool.arguments"


def test_a_lenient_reading_leaves_what_stands_in_a_text_alone() -> None:
    @tracekit.tool
    def note(text: str) -> str:
        return text

    raw = 'Here: {"text": "see [1, ] and {a, }",\n}'
    assert note.parse(raw, lenient=True).values == {"text": "see [1, ] and {a, }"}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"probe": "find_refund"}, "a function as probe"),
        ({"undo": 5}, "a function as undo"),
        ({"fallback": "refund_by_transfer"}, "a list of functions as fallback"),
        ({"timeout_s": 0}, "seconds above 0 as timeout_s"),
        ({"timeout_s": float("nan")}, "seconds above 0 as timeout_s"),
        ({"settle_s": -1}, "seconds, not negative as settle_s"),
        ({"retry": 3}, "a tracekit.Retry as retry"),
    ],
)
def test_a_declaration_that_can_not_be_kept_is_refused_where_it_is_made(
    declared: dict[str, Any], expected: str
) -> None:
    with pytest.raises(TracekitError, match=expected):
        tracekit.tool(effect="payment", **declared)(print)


def test_waits_that_are_no_numbers_are_refused() -> None:
    for wrong in ({"base_s": float("nan")}, {"attempts": "3"}, {"cap_s": "1"}):
        with pytest.raises(ValueError, match="a whole number of attempts"):
            tracekit.Retry(**wrong)  # type: ignore[arg-type]


def test_a_generator_is_no_tool_since_it_has_done_nothing_when_it_returns() -> None:
    def rows() -> Iterator[int]:
        yield 1

    async def rows_async() -> AsyncIterator[int]:
        yield 1

    for function in (rows, rows_async):
        with pytest.raises(TracekitError, match="return a list, or record it with") as refused:
            tracekit.tool(function)
        assert refused.value.code == "tool.generator"


async def test_an_object_whose_call_is_asynchronous_is_an_asynchronous_tool() -> None:
    class Refund:
        __name__ = "refund_object"

        async def __call__(self, order_id: str) -> str:
            return f"{order_id} refunded"

    made = tracekit.tool(effect="payment")(Refund())

    assert made.is_async
    assert await made(order_id="A-1024") == "A-1024 refunded"
