"""Events out of the binary frames in which Amazon Bedrock streams what other services send as server-sent events."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Mapping

from tracekit.snapshot import lenient

_PRELUDE = 12
"""Length of the frame, length of its headers, checksum of both: four bytes each."""
_CHECKSUM = 4


class Frames:
    """Takes bytes and gives the data of each event that is complete; checksums are the client's to check."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def add(self, data: bytes) -> Iterator[str]:
        """The data of each event that ends within *data*."""
        self._rest += data
        while len(self._rest) >= _PRELUDE:
            length, headers = struct.unpack_from(">II", self._rest)
            if length < _PRELUDE + headers + _CHECKSUM:
                self._rest.clear()  # no frame: the client will say so
                return
            if len(self._rest) < length:
                return
            payload = bytes(self._rest[_PRELUDE + headers : length - _CHECKSUM])
            del self._rest[:length]
            event = _event(payload)
            if event is not None:
                yield event


def _event(payload: bytes) -> str | None:
    """The event inside a frame: packed, or the message of an exception."""
    try:
        said = lenient.loads(payload)
        if isinstance(said, Mapping) and isinstance(said.get("bytes"), str):
            return base64.b64decode(said["bytes"]).decode("utf-8", "replace")
    except ValueError:
        return None  # a frame of a form that we don't know is the client's to judge
    message = said.get("message") if isinstance(said, Mapping) else None
    return None if message is None else json.dumps({"type": "error", "error": {"message": message}})
