"""Exceptions of an earlier attempt: caught as before, and safe to print."""

from __future__ import annotations

import io
import subprocess
import traceback
import urllib.error
from email.message import Message

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
    with pytest.raises(AttributeError, match="only its text was recorded"):
        again.hdrs  # noqa: B018


def test_an_exception_whose_class_is_not_loaded_is_named() -> None:
    again = error_from_json('{"type": "shop.errors:Gone", "message": "it is gone"}')
    assert isinstance(again, ReplayedError)
    assert str(again) == "shop.errors.Gone: it is gone"
