"""The two statements that the explorer itself asks, read from their files."""

from __future__ import annotations

from importlib.resources import files

_FOLDER = files("tracekit_tui") / "sql"

LIVE = (_FOLDER / "live.sql").read_text(encoding="utf-8")
LIVE_COUNTS = (_FOLDER / "live_counts.sql").read_text(encoding="utf-8")
