"""Whether arguments that a person gives fit the tool that is to get them, told before anything is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracekit.arguments import BadArguments
from tracekit.errors import TracekitError
from tracekit.tools import Tool, registered

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def tool_of(name: str | None, function: str) -> Tool[Any, Any] | None:
    """
    The tool *name* as the code of the task *function* declares it here, ready to check arguments.

    None where the code is not loaded, or its hints can't be checked: then nobody can say whether arguments fit.
    """
    found = None if name is None else registered(name, function)
    try:
        return None if found is None or found.arguments is None else found
    except TracekitError:
        return None


def misfit(given: object, tool: Tool[Any, Any] | None) -> str | None:
    """Why *given* can't be the arguments of *tool*, in words; None where it can, or where the tool is not known."""
    if not isinstance(given, dict):
        return f'expected the arguments by name, as in {{"order_id": "A-1"}}; got {_kind(given)}'
    if tool is None:
        return None
    try:
        tool.arguments.fitted(given)
    except BadArguments as error:
        return str(error)
    return None


def unlike(given: object, before: str | None) -> list[str]:
    """How the arguments differ in names and kinds from those of the call *before*: what to look at when no tool can tell."""
    known = None if before is None else json.loads(before)
    if not isinstance(known, Mapping) or not isinstance(given, Mapping):
        return []
    found = [f"{name} is new" for name in given if name not in known]
    found += [f"{name} is left out" for name in known if name not in given]
    return found + [
        f"{name} is {_kind(value)}, and was {_kind(known[name])}"
        for name, value in given.items()
        if name in known and _kind(value) != _kind(known[name])
    ]


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")
