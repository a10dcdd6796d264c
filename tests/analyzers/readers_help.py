"""Help for the tests of readers: a damage report that remembers, inputs from paths, and the corpus."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from tracekit_analyzers.model import InputFile, NativeRecord, Reader

ROOT = Path(__file__).resolve().parents[2]


class Damage:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self.lines = 0

    def bad(self, *, file: str, line: int | None, offset: int | None, reason: str, data: bytes | str) -> None:
        self.found.append({"file": file, "line": line, "offset": offset, "reason": reason, "data": data})

    def counted(self, lines: int) -> None:
        self.lines += lines


def input_file(path: Path) -> InputFile:
    """*path* as the registry hands it to a reader."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else path.open("rb") as stream:
        return InputFile(path, str(path), stream.read(65536))


def read(reader: Reader, path: Path) -> tuple[list[NativeRecord], Damage]:
    """All records of *path*, and what was told as damaged."""
    damage = Damage()
    return list(reader.read(input_file(path), damage)), damage


def steps(records: list[NativeRecord], kind: str | None = None) -> list[NativeRecord]:
    """The step records, of one kind when it is given."""
    return [r for r in records if r["record"] == "step" and (kind is None or r["kind"] == kind)]


def corpus(folder: str) -> Path:
    """A folder of real logs; skips the test where they are absent."""
    base = Path(os.environ.get("TRACEKIT_CORPUS", ROOT / "../shared/data"))
    if not (base / folder).is_dir():
        pytest.skip(f"no corpus: {folder} is not under TRACEKIT_CORPUS")
    return base / folder
