"""JSON in which every object remembers the exact text that it was read from."""

from __future__ import annotations

import json
import json.decoder
import json.scanner
from typing import Any


class Exact(dict[str, Any]):
    """An object of a JSON text."""

    text: str
    """Its own part of the text, from brace to brace."""


class _Decoder(json.JSONDecoder):
    def __init__(self) -> None:
        super().__init__()
        read = json.decoder.JSONObject  # type: ignore[attr-defined]  # not in the stubs

        def parse(at: tuple[str, int], *rest: Any) -> tuple[Exact, int]:
            value, end = read(at, *rest)
            exact = Exact(value)
            exact.text = at[0][at[1] - 1 : end]
            return exact, end

        self.parse_object = parse
        # the quick scanner of the standard library does not tell where an object stands
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]  # not in the stubs


def loads(body: bytes) -> Any:
    """The value of *body*; objects are `Exact`. Raises `ValueError`."""
    return _Decoder().decode(body.decode("utf-8"))
