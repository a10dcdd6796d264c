"""Put a function in place of a client's own, once, and take it out again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tracekit.errors import TracekitError


class Patches:
    """The functions that one integration has replaced."""

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []

    def __bool__(self) -> bool:
        return bool(self._originals)

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put `make(original)` in place of *owner*'s *name*."""
        original = getattr(owner, name)
        self._originals.append((owner, name, original))
        setattr(owner, name, make(original))

    def undo(self) -> None:
        """Put every original back, last first."""
        while self._originals:
            owner, name, original = self._originals.pop()
            setattr(owner, name, original)


def client(module: str, package: str) -> ModuleType:
    """The client's *module*; raises `TracekitError` naming the *package* to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise TracekitError(
            "integration.missing", f"expected {package} to be installed, but {error}; pip install {package}"
        ) from error
