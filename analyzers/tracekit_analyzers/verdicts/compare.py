"""
Where two JSON values differ in meaning: key order, the writing of a number, and a type that a tool declares do not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from tracekit_analyzers.views import Difference

_NOTHING = object()
MOST = 200


def differences(left: str | None, right: str | None) -> tuple[Difference, ...]:
    """
    Paths at which the JSON texts *left* and *right* differ, at most 200; none when one of the two is absent.

    A text that is no JSON is compared as a text.
    """
    if left is None or right is None:
        return ()
    found: list[Difference] = []
    for difference in _walk("$", _value(left), _value(right)):
        found.append(difference)
        if len(found) == MOST:
            break
    return tuple(found)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _walk(path: str, left: Any, right: Any) -> Iterator[Difference]:
    if _read_as(right, left):
        return
    if isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys((*left, *right)):
            name = f"{path}.{key}" if key.isidentifier() else f"{path}.{json.dumps(key, ensure_ascii=False)}"
            yield from _walk(name, left.get(key, _NOTHING), right.get(key, _NOTHING))
    elif isinstance(left, list) and isinstance(right, list):
        for place in range(max(len(left), len(right))):
            yield from _walk(f"{path}[{place}]", _at(left, place), _at(right, place))
    elif not _same(left, right):
        yield Difference(path, _text(left), _text(right))


def _at(items: list[Any], place: int) -> Any:
    return items[place] if place < len(items) else _NOTHING


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _read_as(received: Any, written: Any) -> bool:
    """Whether *received* is a typed marker of the log, such as a decimal, for just what was *written*."""
    marker = received.get("$tk") if isinstance(received, dict) and len(received) == 1 else None
    if not isinstance(marker, dict):
        return False
    value = marker.get("value")
    if not isinstance(value, str) or not isinstance(written, str | int | float) or isinstance(written, bool):
        return False
    if str(written) == value:
        return True
    try:
        return marker["type"] == "decimal" and Decimal(str(written)) == Decimal(value)
    except InvalidOperation:
        return False


def _text(value: Any) -> str | None:
    return None if value is _NOTHING else json.dumps(value, ensure_ascii=False)
