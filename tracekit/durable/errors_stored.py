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
    made: Exception = cls.__new__(cls)
    made.args = tuple(stored.get("args", (message,)))
    if "code" in stored:
        with contextlib.suppress(AttributeError):  # a read-only property: the class computes it
            made.code = stored["code"]  # type: ignore[attr-defined]  # only of classes that have it
    return made


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
