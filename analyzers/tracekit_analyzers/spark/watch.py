"""How far Spark has come, for the progress bar."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tracekit_analyzers.reading.ingest import Tell
from tracekit_analyzers.views import Progress

_EVERY_S = 0.3


class Watch:
    """Tells how many tasks of the running stages are done."""

    def __init__(self, context: Any, tell: Tell) -> None:
        self._tracker, self._tell = context.statusTracker(), tell

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Context in which what runs is called *name*."""
        return _again(lambda: self._tell(self._progress(name)))

    def _progress(self, name: str) -> Progress:
        found = [self._tracker.getStageInfo(number) for number in self._tracker.getActiveStageIds()]
        stages = [stage for stage in found if stage is not None]
        done, total = sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages)
        return Progress("", done, total, f"{name}, {done} of {total} tasks")


def ticking(name: str, tell: Tell) -> AbstractContextManager[None]:
    """Context in which *tell* hears again and again that *name* goes on."""
    return _again(lambda: tell(Progress("", 0, 0, name)))


@contextmanager
def _again(say: Callable[[], None]) -> Iterator[None]:
    over = threading.Event()

    def speak() -> None:
        while not over.wait(_EVERY_S):
            say()

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        over.set()
        speaker.join()
