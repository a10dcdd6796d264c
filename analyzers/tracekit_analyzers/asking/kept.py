"""Answers that are worth keeping for as long as they are true."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The values that were made last, all of one version; to be asked from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._version = -1
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, version: int, make: Callable[[], Value]) -> Value:
        """
        The value of *key*, made anew where there is none of this *version*.

        Args:
            version: Read before what *make* reads: a value that was overtaken meanwhile is then made again.
        """
        with self._lock:
            if version == self._version and key in self._values:
                return self._values[key]
        value = make()
        with self._lock:
            if version > self._version:
                self._version = version
                self._values.clear()
            if version == self._version:
                self._values[key] = value
                if len(self._values) > self._most:
                    self._values.popitem(last=False)
        return value
