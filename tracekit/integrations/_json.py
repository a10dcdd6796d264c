"""JSON of a provider, read as forgivingly as its client reads it."""

from __future__ import annotations

import json
from typing import Any

import orjson


def loads(data: bytes | str) -> Any:
    """
    The value of *data*; raises `ValueError`.

    Half a surrogate pair and NaN are taken, as the standard library takes them: some servers cut a character in two.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)
