"""
Exceptions as rows and back, so that a replay raises what the first run raised.

What an agent may ask of an exception it has caught comes back too: its arguments and plain values, an `errno`, the members of
a group. Only exception classes of modules that are loaded already are made again, and never by running their own code.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import orjson

from tracekit.errors import NotStorable, TracekitError
from tracekit.modules import loaded_module
from tracekit.snapshot import decode, encode, to_log
from tracekit.snapshot.classes import class_path

MOST_BYTES = 65_536
"""A longer value of an exception, such as the page that a server answered with, is left out."""


class ReplayedError(TracekitError):
    """A step failed in an earlier attempt with an exception whose class is not loaded here; *type_name* names it."""

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__("step.failed_before", f"{type_name}: {message}")
        self.type_name = type_name


def error_to_json(error: BaseException) -> str:
    """*error* as a step row holds it."""
    return orjson.dumps(_told(error)).decode()


def _told(error: BaseException) -> dict[str, Any]:
    told: dict[str, Any] = {"type": class_path(type(error)), "message": safe_text(error)}
    code = getattr(error, "code", None)
    if isinstance(code, str | int):
        told["code"] = code
    told = to_log(told)
    if isinstance(error, ExceptionGroup):
        told |= {"group": to_log(error.message), "errors": [_told(each) for each in error.exceptions]}
    elif (args := _fragment([*error.args, *_file_of(error)])) is not None:
        told["args"] = args
    values = {
        name: _fragment(value) for name, value in vars(error).items() if not name.startswith("__tracekit")
    }
    if known := {name: value for name, value in values.items() if value is not None}:
        told["values"] = known
    return told


def _file_of(error: BaseException) -> list[str]:
    """The file of an `OSError`: its third argument, which `args` does not keep."""
    filename = error.filename if isinstance(error, OSError) and len(error.args) == 2 else None
    return [os.fspath(filename)] if isinstance(filename, str | os.PathLike) else []


def _fragment(value: Any) -> orjson.Fragment | None:
    """*value* as stored; None where it can't be, such as the response object of a client."""
    try:
        data = encode(value)
    except Exception:
        return None  # whatever the agent's own class does when it is read: the step's end has to be recorded
    return orjson.Fragment(data) if len(data) <= MOST_BYTES else None


def error_from_json(text: str) -> Exception:
    """The exception of the row: of the same class where that is loaded, else a `ReplayedError`."""
    return _again(orjson.loads(text))


def _again(stored: dict[str, Any]) -> Exception:
    message = stored.get("message", "")
    if stored["type"].endswith(":NotStorable"):
        return NotStorable(stored.get("code", "snapshot.not_storable"), message)
    module, _, name = stored["type"].rpartition(":")
    cls = _find(module, name)
    made = _made(cls, stored) if cls is not None else None
    if cls is not None and not _speaks_as_before(made, message):
        made = _made(_calm(cls, message), stored)
    return made or ReplayedError(stored["type"].replace(":", "."), message)


def _made(cls: type[Exception], stored: dict[str, Any]) -> Exception | None:
    """An exception of *cls* with what was recorded of it; None where one can't be made without its `__init__`."""
    args = _args(stored)
    made = _bare(cls, args) or _bare(cls, ())
    if made is None:
        return None
    made.args = made.args or args
    if isinstance(made, OSError) and made.errno is None and isinstance(next(iter(args), None), int):
        made.errno = args[0]
    for name, plain in stored.get("values", {}).items():
        with contextlib.suppress(NotStorable):  # a class of it is gone
            made.__dict__[name] = decode(orjson.dumps(plain))
    if "code" in stored:
        with contextlib.suppress(AttributeError):  # a read-only property: the class computes it
            made.code = stored["code"]  # type: ignore[attr-defined]  # only of classes that have it
    return made


def _args(stored: dict[str, Any]) -> tuple[Any, ...]:
    if "errors" in stored:
        return stored["group"], [_again(each) for each in stored["errors"]]
    with contextlib.suppress(NotStorable):  # a class of it is gone
        return tuple(decode(orjson.dumps(stored.get("args", [stored.get("message", "")]))))
    return ()


def _bare(cls: type[Exception], args: tuple[Any, ...]) -> Exception | None:
    """An instance made by the built-in exception that *cls* derives from, so that no code of *cls* runs."""
    built_in: Any = next(each for each in cls.__mro__ if each.__module__ == "builtins")
    try:
        made: Exception = built_in.__new__(cls, *args)
    except (TypeError, ValueError):
        return None
    return made


def _speaks_as_before(error: Exception | None, message: str) -> bool:
    """Whether *error* has its recorded text, and can be asked for what it lacks; without `__init__` some classes can't."""
    try:
        return str(error) == message and not hasattr(error, "__tracekit_no_such_thing__")
    except Exception:
        return False


def _calm(cls: type[Exception], message: str) -> type[Exception]:
    """*cls* as it is caught, such as `urllib.error.HTTPError`, with the recorded message for its text."""

    def text(self: Exception) -> str:
        return message

    def lacks(self: Exception, name: str) -> Any:
        raise AttributeError(
            f"{cls.__qualname__} of an earlier attempt has no {name!r}: only its text and its plain values were recorded"
        )

    same = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__str__": text,
        "__getattr__": lacks,
    }
    return type(cls.__name__, (cls,), same)


def _find(module: str, qualified_name: str) -> type[Exception] | None:
    found: Any = loaded_module(module)
    for part in qualified_name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def safe_text(error: BaseException) -> str:
    """The error's message, also when making it fails."""
    try:
        return str(error)
    except Exception as broken:
        return f"<its text could not be made: {type(broken).__name__}>"
