"""What kind of class a value is of, found without importing pydantic unless somebody else already did."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import sys
from types import ModuleType
from typing import Any

from tracekit.errors import NotStorable
from tracekit.modules import home_of, is_script, loaded_module

MAX_DEPTH = 100
"""Levels of nesting that are written: a walk takes up to six Python frames a level, and 1,000 are all there are."""


LONGEST_INT_BITS = 14_000
"""About 4,200 digits: Python writes and reads none much longer, as the time grows with the square."""


def class_path(cls: type) -> str:
    """`module:qualified.name`, by which `find_class` finds the class again in another process."""
    return f"{home_of(cls.__module__)}:{cls.__qualname__}"


def class_name(cls: type) -> str:
    """`module.qualified.name` for people; built-in classes without their module."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def is_dataclass_value(value: Any) -> bool:
    """Whether *value* is an instance of a dataclass (and not the class itself)."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def is_pydantic_class(cls: type) -> bool:
    """Whether *cls* is a pydantic model; costs nothing while pydantic is not loaded."""
    pydantic = sys.modules.get("pydantic")
    model = getattr(pydantic, "BaseModel", None) if pydantic is not None else None
    return model is not None and issubclass(cls, model)


def find_class(path: str, at: str) -> type:
    """
    The class at *path*, `module:qualified.name`; only dataclasses, enums and pydantic models are given out.

    A class of a script is looked for among what is loaded: stored bytes never name a file to be run.

    Raises:
        NotStorable: the class can't be imported, or is of another kind.
    """
    module, _, qualname = path.rpartition(":")
    try:
        found: Any = loaded_module(module) or _imported(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise NotStorable(
            "snapshot.class_not_found",
            f"expected the class {path!r} of the stored value at {at}, but it can't be imported ({error}); "
            "make the module importable under its old name, or finish the task with the code that stored it",
        ) from error
    if not isinstance(found, type) or not is_constructible(found):
        raise NotStorable(
            "snapshot.class_refused",
            f"expected a dataclass, an enum or a pydantic model at {at}, got {path!r}; "
            "nothing else is ever constructed from stored bytes",
        )
    return found


def _imported(module: str) -> ModuleType:
    if is_script(module):
        raise ImportError(f"the script {module} is not loaded here")
    return importlib.import_module(module)


def is_constructible(cls: type) -> bool:
    """Whether values of *cls* may be made again from stored bytes."""
    return dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum) or is_pydantic_class(cls)
