"""Exceptions of an earlier attempt: caught as before, and safe to print."""

from __future__ import annotations

import errno
import io
import subprocess
import traceback
import urllib.error
from decimal import Decimal
from email.message import Message
from pathlib import Path

import pytest

from tracekit.durable.errors_stored import ReplayedError, error_from_json, error_to_json


class Refused(Exception):
    """Its text is made of what its `__init__` was given."""

    def __init__(self, order: str, by: object) -> None:
        super().__init__()
        self.order = order
        self.by = by

    def __str__(self) -> str:
        return f"{self.order} refused by {self.by}"


class Numbered(Exception):
    """Can't be made without arguments, not even by `__new__`."""

    def __new__(cls, first: int, second: int) -> Numbered:
        return super().__new__(cls, first, second)


class SharedDrive(OSError):
    """Has an `__init__` of its own."""

    def __init__(self, why: str) -> None:
        super().__init__(28, why)


class OutOfStock(Exception):
    """Agents ask it what to order."""

    def __init__(self, items: list[str], price: Decimal, answer: object) -> None:
        super().__init__(items)
        self.price = price
        self.answer = answer


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.HTTPError("http://shop", 422, "no such order", Message(), io.BytesIO(b"{}")),
        Refused("A-1", object()),
        KeyError("order"),
        KeyError(("a", "b")),
        OSError(5, "broken"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "odd"),
        subprocess.TimeoutExpired(["look"], 3.0),
        ValueError(),
        ValueError("a", {"b": 1}),
        Numbered(1, 2),
        ExceptionGroup("two", [ValueError("a"), ExceptionGroup("in it", [KeyError("b")])]),
        SharedDrive("full"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_exception_of_an_earlier_attempt_is_caught_and_says_the_same(error: Exception) -> None:
    again = error_from_json(error_to_json(error))

    assert isinstance(again, type(error))
    assert type(again).__qualname__ == type(error).__qualname__
    assert str(again) == str(error)
    assert not hasattr(again, "no_such_thing")
    assert str(error) in "".join(traceback.format_exception(again))


def test_what_an_exception_carried_beside_its_text_is_said_to_be_gone() -> None:
    error = urllib.error.HTTPError("http://shop", 422, "no such order", Message(), io.BytesIO(b"{}"))
    again = error_from_json(error_to_json(error))
    assert isinstance(again, urllib.error.HTTPError)
    assert again.code == 422
    with pytest.raises(AttributeError, match="only its text and its plain values were recorded"):
        again.hdrs  # noqa: B018


def test_an_exception_whose_class_is_not_loaded_is_named() -> None:
    again = error_from_json('{"type": "shop.errors:Gone", "message": "it is gone"}')
    assert isinstance(again, ReplayedError)
    assert str(again) == "shop.errors.Gone: it is gone"


def test_what_an_agent_asks_of_a_caught_exception_is_the_same_on_replay() -> None:
    error = OutOfStock(["pen", "ink"], Decimal("9.50"), answer=object())
    error.add_note("seen at noon")

    again = error_from_json(error_to_json(error))

    assert isinstance(again, OutOfStock)
    assert again.args == (["pen", "ink"],)
    assert again.price == Decimal("9.50")
    assert again.__notes__ == ["seen at noon"]
    assert not hasattr(again, "answer")


def test_the_number_and_the_file_of_an_error_of_the_system_come_back(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        (tmp_path / "gone").open()

    again = error_from_json(error_to_json(caught.value))

    assert type(again) is FileNotFoundError
    assert (again.errno, again.filename) == (errno.ENOENT, str(tmp_path / "gone"))
    assert str(again) == str(caught.value)
    drive = error_from_json(error_to_json(SharedDrive("full")))
    assert isinstance(drive, OSError)
    assert drive.errno == errno.ENOSPC


def test_the_members_of_a_group_come_back() -> None:
    error = ExceptionGroup("two", [ValueError("a"), ExceptionGroup("in it", [KeyError("b")])])

    again = error_from_json(error_to_json(error))

    assert isinstance(again, ExceptionGroup)
    keys, rest = again.split(KeyError)
    assert keys is not None
    assert rest is not None
    assert [str(each) for each in rest.exceptions] == ["a"]


def test_a_long_value_of_an_exception_is_left_out() -> None:
    error = ValueError("short")
    error.page = "x" * 100_000  # type: ignore[attr-defined]

    text = error_to_json(error)

    assert len(text) < 1000
    assert not hasattr(error_from_json(text), "page")


def test_a_row_of_an_earlier_version_is_read() -> None:
    again = error_from_json('{"type": "builtins:KeyError", "message": "\'order\'", "args": ["order"]}')
    assert type(again) is KeyError
    assert again.args == ("order",)
