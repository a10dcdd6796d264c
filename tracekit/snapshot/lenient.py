"""JSON that others wrote, read as forgivingly as the standard library reads it."""

from __future__ import annotations

import json
from typing import Any

import orjson


def loads(data: bytes | str) -> Any:
    """
    The value of *data*; raises `ValueError`.

    Half a surrogate pair and NaN are taken: some servers and exporters cut a character in two.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
