"""How far Spark has come, for the progress bar."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracekit_analyzers.ingest import Tell
from tracekit_analyzers.views import Progress

_EVERY_S = 0.3


class Watch:
    """Tells how many tasks of the running stages are done."""

    def __init__(self, context: Any, tell: Tell) -> None:
        self._tracker, self._tell = context.statusTracker(), tell

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Context in which what runs is called *name*."""
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(name, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _watch(self, name: str, over: threading.Event) -> None:
        while not over.wait(_EVERY_S):
            found = [self._tracker.getStageInfo(number) for number in self._tracker.getActiveStageIds()]
            stages = [stage for stage in found if stage is not None]
            done, total = sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages)
            self._tell(Progress("", done, total, f"{name}, {done} of {total} tasks"))
