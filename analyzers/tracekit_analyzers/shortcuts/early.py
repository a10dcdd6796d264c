"""What is told of a large log before it is read: the list of its traces, and single traces by their own lines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tracekit_analyzers.growing.preview import Preview
from tracekit_analyzers.shortcuts.glance import Glance
from tracekit_analyzers.views import Progress

PREVIEWS = 3
"""Traces that are kept open by their own lines."""

FilesOf = Callable[[str], Sequence[tuple[Path, str]]]
"""Path and name of each file that tells of a trace."""


class Early:
    """Answers from any thread until there are better ones: None from each once it is over, and where there was no look."""

    def __init__(self) -> None:
        self._glance: Glance | None = None
        self._previews: OrderedDict[str, Preview] = OrderedDict()
        self._previewing = threading.Lock()
        self._is_over = True

    def look(self, given: Sequence[str], tell: Callable[[Progress], None]) -> None:
        """Take a first look at the files *given*, where they are large; tells the stage `rows` when there are rows, or more."""
        self.end_rows()
        glance = Glance()
        try:
            for _ in glance.looks(given):
                self._glance, self._is_over = glance, False
                tell(Progress("", 0, 0, "rows"))
        finally:
            if self._glance is not glance:
                glance.close()

    def rows(self, sql: str, parameters: Any) -> list[tuple[Any, ...]] | None:
        """The rows of a query over the list of traces."""
        glance = self._glance
        return None if glance is None else glance.ask(sql, parameters)

    def files_of(self, trace_id: str) -> list[tuple[Path, str]] | None:
        """Path and name of each file that tells of a trace, as far as was seen."""
        glance = self._glance
        return None if glance is None else glance.files_of(trace_id)

    def trace(self, trace_id: str, files_of: FilesOf) -> Preview | None:
        """One trace by its own lines."""
        with self._previewing:
            if self._is_over:
                return None
            if trace_id not in self._previews:
                made = Preview(trace_id, files_of(trace_id))
                # It takes a while, in which the whole reading may have come to its end.
                if not made.found or self._is_over:
                    made.close()
                    return None
                self._previews[trace_id] = made
                if len(self._previews) > PREVIEWS:
                    self._previews.popitem(last=False)[1].close()
            self._previews.move_to_end(trace_id)
            return self._previews[trace_id]

    def end_rows(self) -> None:
        """The list of traces is known better from here on."""
        glance, self._glance = self._glance, None
        if glance is not None:
            glance.close()

    def end(self) -> None:
        """So is all else."""
        self._is_over = True
        self.end_rows()
        with self._previewing:
            while self._previews:
                self._previews.popitem()[1].close()
