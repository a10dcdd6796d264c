"""A progress bar on stderr: only on a terminal, and only when it takes longer than a second."""

from __future__ import annotations

import sys
import time

from tracekit_analyzers.views import Progress

_WAIT_S = 1.0
_EVERY_S = 0.1
_WIDTH = 24


class Bar:
    """Tells how far reading has come."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._last = 0.0
        self._shown = False

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage == "done":
            self.clear()
            return
        if not sys.stderr.isatty() or now - self._began < _WAIT_S or now - self._last < _EVERY_S:
            return
        self._last, self._shown = now, True
        sys.stderr.write(f"\r\x1b[2K{_line(progress)}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the bar away."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._shown = False


def _line(progress: Progress) -> str:
    if progress.stage != "reading":
        return f"{progress.stage} ..."
    share = progress.done_bytes / progress.total_bytes if progress.total_bytes else 1.0
    full = int(share * _WIDTH)
    read, total = progress.done_bytes >> 20, progress.total_bytes >> 20
    return f"reading {'█' * full}{'░' * (_WIDTH - full)} {read} of {total} MB"
