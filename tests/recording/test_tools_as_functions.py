"""A tool or a step stands where its function stood: frameworks ask what it is, process pools send it along."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import multiprocessing
import pickle
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

import tracekit


@tracekit.tool
def double(number: int) -> int:
    return 2 * number


async def wait(number: int, *, unit: str = "s") -> str:
    return f"{number}{unit}"


class Waiter:
    async def __call__(self, number: int) -> int:
        return number


class Shop:
    @tracekit.tool
    async def find(self, order_id: str) -> str:
        return order_id

    @tracekit.tool
    def count(self, order_id: str) -> int:
        return len(order_id)


def plain(number: int) -> int:
    return number


renamed = tracekit.tool(effect="read")(plain)


@pytest.mark.parametrize(
    "tool",
    [
        tracekit.tool(wait),
        tracekit.tool(functools.partial(wait, 3)),
        tracekit.tool(Waiter()),
        Shop().find,
    ],
    ids=["function", "partial", "object", "method"],
)
def test_an_async_tool_says_so_to_whoever_asks(tool: Any) -> None:
    assert inspect.iscoroutinefunction(tool)
    assert asyncio.iscoroutinefunction(tool)
    assert inspect.signature(tool) == inspect.signature(tool.function)


def test_a_plain_tool_is_no_coroutine_function() -> None:
    assert not inspect.iscoroutinefunction(double)
    assert not inspect.iscoroutinefunction(Shop().count)


def test_a_tool_is_pickled_by_its_name_as_a_function_is() -> None:
    assert pickle.loads(pickle.dumps(double)) is double
    assert pickle.loads(pickle.dumps(Shop.count)) is Shop.count
    assert copy.deepcopy(double) is double


def test_a_tool_that_has_another_name_than_its_function_is_pickled_too() -> None:
    assert pickle.loads(pickle.dumps(renamed))(3) == 3


def test_tools_run_in_other_processes_below_the_step_that_sent_them(steps: Any) -> None:
    with (
        tracekit.step("outer") as outer,
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool,
    ):
        assert pool.submit(tracekit.carry(double), 3).result() == 6
        assert pool.submit(tracekit.carry(Shop().count), "A-1024").result() == 6

    assert outer.ref is not None
    found = [step for step in steps() if step["kind"] == "tool"]
    assert [(step["name"], step["output_snapshot"]) for step in found] == [("double", 6), ("count", 6)]
    assert {step["parent_step_id"] for step in found} == {outer.ref.step_id}


def test_the_call_of_an_async_tool_has_the_name_of_its_function() -> None:
    call: Any = Shop().find("A-1024")
    assert call.__qualname__ == "Shop.find"
    call.close()


@tracekit.step()
async def letters(text: str) -> AsyncIterator[str]:
    for letter in text:
        yield letter


@tracekit.step()
def numbers(count: int) -> Iterator[int]:
    yield from range(count)


def test_a_step_is_of_the_kind_that_its_function_is() -> None:
    assert inspect.isasyncgenfunction(letters)
    assert inspect.isgeneratorfunction(numbers)
    assert inspect.iscoroutinefunction(tracekit.step()(wait))


async def test_a_generator_that_is_called_wrongly_leaves_no_step_open(steps: Any) -> None:
    with pytest.raises(TypeError, match="unexpected"):
        [letter async for letter in letters("a", word="b")]  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected"):
        list(numbers(1, word="b"))  # type: ignore[call-arg]

    assert [step["status"] for step in steps() if step["status"] == "running"] == []


class Desk:
    @tracekit.step()
    @classmethod
    def open(cls, name: str) -> str:
        return f"{cls.__name__} {name}"

    @tracekit.step("shut")
    @staticmethod
    def shut(name: str) -> str:
        return name


def test_a_step_above_a_class_or_static_method_is_one_of_them(steps: Any) -> None:
    assert (Desk.open("a"), Desk().open("b"), Desk.shut("c"), Desk().shut("d")) == (
        "Desk a",
        "Desk b",
        "c",
        "d",
    )

    assert [step["name"] for step in steps()] == ["Desk.open", "Desk.open", "shut", "shut"]
    assert steps()[0]["input_snapshot"] == {"name": "a"}
