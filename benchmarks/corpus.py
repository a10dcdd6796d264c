"""Where labelled real logs lie, if anywhere: the folder that TRACEKIT_CORPUS names, else `../shared/data` beside the project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("TRACEKIT_CORPUS", Path(__file__).resolve().parents[1].parent / "shared" / "data"))


def folder(name: str) -> Path | None:
    """The folder *name* of the corpus; None where it is absent."""
    path = ROOT / name
    return path if path.is_dir() else None


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
