"""
The arguments of a tool: its schema from the type hints, the model's raw text parsed against it.

The text is read strictly. A lenient second reading is there for tasks that allow it, and its result says that it was
lenient: a coercion that nobody sees is how an amount changes between the model and the payment.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from tracekit.errors import TracekitError

_TEXT_OR_COMMA = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")|,\s*(?P<close>[}\]])', re.DOTALL)
"""A text of JSON, which stays as it is, or a comma with nothing behind it."""
INJECTED = "idempotency_key"
"""Parameter that the ledger fills in; no part of what a model may write."""


class BadArguments(TracekitError):
    """The arguments do not fit the tool's schema; the message is written so that a model can act on it."""

    def __init__(self, code: str, message: str, *, failure_class: str) -> None:
        super().__init__(code, message)
        self.failure_class = failure_class


@dataclass(frozen=True, slots=True)
class Parsed:
    """Arguments read from a model's text."""

    values: Mapping[str, Any]
    lenient: bool
    """Whether the strict reading failed and a lenient one did not."""


class ArgumentSchema:
    """What a function accepts by name; pydantic is imported when the first one is made."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        from typing import NotRequired, Required

        from pydantic import ConfigDict, PydanticUserError, TypeAdapter
        from typing_extensions import TypedDict

        self._name = name
        hints = _hints(function)
        fields: dict[str, Any] = {}
        open_ended = False
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name == INJECTED:
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest: Any = hints.get(parameter.name, Any)
                fields[parameter.name] = NotRequired[list[rest]]
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                open_ended = True
                continue
            hint = hints.get(parameter.name, Any)
            wrap: Any = Required if parameter.default is parameter.empty else NotRequired
            fields[parameter.name] = wrap[hint]
        make: Any = TypedDict
        shape = make(_type_name(name), fields)
        shape.__pydantic_config__ = ConfigDict(
            extra="allow" if open_ended else "forbid", arbitrary_types_allowed=True
        )
        self._names = tuple(fields)
        try:
            self._adapter: Any = TypeAdapter(shape)
        except (PydanticUserError, TypeError) as error:
            raise TracekitError(
                "tool.arguments",
                f"expected hints that pydantic can check for the arguments of the tool {name!r}, but it says: "
                f"{error}",
            ) from error

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, as tool definitions carry it."""
        from pydantic.errors import PydanticInvalidForJsonSchema

        try:
            schema: dict[str, Any] = self._adapter.json_schema()
        except PydanticInvalidForJsonSchema:
            # A parameter of a type that JSON has no word for, such as a client object: named, but not described.
            schema = {"type": "object", "properties": {name: {} for name in self._names}}
        schema.pop("title", None)
        return schema

    def fitted(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """*values* as the hints want them, coercions allowed; raises `BadArguments` where they don't fit."""
        from pydantic import ValidationError

        try:
            found: dict[str, Any] = self._adapter.validate_python(dict(values))
            return found
        except ValidationError as error:
            raise self._bad(error) from error

    def parse(self, raw: str, *, lenient: bool = False) -> Parsed:
        """
        Values from the model's exact text.

        Raises:
            BadArguments: `parameter.truncated` when the text is cut, else `parameter.generated`.
        """
        from pydantic import ValidationError

        text = raw if raw.strip() else "{}"
        try:
            values = self._adapter.validate_json(text, strict=True)
            twice = _written_twice(text)
            if lenient or not twice:
                return Parsed(values, lenient=bool(twice))
            problem = self._refused(twice, "parameter.generated")
        except ValidationError as error:
            problem = self._bad(error, text)
        if lenient:
            try:
                return Parsed(self._adapter.validate_json(_repair(text), strict=False), lenient=True)
            except ValidationError:
                pass  # the strict reading's words are the better ones
        raise problem

    def _bad(self, error: Any, text: str = "") -> BadArguments:
        details = error.errors(include_url=False, include_context=False)
        lines = [f"{_path(detail['loc'])}: {detail['msg']}" for detail in details[:5]]
        cut = any(d["type"] == "json_invalid" and "EOF" in d["msg"] for d in details)
        return self._refused(lines, "parameter.truncated" if cut and text else "parameter.generated")

    def _refused(self, lines: list[str], failure_class: str) -> BadArguments:
        return BadArguments(
            "arguments.invalid",
            f"arguments of tool {self._name!r} do not fit its schema: {'; '.join(lines)}. "
            f"Expected {sorted(self.json_schema().get('properties', {}))}; nothing was executed.",
            failure_class=failure_class,
        )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        found = {name: _evaluated(hint, function) for name, hint in _annotations(function).items()}
        return {name: hint for name, hint in found.items() if hint is not None}


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = getattr(inspect.unwrap(function), "__annotations__", {})
    return found


def _evaluated(hint: Any, function: Callable[..., Any]) -> Any:
    """The type behind one hint; None for one that only exists for type checkers: the parameter accepts anything."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, getattr(inspect.unwrap(function), "__globals__", {}))  # as get_type_hints does
    except Exception:
        return None


def _type_name(name: str) -> str:
    return re.sub(r"\W", "_", name) or "Arguments"


def _path(location: tuple[Any, ...]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


def _written_twice(text: str) -> list[str]:
    """What *text* says of one name more than once, each time otherwise: readers of JSON silently take the last."""
    found: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in pairs:
            if name in values and values[name] != value:
                found.append(f"{name!r} is written twice, as {_short(values[name])} and as {_short(value)}")
            values[name] = value
        return values

    # Numbers stay as they are written: they are only compared.
    json.loads(text, object_pairs_hook=read, parse_int=str, parse_float=str)
    return found[:5]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _repair(text: str) -> str:
    """*text* without code fences, talk around the object, and trailing commas."""
    start, end = text.find("{"), text.rfind("}")
    body = text[start : end + 1] if 0 <= start < end else text
    return _TEXT_OR_COMMA.sub(lambda found: found["text"] or found["close"], body)
