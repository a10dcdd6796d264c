"""Packages whose names are loaded on first use, so that importing the package alone costs next to nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """
    `__getattr__` and `__dir__` of *package*: each name of *homes* is loaded from the module given there.

    Type checkers see neither (`if not TYPE_CHECKING`), or a name that is not there would pass as `Any`.
    """
    names = vars(sys.modules[package])

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        names[name] = value = getattr(importlib.import_module(homes[name]), name)
        return value

    return load, lambda: sorted({*names, *homes})
