"""
Exceptions as rows and back, so that a replay raises what the first run raised.

Only exception classes of modules that are loaded already are made again, and never by running their `__init__`.
"""

from __future__ import annotations

import contextlib
from typing import Any

import orjson

from tracekit.errors import NotStorable, TracekitError
from tracekit.modules import loaded_module
from tracekit.snapshot import to_log
from tracekit.snapshot.classes import class_path


class ReplayedError(TracekitError):
    """A step failed in an earlier attempt with an exception whose class is not loaded here; *type_name* names it."""

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__("step.failed_before", f"{type_name}: {message}")
        self.type_name = type_name


def error_to_json(error: BaseException) -> str:
    """*error* as a step row holds it."""
    cls = type(error)
    stored: dict[str, Any] = {"type": class_path(cls), "message": safe_text(error)}
    code = getattr(error, "code", None)
    if isinstance(code, str | int):
        stored["code"] = code
    if all(isinstance(arg, str | int | float | bool | None) for arg in error.args):
        stored["args"] = list(error.args)
    return orjson.dumps(to_log(stored)).decode()


def error_from_json(text: str) -> Exception:
    """The exception of the row: of the same class where that is loaded, else a `ReplayedError`."""
    stored = orjson.loads(text)
    message = stored.get("message", "")
    if stored["type"].endswith(":NotStorable"):
        return NotStorable(stored.get("code", "snapshot.not_storable"), message)
    module, _, name = stored["type"].rpartition(":")
    cls = _find(module, name)
    if cls is None:
        return ReplayedError(stored["type"].replace(":", "."), message)
    made = _made(cls, stored)
    return made if _speaks_as_before(made, message) else _made(_calm(cls, message), stored)


def _made(cls: type[Exception], stored: dict[str, Any]) -> Exception:
    made = cls.__new__(cls)
    made.args = tuple(stored.get("args", (stored.get("message", ""),)))
    if "code" in stored:
        with contextlib.suppress(AttributeError):  # a read-only property: the class computes it
            made.code = stored["code"]  # type: ignore[attr-defined]  # only of classes that have it
    return made


def _speaks_as_before(error: Exception, message: str) -> bool:
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
            f"{cls.__qualname__} of an earlier attempt has no {name!r}: only its text was recorded"
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
