"""Values on their way into a line: secrets marked, large ones moved into files of their own, bytes made once."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from tracekit.folders import make_private
from tracekit.snapshot import Redact, digest, log_bytes, marker, plain_json, to_log

_LABELS_REMEMBERED = 4096


class Values:
    """Turns values into fragments of a line under the settings of this process."""

    def __init__(
        self, blobs: Path | None, blob_bytes: int, redact: Redact | None, *, careful: Values | None = None
    ) -> None:
        self._blobs = blobs
        self._blob_bytes = blob_bytes
        self._redact = redact
        self._careful = careful
        self._labels: dict[str, orjson.Fragment] = {}
        self._names: dict[str, str] = {}

    def fragment(self, value: Any) -> orjson.Fragment:
        """*value* as strict JSON; never raises."""
        if self._careful is not None:
            quick = plain_json(value)
            if quick is None or len(quick) > self._blob_bytes:
                # bytes hide what they hold, and nothing goes into a file of its own before it was looked at
                return self._careful.fragment(value)
            return orjson.Fragment(quick)
        data = log_bytes(value, redact=self._redact)
        if len(data) > self._blob_bytes and self._blobs is not None:
            data = self._moved(self._blobs, data)
        return orjson.Fragment(data)

    def without_redaction(self) -> Values:
        """The same, for a line that is looked at as a whole; values that leave the line are redacted all the same."""
        return Values(self._blobs, self._blob_bytes, None, careful=self)

    def label(self, value: str) -> orjson.Fragment:
        """A name that comes again and again; remembered."""
        if type(value) is not str:
            value = plain_name(value)
        known = self._labels.get(value)
        if known is None:
            known = self._labels[value] = self.fragment(value)
            if len(self._labels) > _LABELS_REMEMBERED:
                self._labels.clear()
        return known

    def safe_name(self, name: str) -> str:
        """*name* with secrets marked, for the line and for the span; remembered."""
        if type(name) is not str:
            name = plain_name(name)
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = name if self._redact is None else self._redact.text(name)
            if len(self._names) > _LABELS_REMEMBERED:
                self._names.clear()
        return known

    def safe_attributes(self, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], orjson.Fragment]:
        """*given* with secrets marked, for the span, and the same as the `attributes` field of a line."""
        data = plain_json(given)
        if data is not None and (self._redact is None or not self._redact.suspects(data)):
            return given, orjson.Fragment(data)
        safe = to_log(given, redact=self._redact)
        return safe, self.fragment(safe)

    def _moved(self, folder: Path, data: bytes) -> bytes:
        """The marker of a value that now stands in a file; the value itself if the file can't be written."""
        name = digest(data)
        try:
            write_blob(folder, name, data)
        except OSError:
            return data
        return orjson.dumps(marker("blob", hash=name, bytes=len(data)))


def plain_name(name: Any) -> str:
    """*name* as text alone: frameworks name models and tools by enums, and ids by numbers."""
    return str.__str__(name) if isinstance(name, str) else str(name)


def write_blob(folder: Path, name: str, data: bytes) -> None:
    """Write *data* to *folder/name* so that the file is there whole or not at all."""
    path = folder / name
    if path.exists():
        return
    make_private(folder)
    part = folder / f".{name}.{os.getpid()}.{threading.get_ident()}"  # two threads may have one value
    fd = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    except BaseException:
        part.unlink()
        raise
    finally:
        os.close(fd)
    part.replace(path)
